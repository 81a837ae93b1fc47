//! Cost of twice as much input, in instructions, which no other work on the machine
//! changes.
//!
//! This program does the work itself, under callgrind and in two processes, once and some more
//! times: the difference is the work, without the preparation.

use std::env;
use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use bench::growing::{Dimension, Point, Work};

use crate::callgrind;

const FEW: u64 = 1;
const MORE: u64 = 3;

/// Measures, and prints a table for each kind of work.
pub(crate) fn print(out: &mut impl Write) -> Result<()> {
    for work in Work::ALL {
        writeln!(
            out,
            "\n### Growth of {}\n\n\
             Thousands of instructions, and in brackets how many times those of half as much.\n",
            work.name()
        )?;
        for dimension in Dimension::ALL {
            curve(work, dimension, out)?;
        }
    }
    Ok(())
}

/// One curve, as a table of two lines.
fn curve(work: Work, dimension: Dimension, out: &mut impl Write) -> Result<()> {
    let (mut sizes, mut costs) = (Vec::new(), Vec::new());
    let mut before = None;
    for size in dimension.sizes(work) {
        let cost = cost(Point {
            work,
            dimension,
            size,
        })?;
        sizes.push(size.to_string());
        costs.push(match before {
            Some(before) => format!("{} (× {:.2})", cost / 1000, ratio(cost, before)),
            None => (cost / 1000).to_string(),
        });
        before = Some(cost);
    }
    writeln!(
        out,
        "| {} | {} |\n|---{}|\n| instructions | {} |\n",
        dimension.name(),
        sizes.join(" | "),
        "|---".repeat(sizes.len()),
        costs.join(" | ")
    )?;
    Ok(out.flush()?)
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn ratio(cost: u64, before: u64) -> f64 {
    cost as f64 / before as f64
}

fn cost(point: Point) -> Result<u64> {
    let few = instructions(point, FEW)?;
    let more = instructions(point, MORE)?;
    Ok(more.saturating_sub(few) / (MORE - FEW))
}

/// All instructions of a process that does the work so often.
fn instructions(point: Point, times: u64) -> Result<u64> {
    let this = env::current_exe().context("cannot find this program")?;
    let report = callgrind::Report::new();
    let [valgrind, tool, file] = report.command();
    let status = Command::new(valgrind)
        .args([tool, file])
        .arg(this)
        .args(["--work", &point.to_string(), "--times", &times.to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context(callgrind::MISSING)?;
    if !status.success() {
        bail!("{point} under callgrind ended with {status}");
    }
    report.instructions()
}
