//! Attributes of SQS queues, compared by meaning.
//!
//! They are text, some of it JSON, and services format the same value in different ways.

use std::collections::BTreeMap;

use actor::queue::SqsQueue;
use serde_json::{Value, json};

use crate::counters::Counters;
use crate::transport::Drift;

/// Attributes by name.
pub type Attributes = BTreeMap<String, String>;

const VISIBILITY: &str = "VisibilityTimeout";
const RETENTION: &str = "MessageRetentionPeriod";
const WAIT: &str = "ReceiveMessageWaitTimeSeconds";
const REDRIVE: &str = "RedrivePolicy";
const FIFO: &str = "FifoQueue";
const ARN_ATTRIBUTE: &str = "QueueArn";
/// Start of the names of counters.
const MESSAGES: &str = "ApproximateNumberOfMessages";

/// Retention of dead letters in seconds: the longest of SQS.
const LONGEST_RETENTION: u32 = 1_209_600;

/// Desired attributes. `dead_letters` is the ARN of the dead-letter queue; while it is desired and does
/// not exist, the redrive policy stays as it is.
pub fn desired(queue: &SqsQueue, dead_letters: Option<&str>) -> Attributes {
    let mut attributes = BTreeMap::from([
        (
            VISIBILITY.to_owned(),
            queue.visibility_timeout_seconds.to_string(),
        ),
        (
            RETENTION.to_owned(),
            queue.message_retention_seconds.to_string(),
        ),
        (WAIT.to_owned(), queue.receive_wait_time_seconds.to_string()),
    ]);
    let letters = &queue.dead_letter;
    let redrive = match dead_letters {
        // An omitted policy stays, an empty one is removed.
        _ if !letters.enabled => Some(String::new()),
        Some(arn) => {
            let count = letters.max_receive_count;
            Some(json!({"deadLetterTargetArn": arn, "maxReceiveCount": count}).to_string())
        }
        None => None,
    };
    attributes.extend(redrive.map(|redrive| (REDRIVE.to_owned(), redrive)));
    attributes
}

/// Attributes of a creation: without empty values, and with the one that makes a FIFO queue, which can
/// only be set at creation.
pub fn for_creation(mut attributes: Attributes, name: &str) -> Attributes {
    attributes.retain(|_, value| !value.is_empty());
    if is_fifo(name) {
        attributes.insert(FIFO.to_owned(), "true".to_owned());
    }
    attributes
}

/// Attributes of the creation of a dead-letter queue: the longest retention, and FIFO like its queue.
pub fn for_dead_letter_queue(name: &str) -> Attributes {
    let attributes = BTreeMap::from([(RETENTION.to_owned(), LONGEST_RETENTION.to_string())]);
    for_creation(attributes, name)
}

/// Returns whether the name is that of a FIFO queue.
pub fn is_fifo(name: &str) -> bool {
    name.strip_suffix(".fifo").is_some()
}

/// Name of the dead-letter queue, FIFO like its queue.
pub fn dead_letter_name(name: &str) -> String {
    match name.strip_suffix(".fifo") {
        Some(name) => format!("{name}-dlq.fifo"),
        None => format!("{name}-dlq"),
    }
}

/// Differences between desired and observed attributes.
pub fn differences(desired: &Attributes, found: &Attributes, name: &str) -> Vec<Drift> {
    let mut drift = Vec::new();
    for (key, want) in desired {
        let have = found.get(key).map_or("", String::as_str);
        if means_the_same(want, have) {
            continue;
        }
        // Messages older than the new limit would be lost at once.
        let is_lowered = key == RETENTION
            && have
                .parse::<u64>()
                .is_ok_and(|have| want.parse::<u64>().is_ok_and(|want| want < have));
        drift.push(if is_lowered {
            Drift::withheld(field(key), have, want)
        } else {
            Drift::settable(field(key), have, want)
        });
    }
    let is = found.get(FIFO).is_some_and(|value| value == "true");
    if is != is_fifo(name) {
        drift.push(Drift::fixed(FIFO, is, is_fifo(name)));
    }
    drift
}

