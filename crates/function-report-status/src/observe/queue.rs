//! The observed Queue.

use function_kit::value;
use pbjson_types::Struct;

use super::Problem;
use super::condition::Condition;

/// The observed Queue.
#[derive(Debug)]
pub(crate) struct Queue {
    /// True if it can take messages.
    pub(crate) ready: bool,
    /// Problem of the queue. A queue that is being created is progress, not a problem.
    pub(crate) problem: Option<Problem>,
    /// Reason for which messages wait, if no ready pod consumes them.
    pub(crate) unconsumed: Option<String>,
    /// Additional remark of its provider.
    pub(crate) remark: Option<String>,
    /// URL of the queue, on SQS.
    pub(crate) url: Option<String>,
    /// Messages that wait.
    pub(crate) queued: Option<u64>,
    /// Messages that are being worked on.
    pub(crate) processing: Option<u64>,
    /// Messages that were given up.
    pub(crate) dead_lettered: Option<u64>,
}

impl Queue {
    /// Reads the object of the queue called `name` at the broker.
    pub(super) fn read(object: &Struct, name: &str) -> Self {
        let at_provider = |key| ["status", "atProvider", key];
        let messages = |key| u64::try_from(value::integer(object, &at_provider(key))?).ok();
        let synced = Condition::of(object, "Synced").filter(|synced| synced.status == Some(false));
        let paused = synced.is_some_and(|synced| synced.reason == "ReconcilePaused");
        let unready = Condition::of(object, "Ready").filter(|ready| ready.status == Some(false));
        let problem = synced
            .filter(|_| !paused)
            .or_else(|| unready.filter(|unready| unready.reason != "Creating"))
            .map(|condition| Problem {
                reason: condition.reason.to_owned(),
                message: format!(
                    "queue {name:?}: {}",
                    condition.summary(&["ReconcileError", "Unavailable"])
                ),
            });
        Self {
            ready: Condition::holds(object, "Ready"),
            problem,
            unconsumed: Condition::of(object, actor::queue::NO_CONSUMER)
                .filter(|condition| condition.status == Some(true))
                .map(|condition| {
                    format!("queue {name:?}: {}", condition.summary(&[condition.reason]))
                }),
            remark: if paused {
                let why = "annotation crossplane.io/paused is set on its Queue";
                Some(format!("queue {name:?} is left alone: {why}"))
            } else {
                flags(object, name)
            },
            url: value::text(object, &at_provider("url")).map(str::to_owned),
            queued: messages("queued"),
            processing: messages("processing"),
            dead_lettered: messages("deadLettered"),
        }
    }
}

/// Problem with which the queue still works, in the provider's message.
fn flags(object: &Struct, name: &str) -> Option<String> {
    let raised: Vec<String> = actor::queue::FLAGS
        .into_iter()
        .filter_map(|flag| {
            let condition = Condition::of(object, flag)?;
            let summary = condition.summary(&[condition.reason]);
            (condition.status == Some(true)).then(|| format!("{flag}: {summary}"))
        })
        .collect();
    (!raised.is_empty()).then(|| format!("queue {name:?}: {}", raised.join("; ")))
}
