//! Next actor on a message's route.

use serde_json::{Map, Value, json};

use crate::envelope::Envelope;

/// Header with other actors' names for names in the route: `{"summarise": "summarise-v2"}`.
pub const OVERRIDE: &str = "x-asya-route-override";

/// Header that records which overrides were applied, and by which actor.
pub const RESOLVED: &str = "x-asya-route-resolved";

/// The actor that gets the message: `route.curr`, or the one that the override header names in its
/// place; none at the end of the route. An override is recorded in the headers, and the route keeps
/// the name that it had.
pub fn next_actor(envelope: &mut Envelope, by: &str) -> Option<String> {
    if envelope.route.curr.is_empty() {
        return None;
    }
    let named = envelope.route.curr.clone();
    let Some(target) = overridden(envelope, &named) else {
        return Some(named);
    };
    let mut resolved = object(envelope, RESOLVED);
    resolved.insert(named, json!({"target": target, "by": by}));
    if let Ok(resolved) = serde_json::value::to_raw_value(&resolved) {
        envelope.headers.insert(RESOLVED.to_owned(), resolved);
    }
    Some(target)
}

/// Returns whether a message that names `envelope.route.curr` is meant for this actor.
pub fn is_for(envelope: &Envelope, actor: &str) -> bool {
    let named = envelope.route.curr.as_str();
    named == actor || overridden(envelope, named).is_some_and(|target| target == actor)
}

fn overridden(envelope: &Envelope, named: &str) -> Option<String> {
    // A plain text stands for whatever comes next.
    if let Some(target) = envelope.header(OVERRIDE) {
        return Some(target).filter(|target| !target.is_empty());
    }
    let overrides = object(envelope, OVERRIDE);
    let target = overrides.get(named)?.as_str()?;
    Some(target.to_owned()).filter(|target| !target.is_empty())
}

fn object(envelope: &Envelope, header: &str) -> Map<String, Value> {
    let header = envelope.headers.get(header);
    header
        .and_then(|value| serde_json::from_str(value.get()).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(curr: &str, headers: &Value) -> Envelope {
        let body = json!({"id": "m", "route": {"curr": curr}, "headers": headers});
        Envelope::parse(body.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn the_override_header_replaces_the_next_hop_and_is_recorded() {
        let cases = [
            ("no header", "b", json!({}), Some("b")),
            ("the end", "", json!({}), None),
            (
                "by name",
                "b",
                json!({"x-asya-route-override": {"b": "b2"}}),
                Some("b2"),
            ),
            (
                "of another",
                "b",
                json!({"x-asya-route-override": {"c": "b2"}}),
                Some("b"),
            ),
            (
                "a text",
                "b",
                json!({"x-asya-route-override": "b2"}),
                Some("b2"),
            ),
            (
                "nonsense",
                "b",
                json!({"x-asya-route-override": {"b": 1}}),
                Some("b"),
            ),
        ];
        for (reason, curr, headers, expected) in cases {
            let mut envelope = envelope(curr, &headers);
            let next = next_actor(&mut envelope, "a");
            assert_eq!(next.as_deref(), expected, "{reason}");
            let resolved = Value::Object(object(&envelope, RESOLVED));
            let is_other = expected.is_some_and(|expected| expected != curr);
            let recorded = if is_other {
                json!({curr: {"target": expected, "by": "a"}})
            } else {
                json!({})
            };
            assert_eq!(resolved, recorded, "{reason}");
        }
    }

    #[test]
    fn the_target_of_an_override_accepts_the_message() {
        let headers = json!({"x-asya-route-override": {"b": "b2"}});
        for (actor, expected) in [("b", true), ("b2", true), ("c", false)] {
            assert_eq!(is_for(&envelope("b", &headers), actor), expected, "{actor}");
        }
    }
}
