//! Startup time, memory and size of programs.

use std::fs;
use std::io::Write;

use anyhow::{Context as _, Result};
use bench::actors::Size;
use bench::requests::{ONE_STEP, Requests, STEPS};
use prost::Message as _;

use crate::client::Client;
use crate::process::Process;
use crate::spread::{Spread, microseconds};
use crate::{ECHO, Options, Place};

const STARTS: usize = 20;
const MIB: f64 = 1_048_576.0;

/// Measures, and prints the table.
pub(crate) async fn print(options: &Options, place: &Place, out: &mut impl Write) -> Result<()> {
    writeln!(
        out,
        "\n### Footprint\n\n\
         | Program | Serves after (ms, {STARTS} starts) | Resident at first (MiB) | Resident after {} calls (MiB) | Binary (MB) |\n\
         |---|---|---|---|---|",
        options.calls
    )?;
    let recorded = Requests::of(Size::Realistic).map_err(anyhow::Error::msg)?;
    let requests = recorded.by_program();
    let ours = STEPS.iter().map(|(name, _)| *name).chain([ONE_STEP.0]);
    for name in ours.chain([ECHO]) {
        let program = place.program(name);
        let mut starts = Vec::new();
        for _ in 0..STARTS {
            let process = Process::start(&program, &[])?;
            starts.push(microseconds(process.start) / 1e3);
            process.end().await?;
        }
        // Of all processors: each thread that works keeps some memory.
        let process = Process::start(&program, &[])?;
        let at_first = process.resident()?;
        let request = requests.get(name).unwrap_or_else(|| &requests[ONE_STEP.0]);
        let client = Client::connect(process.port).await?;
        let encoded = request.encode_to_vec().into();
        client.call_times(&encoded, options.calls).await?;
        let after = process.resident()?;
        drop(client);
        process.end().await?;
        let size = fs::metadata(&program)
            .with_context(|| format!("cannot read `{}`", program.display()))?;
        #[expect(clippy::cast_precision_loss, reason = "sizes of programs")]
        let [at_first, after, size] = [at_first, after, size.len()].map(|bytes| bytes as f64);
        writeln!(
            out,
            "| {name} | {:.1} | {:.1} | {:.1} | {:.2} |",
            Spread::of(starts),
            at_first / MIB,
            after / MIB,
            size / 1e6,
        )?;
    }
    Ok(())
}
