//! The effects of a change of actors, flavors or the platform's settings: which actors change, in
//! which fields, because of which source, and what happens to existing pods and queues.
//!
//! The functions render both sides as for a live actor: the objects of the old side count as
//! existing, unless observed objects are given. So a live queue keeps its identity here as it does
//! in the cluster.
//!
//! Pure: [`crate::inputs`] reads the files.

mod changes;
mod comparer;
mod effects;
mod form;
mod side;

use std::collections::BTreeSet;
use std::convert::Infallible;

use actor::diagnostic::Diagnostic;
use function_kit::Note;
use serde_json::{Map, Value, json};

pub use changes::{Change, Place, Step, between};
pub use effects::{Pods, Queue};
pub use form::{json, table, unified};
pub use side::{ActorId, Side, Source, Version};

use self::comparer::{Comparer, Verdict};
use self::effects::Objects;
use self::side::{Sides, flavors};
use crate::explain::{Conflict, Origin};
use crate::ordered::ordered;
use pipeline::Object;

/// Differences between two sides.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comparison {
    /// Flavors and settings that differ.
    pub sources: Vec<SourceChange>,
    /// Actors that change.
    pub actors: Vec<ActorChange>,
    /// Number of actors on both sides together.
    pub total: usize,
    /// Actors that are refused on both sides for the same reasons, with these: their objects are
    /// unknown.
    pub unknown: Vec<(ActorId, Vec<Diagnostic>)>,
}

impl Comparison {
    /// Returns whether no actor changes.
    pub fn is_empty(&self) -> bool {
        self.actors.is_empty()
    }
}

/// A flavor, or the platform's settings, that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceChange {
    /// The source.
    pub source: Source,
    /// True if it exists in the old and in the new side.
    pub sides: [bool; 2],
    /// Number of changed actors that it has an effect on.
    pub changes: usize,
    /// True if an actor names it; always true for the platform's settings.
    pub is_used: bool,
}

/// The change of one actor.
#[derive(Debug, Clone, PartialEq)]
pub struct ActorChange {
    /// The actor.
    pub id: ActorId,
    /// Kind of the change.
    pub kind: ChangeKind,
    /// Fields of the resolved spec, and defaults, that differ.
    pub fields: Vec<FieldChange>,
    /// Objects that differ.
    pub objects: Vec<ObjectChange>,
    /// Effects on its pods.
    pub pods: Vec<Pods>,
    /// Effects on its queue.
    pub queue: Vec<Queue>,
    /// Errors for which it is refused; if it is fixed, those for which it was refused before.
    pub errors: Vec<Diagnostic>,
    /// Conflicts between flavors on the new side.
    pub conflicts: Vec<Conflict>,
    /// New warnings in its conditions.
    pub warnings: Vec<Note>,
    /// Changed sources that cause it.
    pub sources: BTreeSet<Source>,
}

/// Kind of an actor's change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It is deleted with all its objects.
    Removed,
    /// Its objects change.
    Changed,
    /// It is refused from now on: its objects keep running and follow no further change.
    Refused,
    /// It is still refused, for another reason.
    RefusedOtherwise,
    /// It was refused and is rendered now; its old objects are unknown.
    Fixed,
}

/// A field of the resolved spec that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldChange {
    /// The place and the values, secret ones masked.
    pub change: Change,
    /// Origins of the old value; empty if it is new.
    pub old_origins: Vec<Origin>,
    /// Origins of the new value; empty if it is removed.
    pub new_origins: Vec<Origin>,
}

/// A composed object that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectChange {
    /// Name of the composed resource.
    pub resource: String,
    /// Kind and name of the object.
    pub object: String,
    /// The object on each side, secret values masked; null if it is missing.
    pub shown: [Value; 2],
    /// Changed fields, each with the sources that cause it. Empty if one side lacks the object.
    pub changes: Vec<(Change, BTreeSet<Source>)>,
}

