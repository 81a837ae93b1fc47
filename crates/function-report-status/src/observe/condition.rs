//! Conditions of other programs' objects.

use actor::health::quote;
use function_kit::value;
use pbjson_types::Struct;

/// One condition. Lenient: KEDA writes neither a transition time nor empty
/// reasons and messages. Source: KEDA, `apis/keda/v1alpha1/condition_types.go`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Condition<'a> {
    /// None for Unknown.
    pub(super) status: Option<bool>,
    pub(super) reason: &'a str,
    message: &'a str,
}

impl<'a> Condition<'a> {
    /// The object's condition of that type.
    pub(super) fn of(object: &'a Struct, r#type: &str) -> Option<Self> {
        let condition = value::condition(object, r#type)?;
        let text = |key| value::text(condition, &[key]).unwrap_or_default();
        Some(Self {
            status: match text("status") {
                "True" => Some(true),
                "False" => Some(false),
                _ => None,
            },
            reason: text("reason"),
            message: text("message"),
        })
    }

    /// Returns whether the object's condition of that type is True.
    pub(super) fn holds(object: &Struct, r#type: &str) -> bool {
        Condition::of(object, r#type).is_some_and(|condition| condition.status == Some(true))
    }

    /// Reason and message in one line. `empty_words` are reasons that contain no more than that something
    /// is wrong.
    pub(super) fn words(&self, empty_words: &[&str]) -> String {
        let message = quote(self.message);
        let says_nothing = self.reason.is_empty() || empty_words.contains(&self.reason);
        match (
            says_nothing || message.contains(self.reason),
            message.is_empty(),
        ) {
            (_, true) => self.reason.to_owned(),
            (true, false) => message,
            (false, false) => format!("{}: {message}", self.reason),
        }
    }
}
