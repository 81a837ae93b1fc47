//! Latency and processor time of every function beside the echo function, round by round.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use bench::actors::Size;
use bench::requests::{ONE_STEP, Requests, STEPS};
use bytes::Bytes;
use prost::Message as _;

use crate::client::Client;
use crate::process::Process;
use crate::spread::{Spread, median_of, microseconds};
use crate::{ECHO, Options, Place};

const IN_FLIGHT: [usize; 2] = [1, 8];

/// One program, started and connected.
struct Server {
    process: Process,
    client: Client,
}

impl Server {
    async fn start(place: &Place, name: &str) -> Result<Self> {
        let process = Process::start(&place.program(name), &place.beside_client)?;
        let client = Client::connect(process.port).await?;
        Ok(Self { process, client })
    }

    async fn measure(&self, request: &Bytes, in_flight: usize, time: Duration) -> Result<Sample> {
        // The first calls after others are slower than those that follow.
        self.client.call_for(request, in_flight, time / 8).await?;
        let before = self.process.cpu()?;
        let times = self.client.call_for(request, in_flight, time).await?;
        let cpu = self.process.cpu()?.saturating_sub(before);
        #[expect(clippy::cast_precision_loss, reason = "calls of a moment")]
        let calls = times.len().max(1) as f64;
        Ok(Sample {
            latency: median_of(&times),
            cpu: microseconds(cpu) / calls,
        })
    }
}

/// Microseconds of one program in one round.
#[derive(Debug, Clone, Copy, Default)]
struct Sample {
    latency: f64,
    cpu: f64,
}

/// The rounds of one program and one request, beside the echo function's.
#[derive(Debug, Default)]
struct Rounds {
    ours: Vec<Sample>,
    echo: Vec<Sample>,
}

impl Rounds {
    fn ratio(&self, of: impl Fn(&Sample) -> f64) -> Spread {
        let pairs = self.ours.iter().zip(&self.echo);
        Spread::of(pairs.map(|(ours, echo)| of(ours) / of(echo)))
    }

    fn echo(&self, of: impl Fn(&Sample) -> f64) -> f64 {
        Spread::of(self.echo.iter().map(of)).median
    }
}

/// Measures, and prints one table for each size.
pub(crate) async fn print(options: &Options, place: &Place, out: &mut impl Write) -> Result<()> {
    let mut servers = BTreeMap::new();
    for name in programs().chain([ECHO]) {
        servers.insert(name, Server::start(place, name).await?);
    }
    let echo = &servers[ECHO];
    for size in Size::ALL {
        let recorded = Requests::of(size).map_err(anyhow::Error::msg)?;
        let requests: BTreeMap<&str, Bytes> = recorded
            .by_program()
            .into_iter()
            .map(|(name, request)| (name, request.encode_to_vec().into()))
            .collect();
        let mut measured: BTreeMap<(&str, usize), Rounds> = BTreeMap::new();
        for _ in 0..options.rounds {
            for name in programs() {
                for in_flight in IN_FLIGHT {
                    let rounds = measured.entry((name, in_flight)).or_default();
                    let request = &requests[name];
                    let time = Duration::from_millis(options.milliseconds);
                    let yardstick = echo.measure(request, in_flight, time).await?;
                    rounds.echo.push(yardstick);
                    let ours = servers[name].measure(request, in_flight, time).await?;
                    rounds.ours.push(ours);
                }
            }
        }
        table(size, &requests, &measured, &servers, out).await?;
        passes(&measured, out)?;
    }
    Ok(())
}

fn programs() -> impl Iterator<Item = &'static str> {
    STEPS.iter().map(|(name, _)| *name).chain([ONE_STEP.0])
}

async fn table(
    size: Size,
    requests: &BTreeMap<&str, Bytes>,
    measured: &BTreeMap<(&str, usize), Rounds>,
    servers: &BTreeMap<&str, Server>,
    out: &mut impl Write,
) -> Result<()> {
    writeln!(
        out,
        "\n### The {} actor\n\n\
         | Function | Request, response (bytes) | Echo, 1 in flight: latency, CPU (µs) | Latency, 1 in flight | CPU, 1 in flight | Latency, 8 in flight | CPU, 8 in flight |\n\
         |---|---|---|---|---|---|---|",
        size.name()
    )?;
    for name in programs() {
        let request = &requests[name];
        let response = servers[name].client.clone().call(request.clone()).await?;
        let [one, eight] = IN_FLIGHT.map(|in_flight| &measured[&(name, in_flight)]);
        writeln!(
            out,
            "| {name} | {}, {} | {:.0}, {:.0} | {} | {} | {} | {} |",
            request.len(),
            response.len(),
            one.echo(|sample| sample.latency),
            one.echo(|sample| sample.cpu),
            one.ratio(|sample| sample.latency),
            one.ratio(|sample| sample.cpu),
            eight.ratio(|sample| sample.latency),
            eight.ratio(|sample| sample.cpu),
        )?;
    }
    Ok(())
}

/// One step against six: the sum of the six calls that it stands for.
fn passes(measured: &BTreeMap<(&str, usize), Rounds>, out: &mut impl Write) -> Result<()> {
    let one = &measured[&(ONE_STEP.0, 1)].ours;
    let six = |round: usize, of: fn(&Sample) -> f64| -> f64 {
        let samples = STEPS
            .iter()
            .map(|(name, _)| measured[&(*name, 1)].ours[round]);
        samples.map(|sample| of(&sample)).sum()
    };
    let ratio = |of: fn(&Sample) -> f64| {
        Spread::of(
            one.iter()
                .enumerate()
                .map(|(round, one)| of(one) / six(round, of)),
        )
    };
    let sum =
        |of: fn(&Sample) -> f64| Spread::of((0..one.len()).map(|round| six(round, of))).median;
    writeln!(
        out,
        "\nOne call of function-asya ÷ six calls ({:.0} µs, {:.0} µs CPU): latency {}, CPU {}.",
        sum(|sample| sample.latency),
        sum(|sample| sample.cpu),
        ratio(|sample| sample.latency),
        ratio(|sample| sample.cpu),
    )?;
    Ok(())
}