/// Desired attributes that differ and can be corrected.
pub fn to_write(desired: &Attributes, found: &Attributes, name: &str) -> Attributes {
    let drift = differences(desired, found, name);
    let is_written = |key: &str| {
        drift.iter().any(|drift| {
            drift.what == field(key) && drift.kind == crate::transport::DriftKind::Settable
        })
    };
    desired
        .iter()
        .filter(|(key, _)| is_written(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Messages in the queue; delayed ones count as queued.
pub fn counters(found: &Attributes) -> Option<Counters> {
    let count = |key: &str| found.get(key)?.parse::<u64>().ok();
    Some(Counters {
        queued: count(MESSAGES)? + count("ApproximateNumberOfMessagesDelayed").unwrap_or(0),
        processing: count("ApproximateNumberOfMessagesNotVisible")?,
        dead_lettered: None,
    })
}

/// Returns whether an attribute is read. Others are not kept.
pub(super) fn is_read(attribute: &str) -> bool {
    let read = [VISIBILITY, RETENTION, WAIT, REDRIVE, FIFO, ARN_ATTRIBUTE];
    read.contains(&attribute) || attribute.starts_with(MESSAGES)
}

/// The ARN of the queue.
pub fn arn(found: &Attributes) -> Option<&str> {
    found.get(ARN_ATTRIBUTE).map(String::as_str)
}

/// The account in an ARN, `arn:aws:sqs:<region>:<account>:<name>`.
pub fn account(arn: &str) -> Option<&str> {
    arn.split(':').nth(4).filter(|account| !account.is_empty())
}

/// The attribute's name in `forProvider`.
fn field(attribute: &str) -> &str {
    match attribute {
        VISIBILITY => "visibilityTimeoutSeconds",
        RETENTION => "messageRetentionSeconds",
        WAIT => "receiveWaitTimeSeconds",
        REDRIVE => "deadLetter",
        other => other,
    }
}

fn means_the_same(want: &str, have: &str) -> bool {
    if want == have {
        return true;
    }
    let parse = |text: &str| serde_json::from_str::<Value>(text).ok().map(normal);
    parse(want).is_some_and(|want| Some(want) == parse(have))
}

/// The value with numbers normalized: services return `"3"`, `3` and `3.0`.
fn normal(value: Value) -> Value {
    match value {
        Value::String(text) => match text.parse::<f64>() {
            Ok(number) => json!(number),
            Err(_) => Value::String(text),
        },
        Value::Number(number) => json!(number.as_f64()),
        Value::Object(map) => map
            .into_iter()
            .map(|(key, value)| (key, normal(value)))
            .collect(),
        Value::Array(list) => list.into_iter().map(normal).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::DriftKind;

    const ARN: &str = "arn:aws:sqs:us-east-1:123456789012:asya-cart-dlq";

    fn queue() -> SqsQueue {
        serde_json::from_value(json!({
            "region": "us-east-1", "visibilityTimeoutSeconds": 600, "messageRetentionSeconds": 345_600,
            "receiveWaitTimeSeconds": 20, "deadLetter": {"enabled": true, "maxReceiveCount": 3},
        }))
        .unwrap()
    }

    #[test]
    fn attributes_are_compared_by_meaning() {
        let want = desired(&queue(), Some(ARN));
        let other_order =
            format!("{{\"maxReceiveCount\":\"3\", \"deadLetterTargetArn\":\"{ARN}\"}}");
        let cases: [(&str, &str, &str, Option<DriftKind>); 8] = [
            ("the same", VISIBILITY, "600", None),
            ("a fraction of nothing", VISIBILITY, "600.0", None),
            ("lower", VISIBILITY, "30", Some(DriftKind::Settable)),
            ("higher", VISIBILITY, "43200", Some(DriftKind::Settable)),
            ("JSON in another order", REDRIVE, &other_order, None),
            ("no redrive policy", REDRIVE, "", Some(DriftKind::Settable)),
            (
                "kept for less long",
                RETENTION,
                "60",
                Some(DriftKind::Settable),
            ),
            (
                "kept for longer",
                RETENTION,
                "1209600",
                Some(DriftKind::Withheld),
            ),
        ];
        for (reason, key, have, expected) in cases {
            let mut found = want.clone();
            found.insert(key.to_owned(), have.to_owned());
            let drift = differences(&want, &found, "asya-cart");
            assert_eq!(drift.first().map(|drift| drift.kind), expected, "{reason}");
            let is_written = to_write(&want, &found, "asya-cart").contains_key(key);
            assert_eq!(
                is_written,
                expected == Some(DriftKind::Settable),
                "{reason}"
            );
        }
    }

    #[test]
    fn an_undesired_redrive_policy_is_emptied() {
        let mut off = queue();
        off.dead_letter.enabled = false;
        let want = desired(&off, Some(ARN));
        let mut found = want.clone();
        found.remove(REDRIVE);
        assert_eq!(
            differences(&want, &found, "asya-cart"),
            [],
            "a missing policy equals an empty one"
        );
        found.insert(
            REDRIVE.to_owned(),
            format!("{{\"deadLetterTargetArn\":\"{ARN}\"}}"),
        );
        assert_eq!(to_write(&want, &found, "asya-cart")[REDRIVE], "");
        assert!(!for_creation(want, "asya-cart").contains_key(REDRIVE));
        let later = desired(&queue(), None);
        assert_eq!(
            differences(&later, &found, "asya-cart"),
            [],
            "one that waits for its queue stays"
        );
    }

    #[test]
    fn the_name_of_a_fifo_queue_ends_with_fifo() {
        assert_eq!(dead_letter_name("asya-cart"), "asya-cart-dlq");
        assert_eq!(dead_letter_name("asya-cart.fifo"), "asya-cart-dlq.fifo");
        assert_eq!(for_dead_letter_queue("a-dlq.fifo")[FIFO], "true");
        assert!(
            !for_dead_letter_queue("a-dlq").contains_key(FIFO),
            "never \"false\""
        );
        let standard = differences(&Attributes::new(), &Attributes::new(), "a.fifo");
        assert_eq!(standard[0].kind, DriftKind::Fixed);
    }

    #[test]
    fn missing_counters_are_unknown() {
        let mut found = Attributes::new();
        assert_eq!(counters(&found), None);
        for (key, value) in [
            ("ApproximateNumberOfMessages", "5"),
            ("ApproximateNumberOfMessagesNotVisible", "2"),
            ("ApproximateNumberOfMessagesDelayed", "1"),
        ] {
            found.insert(key.to_owned(), value.to_owned());
        }
        assert_eq!(
            counters(&found),
            Some(Counters {
                queued: 6,
                processing: 2,
                dead_lettered: None
            })
        );
        assert_eq!(account(ARN), Some("123456789012"));
    }
}
