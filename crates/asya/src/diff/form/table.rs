//! A comparison as tables in plain text.

use std::collections::BTreeMap;

use owo_colors::{OwoColorize as _, Style};
use serde_json::Value;

use super::super::{
    ActorChange, Change, ChangeKind, Comparison, FieldChange, ObjectChange, Pods, Queue,
};
use super::{joined, summary};
use crate::diagnostics::note_line;
use crate::explain::Origin;
use crate::table::{columns, shown};
use crate::visible::visible_line;

/// A missing value.
const NOTHING: &str = "-";
/// Names in a row that several actors share; the others are counted, and JSON has all of them.
const NAMED_MAX: usize = 3;
/// Most changed actors with a row each.
const GROUPED_MIN: usize = 20;

/// A summary line, a table of sources, a table of actors, and the changes of each actor. Actors with
/// the same changes share one section.
pub fn table(comparison: &Comparison, width: Option<usize>) -> String {
    let mut text = summary(comparison) + "\n";
    if !comparison.sources.is_empty() {
        let rows = comparison.sources.iter().map(|it| {
            let actors = if it.is_used {
                it.changes.to_string()
            } else {
                "no actor names it".to_owned()
            };
            let source = it.source.to_string();
            [
                visible_line(&source).into_owned(),
                it.label().to_owned(),
                visible_line(&actors).into_owned(),
            ]
        });
        columns(["SOURCE", "IS", "CHANGED ACTORS"], rows, width, &mut text);
    }
    if !comparison.actors.is_empty() {
        let head = ["ACTOR", "IS", "PODS", "QUEUE", "BECAUSE OF"];
        columns(
            head,
            rows_of(&comparison.actors).into_iter(),
            width,
            &mut text,
        );
    }
    for (body, actors) in groups(&comparison.actors, width) {
        let names: Vec<String> = actors.iter().map(|actor| actor.id.to_string()).collect();
        let names = if names.len() > GROUPED_MIN {
            listed(&names)
        } else {
            names.join(", ")
        };
        text.push('\n');
        text.push_str(&visible_line(&names).bold().to_string());
        text.push('\n');
        text.push_str(&body);
    }
    text
}

/// The actors by their section, in the order of the first actor of each.
fn groups(actors: &[ActorChange], width: Option<usize>) -> Vec<(String, Vec<&ActorChange>)> {
    let mut groups: Vec<(String, Vec<&ActorChange>)> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for actor in actors {
        let body = body(actor, width);
        match places.get(&body) {
            Some(place) => groups[*place].1.push(actor),
            None => {
                places.insert(body.clone(), groups.len());
                groups.push((body, vec![actor]));
            }
        }
    }
    groups
}

/// A row for each actor; actors whose rows differ in nothing but the name share one, with up to
/// [`NAMED_MAX`] names.
fn rows_of(actors: &[ActorChange]) -> Vec<[String; 5]> {
    let mut rows: Vec<([String; 5], Vec<String>)> = Vec::new();
    let mut places: BTreeMap<[String; 4], usize> = BTreeMap::new();
    for actor in actors {
        let row = row(actor);
        let [name, rest @ ..] = row.clone();
        match places.get(&rest) {
            Some(place) => rows[*place].1.push(name),
            None => {
                places.insert(rest, rows.len());
                rows.push((row, vec![name]));
            }
        }
    }
    // Few rows are easier to read one by one.
    if actors.len() <= GROUPED_MIN {
        return actors.iter().map(row).collect();
    }
    let named = rows.into_iter().map(|(mut row, names)| {
        row[0] = listed(&names);
        row
    });
    named.collect()
}

