//! Properties of every answer, for any request.

use std::collections::BTreeSet;

use function_kit::cases::form;
use function_proto::v1::{RunFunctionRequest, RunFunctionResponse, Severity, State, Status};
use prost::Message as _;

/// Most bytes of an answer to an empty request: the runtime script, and defaults.
const ANSWER_AT_LEAST: usize = 128 << 10;
/// Bytes that an answer may be longer for each byte of its request: a problem is reported in a
/// result and in two conditions, each with its path, and problems of one list with a text each.
const GROWTH: usize = 64;

/// Runs the function and checks its response: the error is the problem.
pub(crate) fn judge(
    request: &RunFunctionRequest,
    run: impl Fn(RunFunctionRequest) -> RunFunctionResponse,
) -> Result<(), String> {
    let response = run(request.clone());
    let again = run(request.clone());
    // Two numbers that are none are not equal, so answers with such are compared as documents.
    if response != again && form::response(&response) != form::response(&again) {
        return Err("the same request got two answers".to_owned());
    }
    nothing_is_lost(request, &response)?;
    results(&response)?;
    conditions(&response)?;
    size(request, &response)
}

fn nothing_is_lost(
    request: &RunFunctionRequest,
    response: &RunFunctionResponse,
) -> Result<(), String> {
    let (none, nothing) = (State::default(), State::default());
    let before = request.desired.as_ref().unwrap_or(&none);
    let after = response.desired.as_ref().unwrap_or(&nothing);
    let lost = before
        .resources
        .keys()
        .find(|name| !after.resources.contains_key(*name));
    if let Some(lost) = lost {
        return Err(format!(
            "{lost:?} is no longer desired: Crossplane would delete it"
        ));
    }
    let has_status = |state: &State, name: &str| {
        let object = state
            .resources
            .get(name)
            .and_then(|found| found.resource.as_ref());
        object.is_some_and(|object| object.fields.contains_key("status"))
    };
    let mut names = after.resources.keys();
    match names.find(|name| has_status(after, name) && !has_status(before, name)) {
        Some(name) => Err(format!("composed object {name:?} has a status")),
        None => Ok(()),
    }
}

fn results(response: &RunFunctionResponse) -> Result<(), String> {
    for result in &response.results {
        if result.severity != Severity::Fatal as i32 {
            return Err(format!("result {:?} is not Fatal", result.message));
        }
        if result.message.is_empty() || result.message.contains(['\n', '\r']) {
            return Err(format!("result {:?} is not one line", result.message));
        }
    }
    Ok(())
}

fn conditions(response: &RunFunctionResponse) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for condition in &response.conditions {
        let name = &condition.r#type;
        if !seen.insert(name.as_str()) {
            return Err(format!("condition {name} is returned twice"));
        }
        let is_word = |reason: &str| {
            reason.starts_with(|letter: char| letter.is_ascii_alphabetic())
                && !reason.contains(|letter: char| letter.is_whitespace() || letter.is_control())
        };
        if !is_word(&condition.reason) {
            return Err(format!(
                "condition {name} has the reason {:?}",
                condition.reason
            ));
        }
        if condition
            .message
            .as_deref()
            .is_some_and(|message| message.contains(['\n', '\r']))
        {
            return Err(format!(
                "the message of {name} is not one line: {:?}",
                condition.message
            ));
        }
    }
    let summary = response
        .conditions
        .iter()
        .find(|condition| condition.r#type == "ActorReady");
    let is_false = summary.is_some_and(|summary| summary.status == Status::ConditionFalse as i32);
    if !response.results.is_empty() && !is_false {
        return Err("it ends fatally, and ActorReady does not say so".to_owned());
    }
    Ok(())
}

fn size(request: &RunFunctionRequest, response: &RunFunctionResponse) -> Result<(), String> {
    let (asked, answered) = (request.encoded_len(), response.encoded_len());
    if answered > ANSWER_AT_LEAST + GROWTH * asked {
        return Err(format!("{asked} bytes were answered by {answered}"));
    }
    Ok(())
}
