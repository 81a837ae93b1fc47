//! Fuzzing: mutated requests through every function, through all steps in one call, and through
//! the whole pipeline.
//!
//! Each request begins as that of a golden case and is then mutated. Most of it stays valid, so
//! that the invalid part is met deep inside a step. `cargo xtask fuzz` sets the number of cases;
//! an ordinary test run tries a few.
//!
//! A request that failed becomes a file in `once-failed`, with its reason, in the form that this
//! test prints.

mod corpus;
mod judge;
mod limits;
mod mutation;
#[path = "../steps/mod.rs"]
mod steps;
mod whole;

use std::sync::LazyLock;

use function_asya::Config;
use proptest::prelude::*;
use serde_json::Value;

use corpus::Corpus;
use mutation::Mutation;
use steps::{Run, STEPS};

static CORPUS: LazyLock<Corpus> = LazyLock::new(Corpus::read);

/// All steps in one call.
const ALL: (&str, Run) = ("function-asya", |request| {
    function_asya::run(request, &Config::default())
});

/// Sends the request through every function.
fn check(document: &Value) -> Result<(), String> {
    // A mutation can make something that is no request at all.
    let Ok(request) = mutation::request(document) else {
        return Ok(());
    };
    limits::watched(document, || {
        STEPS.into_iter().chain([ALL]).try_for_each(|(name, run)| {
            let judged = judge::judge(&request, run).and_then(|()| limits::memory());
            judged.map_err(|problem| format!("{name}: {problem}"))
        })
    })
}

/// The request of a golden case after some mutations.
fn mutated() -> impl Strategy<Value = Value> {
    let mutations = prop::collection::vec(Mutation::any(CORPUS.requests.len()), 0..6);
    (0..CORPUS.requests.len(), mutations).prop_map(|(index, mutations)| {
        let mut document = CORPUS.requests[index].clone();
        for mutation in mutations {
            mutation.apply(&mut document, &CORPUS);
        }
        document
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, // a file in `once-failed` instead, which says why
        max_shrink_iters: 4096,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_request_breaks_a_function(document in mutated()) {
        if let Err(problem) = check(&document) {
            let yaml = actor::yaml::write(&document).unwrap_or_default();
            return Err(TestCaseError::fail(format!("{problem}, for\n{yaml}")));
        }
    }

    #[test]
    fn one_step_ends_as_six_steps_end(document in mutated()) {
        let judged = mutation::request(&document).map(|request| whole::judge(&request));
        if let Ok(Err(problem)) = judged {
            let yaml = actor::yaml::write(&document).unwrap_or_default();
            return Err(TestCaseError::fail(format!("{problem}, for\n{yaml}")));
        }
    }
}

#[test]
fn most_golden_cases_have_an_actor_for_the_whole_pipeline() {
    let requests = CORPUS.requests.iter();
    let ran = requests.filter(|document| {
        let request = mutation::request(document).unwrap_or_else(|error| panic!("{error}"));
        let judged = whole::judge(&request).unwrap_or_else(|problem| panic!("{problem}"));
        judged == whole::Judged::Ran
    });
    let (ran, all) = (ran.count(), CORPUS.requests.len());
    assert!(ran * 2 > all, "only {ran} of {all}");
}

#[test]
fn requests_that_once_failed_do_not_fail_again() {
    for (file, document) in corpus::once_failed() {
        let reason = document["reason"].as_str().unwrap_or_default();
        assert!(!reason.is_empty(), "{file} gives no reason");
        mutation::request(&document).unwrap_or_else(|error| panic!("{file}: {error}"));
        let pipeline = mutation::request(&document).map(|request| whole::judge(&request));
        let judged = check(&document).and_then(|()| pipeline.unwrap_or(Ok(whole::Judged::NoActor)));
        judged.unwrap_or_else(|problem| panic!("{file} ({reason}): {problem}"));
    }
}
