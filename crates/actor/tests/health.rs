//! Every folder of `tests/cases`: what is known of an actor's pods, as a kubelet, the
//! scheduler and the controllers write it, and the ActorHealth that the provider reports.
//!
//! `UPDATE_CASES=1` writes the present reports; review the difference as you review code.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use actor::health::{
    self, AtProvider, Facts, ForProvider, HealthTimeouts, MountProblem, Mounted, Pod, Revision,
    Scaler, Time, Workload,
};
use actor::yaml;
use serde::Deserialize;
use serde_json::{Value, json};

/// One `facts.yaml`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Case {
    /// The rule or edge that the case holds on to.
    reason: String,
    now: Time,
    target: ForProvider,
    workload: Option<Workload>,
    #[serde(default)]
    revisions: Vec<Revision>,
    #[serde(default)]
    pods: Vec<Pod>,
    /// None where they are not known.
    scalers: Option<Vec<Scaler>>,
    #[serde(default)]
    mount_problems: Vec<Found>,
    /// Previous status.
    #[serde(default)]
    before: AtProvider,
}

/// A mounted object that was checked, and its problem.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Found {
    mounted: Mounted,
    mount_problem: MountProblem,
}

#[test]
fn every_golden_case_has_its_expected_output() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut cases: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    cases.sort();
    assert!(!cases.is_empty(), "no case was found");
    let failures: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let failure = check(case).err()?;
            Some(format!("{}: {failure}", case.display()))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

fn check(folder: &Path) -> Result<(), String> {
    let facts = read(&folder.join("facts.yaml"))?;
    let case: Case = serde_json::from_value(facts).map_err(|error| error.to_string())?;
    let found = verdict(&case, &case.before, false);
    let of_reverse = verdict(&case, &case.before, true);
    if found != of_reverse {
        return Err(format!("in another order: {of_reverse} instead of {found}"));
    }
    let said: AtProvider =
        serde_json::from_value(found["atProvider"].clone()).map_err(|error| error.to_string())?;
    let again = verdict(&case, &said, false);
    if found != again {
        return Err(format!(
            "once more, nothing new: {again} instead of {found}"
        ));
    }
    if let Some(signal) = &said.signal
        && (signal.message != health::quote(&signal.message) || signal.message.is_empty())
    {
        return Err(format!("no short line: {:?}", signal.message));
    }
    let file = folder.join("verdict.yaml");
    if std::env::var_os("UPDATE_CASES").is_some() {
        let text = yaml::write(&found).map_err(|error| error.to_string())?;
        return fs::write(&file, text).map_err(|error| error.to_string());
    }
    let expected = read(&file)?;
    if found == expected {
        return Ok(());
    }
    Err(format!(
        "found {found:#}, expected {expected:#}, since {}",
        case.reason
    ))
}

/// Question and answer, with the facts in order or in reverse.
fn verdict(case: &Case, before: &AtProvider, is_reversed: bool) -> Value {
    let mount_problems: BTreeMap<Mounted, MountProblem> = case
        .mount_problems
        .iter()
        .map(|found| (found.mounted.clone(), found.mount_problem.clone()))
        .collect();
    let mut facts = Facts {
        target: &case.target,
        workload: case.workload.as_ref(),
        revisions: case.revisions.iter().collect(),
        pods: case.pods.iter().collect(),
        scalers: case
            .scalers
            .as_ref()
            .map(|scalers| scalers.iter().collect()),
        mount_problems: &mount_problems,
    };
    if is_reversed {
        facts.revisions.reverse();
        facts.pods.reverse();
        facts
            .scalers
            .iter_mut()
            .for_each(|scalers| scalers.reverse());
    }
    let timeouts = HealthTimeouts::default();
    let questions: Vec<String> = health::questions(&facts, &timeouts, case.now)
        .iter()
        .map(ToString::to_string)
        .collect();
    let verdict = health::classify(&facts, before, &timeouts, case.now);
    let mut document = json!({"atProvider": verdict.at_provider});
    if let Some(wait) = verdict.look_again {
        document["lookAgainSeconds"] = json!(wait.as_secs());
    }
    if !questions.is_empty() {
        document["questions"] = json!(questions);
    }
    document
}

fn read(file: &Path) -> Result<Value, String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    yaml::document(&text).map_err(|error| error.to_string())
}
