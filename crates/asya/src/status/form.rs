//! Output of the state of actors: trees and JSON.

use actor::status::QueueStatus;
use owo_colors::{OwoColorize as _, Style};
use serde_json::{Map, Value, json};

use super::{ActorState, Branch, Health};
use crate::table::columns;
use crate::visible::visible_line;

/// A small tree for each actor.
pub fn trees(states: &[ActorState]) -> String {
    let lines: Vec<String> = states.iter().flat_map(tree).collect();
    lines.into_iter().map(|line| line + "\n").collect()
}

/// A table with a row for each actor, cut to a width in characters if there is one.
pub fn table(states: &[ActorState], width: Option<usize>) -> String {
    let count = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |it| it.to_string());
    let rows = states.iter().map(|state| {
        [
            visible_line(&format!("{}/{}", state.namespace, state.name)).into_owned(),
            visible_line(&state.status)
                .style(style(state.health))
                .to_string(),
            state.pods(),
            count(state.queue.queued),
            count(state.queue.processing),
            count(state.queue.dead_lettered),
            visible_line(&state.message).into_owned(),
        ]
    });
    let head = [
        "ACTOR",
        "STATUS",
        "PODS",
        "QUEUED",
        "PROCESSING",
        "DEAD",
        "MESSAGE",
    ];
    let mut text = String::new();
    columns(head, rows, width, &mut text);
    text.trim_start().to_owned()
}

fn tree(state: &ActorState) -> Vec<String> {
    let status = visible_line(&state.status);
    let status = status.style(style(state.health).bold()).to_string();
    let message = match visible_line(&state.message).as_ref() {
        "" => String::new(),
        message => format!(": {message}"),
    };
    let mut lines = vec![format!(
        "{}/{}  {status}{message}",
        visible_line(&state.namespace),
        visible_line(&state.name)
    )];
    let width = state.branches.iter().map(|branch| branch.name.len()).max();
    for (index, branch) in state.branches.iter().enumerate() {
        let is_last = index + 1 == state.branches.len();
        let (corner, bar) = if is_last {
            ("└─", "  ")
        } else {
            ("├─", "│ ")
        };
        let name = format!("{:width$}", branch.name, width = width.unwrap_or_default());
        let line = format!(
            "{corner} {}  {}",
            name.style(style(branch.health)),
            visible_line(&text(branch))
        );
        lines.push(line.trim_end().to_owned());
        for (index, object) in branch.objects.iter().enumerate() {
            let is_last = index + 1 == branch.objects.len();
            let corner = if is_last { "└─" } else { "├─" };
            lines.push(format!("{bar} {corner} {}", visible_line(object)));
        }
    }
    lines
}

/// Summary and message of a branch.
fn text(branch: &Branch) -> String {
    match (branch.summary.as_str(), branch.message.as_str()) {
        ("", "") => match branch.health {
            Health::Good => "ready".to_owned(),
            Health::Bad => "not ready".to_owned(),
            Health::Unknown => "unknown".to_owned(),
        },
        ("", message) => message.to_owned(),
        (summary, "") => summary.to_owned(),
        (summary, message) => format!("{summary}; {message}"),
    }
}

fn style(health: Health) -> Style {
    match health {
        Health::Good => Style::new().green(),
        Health::Bad => Style::new().red(),
        Health::Unknown => Style::new().yellow(),
    }
}

/// The actors as a JSON list.
pub fn json(states: &[ActorState]) -> Value {
    states.iter().map(document).collect()
}

fn document(state: &ActorState) -> Value {
    let branch = |branch: &Branch| {
        let mut document = Map::new();
        document.insert("name".to_owned(), json!(branch.name));
        document.insert("ready".to_owned(), ready(branch.health));
        for (key, text) in [("summary", &branch.summary), ("message", &branch.message)] {
            if !text.is_empty() {
                document.insert(key.to_owned(), json!(text));
            }
        }
        if !branch.objects.is_empty() {
            document.insert("objects".to_owned(), json!(branch.objects));
        }
        Value::Object(document)
    };
    let mut document = json!({
        "namespace": state.namespace,
        "name": state.name,
        "status": state.status,
        "ready": ready(state.health),
        "message": state.message,
        "dependsOn": state.branches.iter().map(branch).collect::<Vec<_>>(),
    });
    if state.queue != QueueStatus::default() {
        document["queue"] = json!(state.queue);
    }
    document
}

/// Null if it is unknown.
fn ready(health: Health) -> Value {
    match health {
        Health::Good => json!(true),
        Health::Bad => json!(false),
        Health::Unknown => Value::Null,
    }
}
