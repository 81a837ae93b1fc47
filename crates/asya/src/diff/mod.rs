//! What a change of actors, flavors or the platform's settings does: which actors
//! change, where, by whom, and what that does to pods and queues that are there.
//!
//! Both sides are rendered by the functions themselves, as on an actor that lives
//! already: what the old side renders counts as what exists, unless it is given. So a
//! live queue keeps its place here as it does in the cluster.
//!
//! Pure: [`crate::inputs`] reads the files.

mod align;
mod changes;
mod comparer;
mod effects;
mod form;
mod side;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

pub use changes::{Change, Place, Step, between};
pub use effects::{Pods, Queue};
pub use form::{json, table, unified};
pub use side::{ActorId, Side, Source, Version};

use self::comparer::{Comparer, Verdict};
use self::effects::Objects;
use self::side::{Sides, flavors};
use crate::explain::{Contradiction, Origin};
use pipeline::Object;

/// What differs between two sides.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comparison {
    /// Flavors and settings that differ.
    pub sources: Vec<SourceChange>,
    /// Actors that something becomes of.
    pub actors: Vec<ActorChange>,
    /// How many actors there are on both sides together.
    pub total: usize,
    /// Actors that are refused on both sides for the same reasons, with the first of
    /// them: nothing is known of what they run with.
    pub unknown: Vec<(ActorId, String)>,
}

impl Comparison {
    /// Whether nothing becomes of any actor.
    pub fn is_empty(&self) -> bool {
        self.actors.is_empty()
    }
}

/// A flavor, or the platform's settings, that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceChange {
    /// Which.
    pub source: Source,
    /// Whether it was there, and still is.
    pub sides: [bool; 2],
    /// How many actors change that name it; of the platform, every one.
    pub changes: usize,
    /// Whether an actor names it; always so of the platform's settings.
    pub is_used: bool,
}

/// What becomes of an actor.
#[derive(Debug, Clone, PartialEq)]
pub struct ActorChange {
    /// The actor.
    pub id: ActorId,
    /// In a word.
    pub fate: Fate,
    /// Fields of the resolved spec, and defaults, that differ.
    pub fields: Vec<FieldChange>,
    /// Objects that differ.
    pub objects: Vec<ObjectChange>,
    /// What becomes of its pods.
    pub pods: Vec<Pods>,
    /// What becomes of its queue.
    pub queue: Vec<Queue>,
    /// Why it is refused now; of what is mended, why it was.
    pub faults: Vec<String>,
    /// Where flavors contradict each other now.
    pub contradictions: Vec<Contradiction>,
    /// What its conditions begin to tell, each with its condition.
    pub warnings: Vec<String>,
    /// What of all that differs has to do with it.
    pub sources: BTreeSet<Source>,
}

/// What becomes of an actor, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It is new.
    Added,
    /// It is deleted, with all that it is made of.
    Removed,
    /// Something of it changes.
    Changed,
    /// It is refused from now on: what runs keeps running and follows no change.
    Refused,
    /// It was refused, and is so for another reason.
    RefusedOtherwise,
    /// It was refused and is rendered now: what it ran with is not known.
    Mended,
}

/// A field of the resolved spec that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldChange {
    /// Where, and the values as they may be shown.
    pub change: Change,
    /// Who set it; none where it is new.
    pub old_origins: Vec<Origin>,
    /// Who sets it; none where it is gone.
    pub new_origins: Vec<Origin>,
}

/// A composed object that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectChange {
    /// Name of the composed resource.
    pub resource: String,
    /// Kind and name of the object.
    pub object: String,
    /// The object on each side, as it may be shown; null where it is not there.
    pub shown: [Value; 2],
    /// Where it differs, and what makes it so. None where it is on one side only.
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
    for id in ids {
        let sources = sources(sides, id, &changed, &named);
        if sources.is_empty() {
            continue;
        }
        let comparer = Comparer { sides, id, sources };
        match comparer.compare() {
            Verdict::Changed(change) => comparison.actors.push(*change),
            Verdict::Unknown(reason) => comparison.unknown.push((id.clone(), reason)),
            Verdict::Same => {}
        }
    }
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

/// What of all that differs may have to do with an actor. A configuration that no
/// actor names as a flavor may be anything, also the platform's by another name.
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

/// Whether something is there on each side.
fn present(sides: Sides<'_>, source: &Source) -> [bool; 2] {
    [sides.old, sides.new].map(|side| match source {
        Source::Actor | Source::Composition | Source::Functions => true,
        Source::Flavor(name) => side.configs.contains_key(name),
        Source::Platform => side.configs.contains_key(actor::names::PLATFORM),
    })
}

impl ActorChange {
    /// Says what has to do with it, where anything is known.
    fn blame(&mut self, sources: BTreeSet<Source>) {
        if !sources.is_empty() {
            self.sources = sources;
        }
    }

    /// Adds what becomes of objects. `fresh` is what a new actor would get on each side.
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
