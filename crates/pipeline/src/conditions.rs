//! Conditions, as Crossplane keeps them in `status`.

use serde_json::{Map, Value, json};

/// The time that stands for every time in what is rendered, so that the output
/// depends on nothing but the input. The same as that of `crossplane`.
pub const FIXED_TIME: &str = "2024-01-01T00:00:00Z";

/// Condition types that functions cannot set. Source: `IsSystemConditionType` of
/// Crossplane 2.3.
const RESERVED: [&str; 5] = ["Ready", "Synced", "Healthy", "UpToDate", "Responsive"];

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) r#type: String,
    /// `True`, `False` or `Unknown`.
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    /// 0 where it is not known.
    pub(crate) observed_generation: i64,
    /// Time of the last change.
    pub(crate) since: Option<String>,
}

impl Condition {
    /// A condition without message that changed just now.
    pub(crate) fn new(r#type: &str, status: &str, reason: &str) -> Self {
        Self {
            r#type: r#type.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: String::new(),
            observed_generation: 0,
            since: Some(FIXED_TIME.to_owned()),
        }
    }

    /// Returns whether functions cannot set conditions of that type.
    pub(crate) fn is_reserved(r#type: &str) -> bool {
        RESERVED.contains(&r#type)
    }

    fn read(condition: &Value) -> Self {
        let text = |key: &str| condition[key].as_str().unwrap_or_default().to_owned();
        Self {
            r#type: text("type"),
            status: text("status"),
            reason: text("reason"),
            message: text("message"),
            observed_generation: condition["observedGeneration"].as_i64().unwrap_or_default(),
            since: condition["lastTransitionTime"].as_str().map(str::to_owned),
        }
    }

    fn write(self) -> Value {
        let mut condition = json!({
            "type": self.r#type,
            "status": self.status,
            "reason": self.reason,
            "lastTransitionTime": self.since,
        });
        if !self.message.is_empty() {
            condition["message"] = Value::from(self.message);
        }
        if self.observed_generation != 0 {
            condition["observedGeneration"] = Value::from(self.observed_generation);
        }
        condition
    }

    /// Returns whether the two are equal. An unknown generation is no difference.
    fn says_the_same_as(&self, other: &Self) -> bool {
        let generations = [self.observed_generation, other.observed_generation];
        self.status == other.status
            && self.reason == other.reason
            && self.message == other.message
            && (generations.contains(&0) || generations[0] == generations[1])
    }
}

/// The conditions of an object, in order, at most one of each type.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Conditions(Vec<Condition>);

impl Conditions {
    /// Reads `status.conditions`; what is none is passed over.
    pub(crate) fn of(status: Option<&Value>) -> Self {
        let list = status.and_then(|status| status.get("conditions"));
        let list = list.and_then(Value::as_array).into_iter().flatten();
        Self(list.map(Condition::read).collect())
    }

    /// Sets a condition in its place, or behind the others.
    pub(crate) fn set(&mut self, condition: Condition) {
        match self
            .0
            .iter_mut()
            .find(|held| held.r#type == condition.r#type)
        {
            Some(held) if held.says_the_same_as(&condition) => {}
            Some(held) => *held = condition,
            None => self.0.push(condition),
        }
    }

    /// Sets each condition of the others.
    pub(crate) fn set_all(&mut self, others: Self) {
        for condition in others.0 {
            self.set(condition);
        }
    }

    /// The same conditions, all of which changed at the one time of rendering.
    pub(crate) fn at_fixed_time(mut self) -> Self {
        for condition in &mut self.0 {
            condition.since = Some(FIXED_TIME.to_owned());
        }
        self
    }

    /// Writes `conditions` of a status.
    pub(crate) fn write(self, status: &mut Map<String, Value>) {
        let list = self.0.into_iter().map(Condition::write).collect();
        status.insert("conditions".to_owned(), Value::Array(list));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_condition_is_replaced_in_place() {
        let status = json!({"conditions": [
            {"type": "A", "status": "True", "reason": "R", "lastTransitionTime": "2025-01-01T00:00:00Z", "more": 1},
            {"type": "B", "status": "True", "reason": "R", "lastTransitionTime": "2025-01-01T00:00:00Z"},
        ]});
        let mut conditions = Conditions::of(Some(&status));
        let mut generation = Condition::new("B", "True", "R");
        generation.observed_generation = 3;
        for condition in [
            Condition::new("A", "False", "R"),
            generation,
            Condition::new("C", "Unknown", ""),
        ] {
            conditions.set(condition);
        }
        let mut status = Map::new();
        conditions.write(&mut status);
        assert_eq!(
            status["conditions"],
            json!([
                {"type": "A", "status": "False", "reason": "R", "lastTransitionTime": FIXED_TIME},
                {"type": "B", "status": "True", "reason": "R", "lastTransitionTime": "2025-01-01T00:00:00Z"},
                {"type": "C", "status": "Unknown", "reason": "", "lastTransitionTime": FIXED_TIME},
            ])
        );
    }
}