/// Compares two sides.
pub fn compare(old: &Side, new: &Side) -> Comparison {
    let sides = Sides { old, new };
    let changed = sides.changed();
    let named = sides.named_flavors();
    let ids: BTreeSet<&ActorId> = old.actors.keys().chain(new.actors.keys()).collect();
    let mut comparison = Comparison {
        total: ids.len(),
        ..Comparison::default()
    };
    let concerned = ids.into_iter().filter_map(|id| {
        let sources = sources(sides, id, &changed, &named);
        (!sources.is_empty()).then_some(Comparer { sides, id, sources })
    });
    let done = |(id, verdict): (&ActorId, Verdict)| {
        match verdict {
            Verdict::Changed(change) => comparison.actors.push(*change),
            Verdict::Unknown(errors) => comparison.unknown.push((id.clone(), errors)),
            Verdict::Same => {}
        }
        Ok::<(), Infallible>(())
    };
    let Ok(()) = ordered(concerned, Comparer::compare, done);
    comparison.sources = changed
        .into_iter()
        .map(|source| {
            let of = |actor: &&ActorChange| actor.sources.contains(&source);
            SourceChange {
                sides: present(sides, &source),
                changes: comparison.actors.iter().filter(of).count(),
                is_used: match &source {
                    Source::Flavor(name) => named.contains(name.as_str()),
                    _ => true,
                },
                source,
            }
        })
        .collect();
    comparison
}

/// Changed sources that may have an effect on an actor. An EnvironmentConfig that no actor names as
/// a flavor may be required otherwise, for example as the platform's under another name.
fn sources(
    sides: Sides<'_>,
    id: &ActorId,
    changed: &BTreeSet<Source>,
    named: &BTreeSet<&str>,
) -> BTreeSet<Source> {
    let actors = [sides.old, sides.new].map(|side| side.actors.get(id));
    let own: BTreeSet<&str> = actors.into_iter().flatten().flat_map(flavors).collect();
    let concerns = |source: &&Source| match source {
        Source::Flavor(name) => own.contains(name.as_str()) || !named.contains(name.as_str()),
        _ => true,
    };
    let mut sources: BTreeSet<Source> = changed.iter().filter(concerns).cloned().collect();
    if actors[0] != actors[1] {
        sources.insert(Source::Actor);
    }
    sources
}

/// Returns whether a source exists on each side.
fn present(sides: Sides<'_>, source: &Source) -> [bool; 2] {
    [sides.old, sides.new].map(|side| match source {
        Source::Actor | Source::Composition | Source::Functions => true,
        Source::Flavor(name) => side.configs.contains_key(name),
        Source::Platform => side.configs.contains_key(actor::names::PLATFORM),
    })
}

impl ActorChange {
    /// Sets the sources that cause it, if any are known.
    fn attribute_to(&mut self, sources: BTreeSet<Source>) {
        if !sources.is_empty() {
            self.sources = sources;
        }
    }

    /// Adds changed objects and their effects. `fresh` has the objects of a new actor on each side.
    fn add(&mut self, old: &Objects, new: &Objects, fresh: [&Objects; 2]) {
        self.pods = effects::pods(old, new);
        self.queue = effects::queue(old, new, fresh);
        let resources: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for resource in resources {
            let (before, after) = (old.get(resource), new.get(resource));
            if before == after {
                continue;
            }
            let document = |object: Option<&Object>| {
                object.map_or_else(Map::new, |object| object.as_map().clone())
            };
            let mut shown = changes::shown(&document(before), &document(after));
            if before.is_none() || after.is_none() {
                shown.changes.clear();
            }
            let side =
                |object: Option<&Object>, shown: Value| object.map_or(json!(null), |_| shown);
            self.objects.push(ObjectChange {
                resource: resource.clone(),
                object: after.or(before).map(named).unwrap_or_default(),
                shown: [side(before, shown.old), side(after, shown.new)],
                changes: shown
                    .changes
                    .into_iter()
                    .map(|change| (change, BTreeSet::new()))
                    .collect(),
            });
        }
    }
}

fn named(object: &Object) -> String {
    format!("{} {}", object.kind(), object.name())
}
