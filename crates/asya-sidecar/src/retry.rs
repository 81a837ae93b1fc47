//! Retry decision for a failed message.

use std::collections::BTreeMap;
use std::time::Duration;

pub use actor::backoff::{Delays, Growth};

use crate::failure::Failure;

/// Header with the time of the first attempt, from which `maxDuration` is counted.
pub const FIRST_ATTEMPT: &str = "x-asya-first-attempt";

/// Retry policy: delays between attempts, and the action if none succeeds.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Attempts in all; 1 means no retry.
    pub max_attempts: u32,
    /// The delays between them.
    pub delays: Delays,
    /// No attempt starts later than this after the first.
    pub max_duration: Option<Duration>,
    /// True if each delay is a random one between half of it and all of it.
    pub jitter: bool,
    /// Actors that get the message instead of the sump, in this order.
    pub on_exhausted: Vec<String>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            max_attempts: 1,
            delays: Delays::default(),
            max_duration: None,
            jitter: false,
            on_exhausted: Vec::new(),
        }
    }
}

/// Errors, and the policy that applies to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Short or qualified names of error types.
    pub errors: Vec<String>,
    /// Name of the policy.
    pub policy: String,
}

/// Configuration of retries.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Retries {
    /// Errors that are never tried again.
    pub non_retryable: Vec<String>,
    /// The first rule that matches an error counts.
    pub rules: Vec<Rule>,
    /// Policies by name. `default` is for errors that no rule matches.
    pub policies: BTreeMap<String, Policy>,
    /// The policy where neither a rule nor `default` gives one.
    pub fallback: Option<Policy>,
}

/// Decision on a failed message.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// It is tried again after a delay.
    Retry {
        /// Delay before the next attempt.
        after: Duration,
        /// Attempts in all.
        max_attempts: u32,
    },
    /// It is not tried again.
    Fail {
        /// Attempts that the policy allows in all.
        max_attempts: u32,
        /// Actors that get it instead of the sump.
        to: Vec<String>,
        /// The value of `status.reason`; none where the failure's own stays.
        reason: Option<&'static str>,
    },
}

impl Retries {
    /// Decides about a message that failed at this attempt, counted from 1. `elapsed` is the time since
    /// its first attempt began, and `random` is between 0 and 1.
    pub fn decide(
        &self,
        failure: &Failure,
        attempt: u32,
        elapsed: Duration,
        random: f64,
    ) -> Decision {
        let fail = |max_attempts, to: &[String], reason| Decision::Fail {
            max_attempts,
            to: to.to_vec(),
            reason,
        };
        if self.non_retryable.iter().any(|name| failure.is_a(name)) {
            return fail(attempt, &[], Some("NonRetryableFailure"));
        }
        let Some(policy) = self.policy(failure) else {
            return fail(1, &[], None);
        };
        let exhausted = if policy.on_exhausted.is_empty() {
            "PolicyExhausted"
        } else {
            "PolicyRouted"
        };
        let exhausted = fail(policy.max_attempts, &policy.on_exhausted, Some(exhausted));
        if attempt >= policy.max_attempts {
            return exhausted;
        }
        let after = policy.delay(attempt, random);
        if policy
            .max_duration
            .is_some_and(|longest| elapsed + after > longest)
        {
            return exhausted;
        }
        Decision::Retry {
            after,
            max_attempts: policy.max_attempts,
        }
    }

    /// Attempts that a message has unless an error's rule gives more or fewer.
    pub fn max_attempts(&self) -> u32 {
        let default = self.policies.get("default").or(self.fallback.as_ref());
        default.map_or(1, |policy| policy.max_attempts)
    }

    fn policy(&self, failure: &Failure) -> Option<&Policy> {
        let rule = self
            .rules
            .iter()
            .find(|rule| rule.errors.iter().any(|name| failure.is_a(name)));
        match rule {
            Some(rule) => self.policies.get(&rule.policy),
            None => self.policies.get("default").or(self.fallback.as_ref()),
        }
    }
}

impl Policy {
    /// The delay after this attempt, counted from 1.
    pub fn delay(&self, attempt: u32, random: f64) -> Duration {
        let delay = self.delays.after(attempt);
        if self.jitter {
            delay.mul_f64(0.5 + random.clamp(0.0, 1.0) / 2.0)
        } else {
            delay
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn failure(r#type: &str) -> Failure {
        Failure::of_handler(&json!({"details": {"type": r#type}}), 500)
    }

    fn policy(max_attempts: u32) -> Policy {
        Policy {
            max_attempts,
            ..Policy::default()
        }
    }

    #[test]
    fn jitter_only_shortens_and_by_half_at_most() {
        let policy = Policy {
            jitter: true,
            delays: Delays {
                initial: Duration::from_secs(10),
                ..Delays::default()
            },
            ..Policy::default()
        };
        for (random, expected) in [(0.0, 5), (0.5, 7), (1.0, 10)] {
            assert_eq!(policy.delay(1, random).as_secs(), expected, "{random}");
        }
    }

    #[test]
    fn the_first_matching_rule_gives_the_policy() {
        let retries = Retries {
            non_retryable: vec!["TypeError".to_owned()],
            rules: vec![
                Rule {
                    errors: vec!["ConnectionError".to_owned(), "own.Busy".to_owned()],
                    policy: "often".to_owned(),
                },
                Rule {
                    errors: vec!["ValueError".to_owned()],
                    policy: "never".to_owned(),
                },
            ],
            policies: BTreeMap::from([
                ("often".to_owned(), policy(9)),
                ("never".to_owned(), policy(1)),
                ("default".to_owned(), policy(3)),
            ]),
            fallback: Some(policy(5)),
        };
        let attempts = |r#type: &str| match retries.decide(&failure(r#type), 1, Duration::ZERO, 0.0)
        {
            Decision::Retry { max_attempts, .. } => max_attempts,
            Decision::Fail { .. } => 0,
        };
        let cases = [
            ("builtins.ConnectionError", 9),
            ("own.Busy", 9),
            ("builtins.ValueError", 0),
            ("builtins.TypeError", 0),
            ("builtins.KeyError", 3),
        ];
        for (r#type, expected) in cases {
            assert_eq!(attempts(r#type), expected, "{type}");
        }
    }

    #[test]
    fn attempts_and_time_are_exhausted() {
        let retries = |policy: Policy| Retries {
            fallback: Some(policy),
            ..Retries::default()
        };
        let long = Policy {
            max_duration: Some(Duration::from_secs(10)),
            on_exhausted: vec!["repair".to_owned()],
            ..policy(100)
        };
        let at = |policy: &Policy, attempt, elapsed| {
            let elapsed = Duration::from_secs(elapsed);
            retries(policy.clone()).decide(&failure("E"), attempt, elapsed, 0.0)
        };
        let is_retry = |decision: Decision| matches!(decision, Decision::Retry { .. });
        assert!(is_retry(at(&policy(3), 2, 0)));
        assert!(!is_retry(at(&policy(3), 3, 0)));
        assert!(is_retry(at(&long, 1, 9)));
        let routed = Decision::Fail {
            max_attempts: 100,
            to: vec!["repair".to_owned()],
            reason: Some("PolicyRouted"),
        };
        assert_eq!(at(&long, 1, 10), routed);
        let none = Retries::default().decide(&failure("E"), 1, Duration::ZERO, 0.0);
        assert!(!is_retry(none), "without a policy the first failure counts");
    }
}
