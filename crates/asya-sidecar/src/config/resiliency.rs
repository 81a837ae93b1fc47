//! The variables `ASYA_RESILIENCY_…`: both forms of retries.

use std::collections::BTreeMap;
use std::time::Duration;

use actor::backoff::DEFAULT_ATTEMPTS;
use actor::duration;
use serde::Deserialize;

use super::Variables;
use crate::retry::{Delays, Growth, Policy, Retries, Rule};

const POLICIES: &str = "ASYA_RESILIENCY_POLICIES";
const RULES: &str = "ASYA_RESILIENCY_RULES";

/// A policy as it is written. Unknown members are ignored: later versions may have more.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WrittenPolicy {
    max_attempts: Option<u32>,
    backoff: Option<String>,
    initial_delay: Option<String>,
    max_interval: Option<String>,
    max_duration: Option<String>,
    jitter: Option<bool>,
    on_exhausted: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WrittenRule {
    errors: Vec<String>,
    policy: String,
}

/// Reads all of them.
pub(super) fn read(variables: &mut Variables) -> Retries {
    let policies = policies(variables);
    let non_retryable = variables.optional("ASYA_RESILIENCY_NON_RETRYABLE_ERRORS");
    let non_retryable = non_retryable.unwrap_or_default();
    let non_retryable = non_retryable.split(',').map(str::trim);
    Retries {
        non_retryable: non_retryable
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect(),
        rules: rules(variables, &policies),
        policies,
        fallback: older(variables),
    }
}

/// The policy of the older form; none where no variable of it is set.
fn older(variables: &mut Variables) -> Option<Policy> {
    const PARTS: [&str; 6] = [
        "ASYA_RESILIENCY_RETRY_POLICY",
        "ASYA_RESILIENCY_RETRY_MAX_ATTEMPTS",
        "ASYA_RESILIENCY_RETRY_INITIAL_INTERVAL",
        "ASYA_RESILIENCY_RETRY_MAX_INTERVAL",
        "ASYA_RESILIENCY_RETRY_BACKOFF_COEFFICIENT",
        "ASYA_RESILIENCY_RETRY_JITTER",
    ];
    let [policy, attempts, initial, longest, coefficient, jitter] = PARTS;
    if PARTS.iter().all(|part| variables.optional(part).is_none()) {
        return None;
    }
    let defaults = Delays::default();
    let choices = [
        ("constant", Growth::Constant),
        ("exponential", Growth::Exponential),
    ];
    Some(Policy {
        // 0 retries are one attempt.
        max_attempts: variables
            .number(attempts, DEFAULT_ATTEMPTS, 0..=u32::MAX)
            .max(1),
        delays: Delays {
            growth: variables.choice(policy, &choices, defaults.growth),
            coefficient: factor(variables, coefficient).unwrap_or(defaults.coefficient),
            ..Delays::within(variables.duration(initial), variables.duration(longest))
        },
        jitter: variables.optional(jitter).is_none() || variables.switch(jitter),
        ..Policy::default()
    })
}

fn factor(variables: &mut Variables, variable: &str) -> Option<f64> {
    let text = variables.optional(variable)?;
    let factor = text.trim().parse::<f64>().ok();
    let factor = factor.filter(|factor| factor.is_finite() && *factor >= 1.0);
    if factor.is_none() {
        variables.refuse(variable, "a number from 1 up, such as \"2.0\"");
    }
    factor
}

fn policies(variables: &mut Variables) -> BTreeMap<String, Policy> {
    let Some(text) = variables.optional(POLICIES) else {
        return BTreeMap::new();
    };
    let written: BTreeMap<String, WrittenPolicy> = match serde_json::from_str(&text) {
        Ok(written) => written,
        Err(error) => {
            variables.refuse(POLICIES, format!("a JSON object of policies ({error})"));
            return BTreeMap::new();
        }
    };
    let mut policies = BTreeMap::new();
    for (name, written) in written {
        match policy(&written) {
            Ok(policy) => {
                policies.insert(name, policy);
            }
            Err(allowed) => variables.refuse(POLICIES, format!("in {name:?}, {allowed}")),
        }
    }
    policies
}

fn policy(written: &WrittenPolicy) -> Result<Policy, String> {
    let duration = |name: &str, text: &Option<String>| -> Result<Option<Duration>, String> {
        let Some(text) = text else { return Ok(None) };
        let read = duration::parse_or_seconds(text);
        read.map(Some)
            .map_err(|_| format!("{name} as a duration such as \"5s\""))
    };
    let defaults = Delays::default();
    let growth = match written.backoff.as_deref() {
        None => defaults.growth,
        Some(name) => Growth::named(name)
            .ok_or_else(|| "backoff as \"constant\", \"linear\" or \"exponential\"".to_owned())?,
    };
    let max_duration = duration("maxDuration", &written.max_duration)?;
    // With a limit in time alone, only time ends the attempts.
    let attempts = if max_duration.is_some() { u32::MAX } else { 1 };
    let max_attempts = written.max_attempts.unwrap_or(attempts);
    if max_attempts == 0 {
        return Err("maxAttempts from 1 up".to_owned());
    }
    Ok(Policy {
        max_attempts,
        delays: Delays {
            growth,
            ..Delays::within(
                duration("initialDelay", &written.initial_delay)?,
                duration("maxInterval", &written.max_interval)?,
            )
        },
        max_duration,
        jitter: written.jitter.unwrap_or_default(),
        on_exhausted: written.on_exhausted.clone(),
    })
}

fn rules(variables: &mut Variables, policies: &BTreeMap<String, Policy>) -> Vec<Rule> {
    let Some(text) = variables.optional(RULES) else {
        return Vec::new();
    };
    let written: Vec<WrittenRule> = match serde_json::from_str(&text) {
        Ok(written) => written,
        Err(error) => {
            variables.refuse(RULES, format!("a JSON list of rules ({error})"));
            return Vec::new();
        }
    };
    for rule in &written {
        if !policies.contains_key(&rule.policy) {
            let names: Vec<&str> = policies.keys().map(String::as_str).collect();
            variables.refuse(
                RULES,
                format!(
                    "policies that {POLICIES} has ({}), not {:?}",
                    names.join(", "),
                    rule.policy
                ),
            );
        }
    }
    let rules = written.into_iter();
    rules
        .map(|rule| Rule {
            errors: rule.errors,
            policy: rule.policy,
        })
        .collect()
}
