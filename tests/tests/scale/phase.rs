//! A stretch of time whose costs are printed.

use std::collections::BTreeMap;
use std::time::Duration;

use test_cluster::usage;

use crate::sample::Sample;
use crate::table;
use crate::world::World;

/// One that has begun.
pub(crate) struct Phase {
    name: &'static str,
    before: Sample,
}

/// One that is over.
pub(crate) struct Cost {
    pub(crate) name: &'static str,
    pub(crate) time: Duration,
    /// By the program's name.
    pub(crate) programs: BTreeMap<String, Program>,
    /// Requests to the API server, by verb.
    pub(crate) requests: BTreeMap<String, u64>,
    /// Requests of core, and of our provider.
    pub(crate) of_core: u64,
    pub(crate) of_provider: u64,
    pub(crate) broker_calls: u64,
    /// Calls of each function.
    pub(crate) calls: Vec<(String, u64)>,
}

/// Resources that a program used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Program {
    /// Processor time, in seconds.
    pub(crate) seconds: f64,
    /// Resident memory at the end and at most, in KiB.
    pub(crate) resident: u64,
    pub(crate) peak: u64,
}

impl Phase {
    /// Begins one.
    pub(crate) async fn begin(name: &'static str, world: &World) -> Self {
        usage::forget_peaks();
        let before = Sample::take(world).await;
        Self { name, before }
    }

    /// Ends it.
    pub(crate) async fn end(self, world: &World) -> Cost {
        let after = Sample::take(world).await;
        let before = self.before;
        let programs = after.usages.iter().map(|(name, usage)| {
            let earlier = before.usages.get(name).copied().unwrap_or_default();
            let program = Program {
                seconds: usage.seconds_since(&earlier),
                resident: usage.resident,
                peak: usage.peak,
            };
            (name.clone(), program)
        });
        let calls = after.calls.iter().zip(&before.calls);
        let cost = Cost {
            name: self.name,
            time: after.at - before.at,
            programs: programs.collect(),
            requests: grown(&before.requests, &after.requests),
            of_core: grown(&before.of_core, &after.of_core).values().sum(),
            of_provider: grown(&before.of_provider, &after.of_provider)
                .values()
                .sum(),
            broker_calls: after.broker_calls - before.broker_calls,
            calls: calls
                .map(|((name, after), (_, before))| (name.clone(), after - before))
                .collect(),
        };
        // At once, so that a later phase that fails does not take it along.
        println!("{}", table::all(std::slice::from_ref(&cost), world.actors));
        cost
    }
}

/// Returns the increase of each counter that has increased.
fn grown(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let grown = after.iter().map(|(name, after)| {
        let before = before.get(name).copied().unwrap_or_default();
        (name.clone(), after.saturating_sub(before))
    });
    grown.filter(|(_, count)| *count > 0).collect()
}