/// The first names, and the number of others.
fn listed(names: &[String]) -> String {
    let shown = names.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>();
    match names.len().saturating_sub(NAMED_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn row(actor: &ActorChange) -> [String; 5] {
    let style = match actor.kind {
        ChangeKind::Refused | ChangeKind::RefusedOtherwise | ChangeKind::Removed => {
            Style::new().red()
        }
        ChangeKind::Added | ChangeKind::Fixed => Style::new().green(),
        ChangeKind::Changed => Style::new(),
    };
    let pods: Vec<String> = actor.pods.iter().map(pods_label).collect();
    let mut queue: Vec<String> = actor.queue.iter().map(queue_label).collect();
    queue.dedup();
    [
        visible_line(&actor.id.to_string()).into_owned(),
        actor.kind.label().style(style).to_string(),
        or_nothing(pods.join(", ")),
        or_nothing(queue.join(", ")),
        visible_line(&joined(&actor.sources)).into_owned(),
    ]
}

fn pods_label(pods: &Pods) -> String {
    let style = match pods {
        Pods::Restart { .. } | Pods::RestartWhenDeleted { .. } => Style::new().yellow(),
        Pods::Stop { .. } | Pods::Refused { .. } => Style::new().red(),
        Pods::Start { .. } => Style::new(),
    };
    pods.label().style(style).to_string()
}

fn queue_label(queue: &Queue) -> String {
    let style = match queue {
        Queue::Settings | Queue::Withheld { .. } | Queue::Orphan => Style::new().yellow(),
        Queue::Delete | Queue::DeleteIfEmpty => Style::new().red(),
        Queue::Create | Queue::Object => Style::new(),
    };
    queue.label().style(style).to_string()
}

fn or_nothing(text: String) -> String {
    if text.is_empty() {
        NOTHING.to_owned()
    } else {
        text
    }
}

/// The section of an actor, without its name: others may share it.
fn body(actor: &ActorChange, width: Option<usize>) -> String {
    let mut text = String::new();
    if !actor.fields.is_empty() {
        let rows = actor.fields.iter().map(field);
        let rows = rows.map(|row| row.map(|cell| visible_line(&cell).into_owned()));
        columns(["FIELD", "SET BY", "OLD", "NEW"], rows, width, &mut text);
    }
    if !actor.objects.is_empty() {
        let rows = actor.objects.iter().flat_map(object);
        let rows = rows.map(|row| row.map(|cell| visible_line(&cell).into_owned()));
        let head = ["OBJECT", "FIELD", "BECAUSE OF", "OLD", "NEW"];
        columns(head, rows, width, &mut text);
    }
    let mut lines: Vec<String> = Vec::new();
    for pods in &actor.pods {
        let workload = pods.workload();
        let kind = workload.strip_suffix(&format!(" {}", actor.id.name));
        lines.push(format!("pods: {}", pods.sentence(kind.unwrap_or(workload))));
    }
    let queue = actor.queue.iter();
    lines.extend(queue.map(|queue| format!("queue: it {}", queue.sentence())));
    let verb = if actor.kind == ChangeKind::Fixed {
        "was refused"
    } else {
        "refused"
    };
    let errors = actor.errors.iter();
    lines.extend(errors.map(|error| format!("{verb}: {error}")));
    let warnings = actor.warnings.iter();
    lines.extend(warnings.map(|warning| format!("begins to warn: {}", note_line(warning))));
    if matches!(
        actor.kind,
        ChangeKind::Refused | ChangeKind::RefusedOtherwise
    ) {
        lines.push(
            "existing objects keep running and follow no change until this is fixed".to_owned(),
        );
    }
    if !lines.is_empty() {
        text.push('\n');
    }
    for line in lines {
        text.push_str(&visible_line(&line));
        text.push('\n');
    }
    text
}

fn field(field: &FieldChange) -> [String; 4] {
    let names = |origins: &[Origin]| {
        let names: Vec<String> = origins.iter().map(ToString::to_string).collect();
        names.join(", ")
    };
    let (old, new) = (names(&field.old_origins), names(&field.new_origins));
    let by = match (old.as_str(), new.as_str()) {
        (old, new) if old == new => new.to_owned(),
        ("", new) => new.to_owned(),
        (old, "") => format!("{old} no more"),
        (old, new) => format!("{old} → {new}"),
    };
    let [old, new] = values(&field.change);
    [field.change.place.to_string(), by, old, new]
}

fn object(object: &ObjectChange) -> Vec<[String; 5]> {
    let name = || object.resource.clone();
    match &object.shown {
        [Value::Null, _] => vec![[
            name(),
            String::new(),
            String::new(),
            NOTHING.into(),
            "created".into(),
        ]],
        [_, Value::Null] => vec![[
            name(),
            String::new(),
            String::new(),
            NOTHING.into(),
            "deleted".into(),
        ]],
        _ => {
            let changes = object.changes.iter();
            let rows = changes.map(|(change, sources)| {
                let [old, new] = values(change);
                [name(), change.place.to_string(), joined(sources), old, new]
            });
            rows.collect()
        }
    }
}

/// Both values of a change, in one short line each.
fn values(change: &Change) -> [String; 2] {
    [&change.old, &change.new].map(|side| match side {
        Some((_, value)) => shown(value),
        None => NOTHING.to_owned(),
    })
}
