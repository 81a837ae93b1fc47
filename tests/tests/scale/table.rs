//! The tables, in Markdown.

use std::collections::BTreeSet;

use crate::phase::{Cost, Program};

/// Programs that use less processor time than this in every phase are left out, in seconds.
const NOTEWORTHY: f64 = 0.5;

/// All that was measured with so many actors.
pub(crate) fn all(phases: &[Cost], actors: usize) -> String {
    [
        counts(phases, actors),
        requests(phases, actors),
        programs(phases),
    ]
    .join("\n")
}

/// Returns the table of counts by phase.
fn counts(phases: &[Cost], actors: usize) -> String {
    let mut rows = vec![row("", phases, |cost| cost.name.to_owned()), rule(phases)];
    rows.push(row("Wall time", phases, |cost| {
        format!("{:.0} s", cost.time.as_secs_f64())
    }));
    for (index, (name, _)) in phases[0].calls.iter().enumerate() {
        rows.push(row(&format!("Calls of {name}"), phases, |cost| {
            per_actor(cost.calls[index].1, actors)
        }));
    }
    rows.push(row("Requests to the API server", phases, |cost| {
        per_actor(cost.requests.values().sum(), actors)
    }));
    rows.push(row("Requests of core's", phases, |cost| {
        per_actor(cost.of_core, actors)
    }));
    rows.push(row("Requests of our provider's", phases, |cost| {
        per_actor(cost.of_provider, actors)
    }));
    rows.push(row("Calls to the broker", phases, |cost| {
        per_actor(cost.broker_calls, actors)
    }));
    lines(&rows)
}

/// Requests to the API server by verb.
fn requests(phases: &[Cost], actors: usize) -> String {
    let verbs: BTreeSet<&String> = phases
        .iter()
        .flat_map(|cost| cost.requests.keys())
        .collect();
    let mut rows = vec![
        row("Verb", phases, |cost| cost.name.to_owned()),
        rule(phases),
    ];
    for verb in verbs {
        rows.push(row(verb, phases, |cost| {
            per_actor(cost.requests.get(verb).copied().unwrap_or_default(), actors)
        }));
    }
    lines(&rows)
}

/// Processor time and memory of each program.
fn programs(phases: &[Cost]) -> String {
    let is_noteworthy = |program: &Program| program.seconds >= NOTEWORTHY;
    let programs = phases.iter().flat_map(|cost| {
        let programs = cost.programs.iter();
        programs.filter(|(_, program)| is_noteworthy(program))
    });
    let names: BTreeSet<&String> = programs.map(|(name, _)| name).collect();
    let title = "Program: seconds of processor, MiB resident at the end (at most)";
    let mut rows = vec![
        row(title, phases, |cost| cost.name.to_owned()),
        rule(phases),
    ];
    for name in names {
        rows.push(row(name, phases, |cost| {
            let program = cost.programs.get(name);
            program.map_or_else(String::new, |program| {
                let (resident, peak) = (mebibytes(program.resident), mebibytes(program.peak));
                format!("{:.1} s, {resident:.1} ({peak:.1})", program.seconds)
            })
        }));
    }
    lines(&rows)
}

fn row(title: &str, phases: &[Cost], cell: impl Fn(&Cost) -> String) -> String {
    let cells: Vec<String> = phases.iter().map(cell).collect();
    format!("| {title} | {} |", cells.join(" | "))
}

fn rule(phases: &[Cost]) -> String {
    format!("|{}", "---|".repeat(phases.len() + 1))
}

fn lines(rows: &[String]) -> String {
    rows.join("\n") + "\n"
}

/// A count, and how much of it is each actor's.
fn per_actor(count: u64, actors: usize) -> String {
    let each = real(count) / real(actors.max(1) as u64);
    format!("{count} ({each:.1} each)")
}

fn mebibytes(kibibytes: u64) -> f64 {
    real(kibibytes) / 1024.0
}

fn real(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
