//! Output of a comparison: table, unified diff, JSON.

mod document;
mod table;
mod unified;

use std::collections::BTreeSet;

pub use document::json;
pub use table::table;
pub use unified::unified;

use super::{ChangeKind, Comparison, Pods, Queue, Source, SourceChange};
use crate::table::shown;

impl ChangeKind {
    /// Its name in tables and in JSON.
    fn label(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Refused => "refused",
            Self::RefusedOtherwise => "refused otherwise",
            Self::Fixed => "fixed",
        }
    }
}

impl Pods {
    /// Its name in tables and in JSON.
    fn label(&self) -> &'static str {
        match self {
            Self::Restart { .. } => "restart",
            Self::RestartWhenDeleted { .. } => "restart when deleted",
            Self::Start { .. } => "start",
            Self::Stop { .. } => "stop",
            Self::Refused { .. } => "immutable",
        }
    }

    /// Kind and name of the workload.
    fn workload(&self) -> &str {
        match self {
            Self::Restart { workload }
            | Self::RestartWhenDeleted { workload }
            | Self::Start { workload }
            | Self::Stop { workload }
            | Self::Refused { workload, .. } => workload,
        }
    }

    /// A sentence about this workload.
    fn sentence(&self, workload: &str) -> String {
        match self {
            Self::Restart { .. } => format!("{workload} replaces all its pods"),
            Self::RestartWhenDeleted { .. } => {
                format!("{workload} replaces a pod only when that pod is deleted")
            }
            Self::Start { .. } => format!("{workload} is created"),
            Self::Stop { .. } => format!("{workload} is deleted with its pods"),
            Self::Refused { field, .. } => format!(
                "{workload} is not changed: the API server refuses a change of {field}; delete the workload with --cascade=orphan to recreate it"
            ),
        }
    }
}

impl Queue {
    /// Its name in tables and in JSON.
    fn label(&self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Settings => "settings",
            Self::Object => "object only",
            Self::Delete => "delete",
            Self::DeleteIfEmpty => "delete if empty",
            Self::Orphan => "orphan",
            Self::Withheld { .. } => "withheld",
        }
    }

    /// A sentence whose subject is the queue.
    fn sentence(&self) -> String {
        match self {
            Self::Create => "is created".to_owned(),
            Self::Settings => "is changed in place and keeps its messages".to_owned(),
            Self::Object => "is not changed: only its Queue object changes".to_owned(),
            Self::Delete => "is deleted with the messages in it".to_owned(),
            Self::DeleteIfEmpty => "is deleted once it is empty".to_owned(),
            Self::Orphan => "stays without an owner".to_owned(),
            Self::Withheld {
                field,
                kept,
                wanted,
            } => format!(
                "keeps {field} {}: only new actors get {}",
                shown(kept),
                shown(wanted)
            ),
        }
    }
}

impl SourceChange {
    /// Returns whether it was added, removed or changed.
    fn label(&self) -> &'static str {
        match self.sides {
            [false, _] => "added",
            [_, false] => "removed",
            _ => "changed",
        }
    }
}

/// Names, joined.
fn joined(sources: &BTreeSet<Source>) -> String {
    let names: Vec<String> = sources.iter().map(ToString::to_string).collect();
    names.join(", ")
}

/// The comparison in one line: `2 of 14 actors change: 1 is refused`.
pub(super) fn summary(comparison: &Comparison) -> String {
    let actors = &comparison.actors;
    let count = |number: usize, one: &str, several: &str| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        number => Some(format!("{number} {several}")),
    };
    let kinds = |kind: ChangeKind| actors.iter().filter(|actor| actor.kind == kind).count();
    let with_pods = |wanted: fn(&Pods) -> bool| {
        let has = |actor: &&super::ActorChange| actor.pods.iter().any(wanted);
        actors.iter().filter(has).count()
    };
    let with_queue = |wanted: fn(&Queue) -> bool| {
        let has = |actor: &&super::ActorChange| actor.queue.iter().any(wanted);
        actors.iter().filter(has).count()
    };
    let restarts =
        |pods: &Pods| matches!(pods, Pods::Restart { .. } | Pods::RestartWhenDeleted { .. });
    let immutable = |pods: &Pods| matches!(pods, Pods::Refused { .. });
    let deletes = |queue: &Queue| matches!(queue, Queue::Delete | Queue::DeleteIfEmpty);
    let sets = |queue: &Queue| matches!(queue, Queue::Settings);
    let withholds = |queue: &Queue| matches!(queue, Queue::Withheld { .. });
    let refused = kinds(ChangeKind::Refused) + kinds(ChangeKind::RefusedOtherwise);
    let parts = [
        count(kinds(ChangeKind::Added), "is new", "are new"),
        count(kinds(ChangeKind::Removed), "is removed", "are removed"),
        count(refused, "is refused", "are refused"),
        count(
            kinds(ChangeKind::Fixed),
            "is no longer refused",
            "are no longer refused",
        ),
        count(
            with_pods(restarts),
            "restarts its pods",
            "restart their pods",
        ),
        count(
            with_pods(immutable),
            "is stuck at an immutable field",
            "are stuck at an immutable field",
        ),
        count(
            with_queue(sets),
            "has its queue changed",
            "have their queues changed",
        ),
        count(
            with_queue(withholds),
            "keeps settings of its queue",
            "keep settings of their queues",
        ),
        count(with_queue(deletes), "loses its queue", "lose their queues"),
        count(comparison.unknown.len(), "unknown", "unknown"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let total = comparison.total;
    if actors.is_empty() {
        let noun = if total == 1 { "actor" } else { "actors" };
        return match parts.as_slice() {
            [] => format!("nothing changes ({total} {noun})"),
            // All that an actor without changes can be.
            [unknown, ..] => format!("no known change ({total} {noun}): {unknown}"),
        };
    }
    let verb = if actors.len() == 1 {
        "changes"
    } else {
        "change"
    };
    let mut text = format!("{} of {total} actors {verb}", actors.len());
    if !parts.is_empty() {
        text.push_str(": ");
        text.push_str(&parts.join(", "));
    }
    text
}
