//! Instructions of one call, which no other work on the machine changes.
//!
//! The program runs under callgrind twice, with a few calls and with some more: the difference is
//! what the calls cost, without start and end.

use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, Result};
use bench::actors::Size;
use bench::requests::{ONE_STEP, Requests, STEPS};
use bytes::Bytes;
use prost::Message as _;

use crate::callgrind::{self, Report};
use crate::client::Client;
use crate::process::Process;
use crate::{ECHO, Place};

const FEW: u64 = 20;
const MORE: u64 = 120;

/// Measures, and prints the table.
pub(crate) async fn print(place: &Place, out: &mut impl Write) -> Result<()> {
    writeln!(
        out,
        "\n### Instructions of a call\n\n\
         | Function | Small | Realistic | Large |\n|---|---|---|---|"
    )?;
    let programs = STEPS.iter().map(|(name, _)| *name).chain([ONE_STEP.0]);
    for name in programs {
        let mut cells = Vec::new();
        for size in Size::ALL {
            let recorded = Requests::of(size).map_err(anyhow::Error::msg)?;
            let request: Bytes = recorded.by_program()[name].encode_to_vec().into();
            let ours = of_a_call(&place.program(name), &request).await?;
            let echo = of_a_call(&place.program(ECHO), &request).await?;
            #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
            let ratio = ours as f64 / echo as f64;
            cells.push(format!("{} k, {ratio:.2} × echo", ours / 1000));
        }
        writeln!(out, "| {name} | {} |", cells.join(" | "))?;
    }
    Ok(())
}

async fn of_a_call(program: &Path, request: &Bytes) -> Result<u64> {
    let few = of_calls(program, request, FEW).await?;
    let more = of_calls(program, request, MORE).await?;
    Ok(more.saturating_sub(few) / (MORE - FEW))
}

/// All instructions of a process that answers so many calls.
async fn of_calls(program: &Path, request: &Bytes, calls: u64) -> Result<u64> {
    let report = Report::new();
    let server = Process::start(program, &report.command()).context(callgrind::MISSING)?;
    let mut client = Client::connect(server.port).await?;
    for _ in 0..calls {
        client.call(request.clone()).await?;
    }
    drop(client);
    server.end().await?;
    report.instructions()
}
