//! Single objects that the XR's condition `Synced` names.
//!
//! It is about the reconcile before this one; Crossplane makes another when it has
//! changed.

use actor::health::quote;
use function_kit::value;
use pbjson_types::Struct;

/// Single objects that `Synced` names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unsynced {
    /// No object. It is also this after a problem of the pipeline that this reconcile has got over.
    Nothing,
    /// Names of the rejected objects; if `more`, others were rejected that are not named.
    Refused { names: Vec<String>, more: bool },
    /// Applying this one ended the reconcile.
    Failed { name: String, error: String },
}

impl Unsynced {
    pub(super) fn read(xr: &Struct) -> Self {
        let synced = value::condition(xr, "Synced")
            .filter(|synced| value::text(synced, &["status"]) == Some("False"));
        synced
            .and_then(|synced| value::text(synced, &["message"]))
            .map_or(Self::Nothing, Self::parse)
    }

    /// Source of the forms: Crossplane 2.3, package `composite`; runtime,
    /// `resource.StableNAndSomeMore` (`a`, `a, b`, `a, b, and c`, `a, b, c, and 2 more`).
    fn parse(message: &str) -> Self {
        const APPLY: &str = "cannot apply composed resource \"";
        if let Some(list) = message.strip_prefix("Unsynced resources: ") {
            let items = list
                .split(", ")
                .map(|item| item.strip_prefix("and ").unwrap_or(item));
            let (counts, names): (Vec<&str>, Vec<&str>) = items.partition(|item| {
                let count = item.strip_suffix(" more");
                count.is_some_and(|count| count.parse::<u32>().is_ok())
            });
            return Self::Refused {
                names: names.into_iter().map(str::to_owned).collect(),
                more: !counts.is_empty(),
            };
        }
        let failed = message.find(APPLY).and_then(|start| {
            let (name, _) = message[start + APPLY.len()..].split_once('"')?;
            Some(Self::Failed {
                name: name.to_owned(),
                error: quote(&message[start..]),
            })
        });
        failed.unwrap_or(Self::Nothing)
    }

    /// Returns whether it names the composed object.
    pub(super) fn names(&self, resource: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Refused { names, .. } => names.iter().any(|name| name == resource),
            Self::Failed { name, .. } => name == resource,
        }
    }

    /// Returns whether the reconcile ended before every object was applied.
    pub(super) fn cut_the_pass_short(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }

    /// Returns whether it may mean the composed object, named or not.
    pub(super) fn may_name(&self, resource: &str) -> bool {
        self.names(resource) || matches!(self, Self::Refused { more: true, .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synced_names_objects_in_crossplanes_forms() {
        let refused = |names: &[&str], more| Unsynced::Refused {
            names: names.iter().map(|&name| name.to_owned()).collect(),
            more,
        };
        let cases = [
            ("Unsynced resources: queue", refused(&["queue"], false)),
            (
                "Unsynced resources: health, queue",
                refused(&["health", "queue"], false),
            ),
            (
                "Unsynced resources: deployment, health, and queue",
                refused(&["deployment", "health", "queue"], false),
            ),
            (
                "Unsynced resources: deployment, health, queue, and 2 more",
                refused(&["deployment", "health", "queue"], true),
            ),
            (
                "cannot compose resources: cannot apply composed resource \"queue\": forbidden",
                Unsynced::Failed {
                    name: "queue".to_owned(),
                    error: "cannot apply composed resource \"queue\": forbidden".to_owned(),
                },
            ),
            (
                "cannot compose resources: pipeline step \"render-queue\" returned a fatal result: x",
                Unsynced::Nothing,
            ),
        ];
        for (message, expected) in cases {
            assert_eq!(Unsynced::parse(message), expected, "{message}");
        }
    }
}
