//! Measures the functions' programs against the echo function and prints tables in Markdown.

mod callgrind;
mod client;
mod footprint;
mod growth;
mod instructions;
mod process;
mod speed;
mod spread;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};
use bench::growing::Point;
use clap::{Parser, ValueEnum};

#[derive(Parser, Debug)]
#[command(about = "Measures every function against a stock echo function")]
struct Options {
    /// Folder with the programs, built with profile `dist`
    #[arg(long, value_name = "DIR", required_unless_present = "work")]
    programs: Option<PathBuf>,
    /// The echo function's program, built as cargo builds by default
    #[arg(long, value_name = "FILE", required_unless_present = "work")]
    echo: Option<PathBuf>,
    /// Number of measurements of each program, one after the other in each round
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Duration of each measurement of a round, in milliseconds
    #[arg(long, default_value_t = 300)]
    milliseconds: u64,
    /// After how many calls memory is read
    #[arg(long, default_value_t = 10_000)]
    calls: usize,
    /// Measurement; all but `time` are counted by callgrind and take some minutes
    #[arg(long, value_enum, value_delimiter = ',', default_value = "time")]
    measure: Vec<Measure>,
    /// Do the work of one point of a curve, to be counted
    #[arg(long, hide = true)]
    work: Option<Point>,
    /// Number of repetitions
    #[arg(long, hide = true, default_value_t = 1)]
    times: usize,
}

/// Measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Measure {
    /// Latency, processor time, memory and start of programs
    Time,
    /// Instructions of a call
    Instructions,
    /// Cost of twice as much input for the merge and the steps
    Growth,
}

/// Baseline of all other measurements.
const ECHO: &str = "bench-echo";

/// Programs to measure, and the command that runs them.
struct Place {
    programs: PathBuf,
    echo: PathBuf,
    /// Command before a program, which gives it a processor that the client does not use.
    beside_client: Vec<String>,
}

impl Place {
    /// Pins this process to the second processor, if it may and there are two.
    fn new(options: &Options) -> Self {
        let pid = std::process::id().to_string();
        let is_pinned = std::thread::available_parallelism().is_ok_and(|count| count.get() > 1)
            && Command::new("taskset")
                .args(["-cp", "1", &pid])
                .output()
                .is_ok_and(|output| output.status.success());
        let command = if is_pinned {
            &["taskset", "-c", "0"][..]
        } else {
            &[]
        };
        Self {
            beside_client: command.iter().map(|part| (*part).to_owned()).collect(),
            ..Self::unpinned(options)
        }
    }

    /// Leaves it to the kernel who runs where.
    fn unpinned(options: &Options) -> Self {
        Self {
            programs: options.programs.clone().unwrap_or_default(),
            echo: options.echo.clone().unwrap_or_default(),
            beside_client: Vec::new(),
        }
    }

    fn program(&self, name: &str) -> PathBuf {
        if name == ECHO {
            self.echo.clone()
        } else {
            self.programs.join(name)
        }
    }
}

fn main() -> ExitCode {
    match run(&Options::parse(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to do when standard error is closed.
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options, out: &mut impl Write) -> Result<()> {
    if let Some(point) = options.work {
        return point.repeat(options.times).map_err(anyhow::Error::msg);
    }
    let measures = |measure| options.measure.contains(&measure);
    if measures(Measure::Time) || measures(Measure::Instructions) {
        beside_echo(options, out)?;
    }
    if measures(Measure::Growth) {
        growth::print(out)?;
    }
    Ok(())
}

fn beside_echo(options: &Options, out: &mut impl Write) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(async {
        // First, while programs still have all processors.
        if options.measure.contains(&Measure::Time) {
            footprint::print(options, &Place::unpinned(options), out).await?;
            let place = Place::new(options);
            writeln!(
                out,
                "\nRatios are a function's ÷ the echo function's on the same request: median (least–most) of {} rounds of {} ms. {}",
                options.rounds,
                options.milliseconds,
                if place.beside_client.is_empty() {
                    "Programs and client share all processors."
                } else {
                    "Programs have one processor, the client another."
                }
            )?;
            speed::print(options, &place, out).await?;
        }
        if options.measure.contains(&Measure::Instructions) {
            instructions::print(&Place::unpinned(options), out).await?;
        }
        Ok(())
    })
}
