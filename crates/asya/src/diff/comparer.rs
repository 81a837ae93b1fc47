//! One actor on both sides, and what of all that differs makes the difference.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::changes::{self, Place, between};
use super::effects::Objects;
use super::side::Sides;
use super::{ActorChange, ActorId, Fate, FieldChange, Side, Source};
use crate::pass::{self, Pass, Picture, Refusal, objects, pass};
use pipeline::Object;

/// What comes of one actor.
pub(super) enum Verdict {
    Same,
    Changed(Box<ActorChange>),
    Unknown(String),
}

/// One actor on both sides.
pub(super) struct Comparer<'a> {
    pub(super) sides: Sides<'a>,
    pub(super) id: &'a ActorId,
    /// What differs and may have to do with it.
    pub(super) sources: BTreeSet<Source>,
}

impl<'a> Comparer<'a> {
    /// Renders it on both sides.
    pub(super) fn compare(self) -> Verdict {
        let Sides { old, new } = self.sides;
        let none = Objects::new();
        let fresh = |side: &'a Side| {
            let inputs = self.sides.inputs(self.id, |_| side, &none);
            inputs.map_or_else(Objects::new, |inputs| objects(&inputs, &side.functions))
        };
        let fresh_old = fresh(old);
        let mut observed: Objects = fresh_old.clone().into_iter().map(as_applied).collect();
        observed.extend(new.observed(self.id));
        observed.extend(old.observed(self.id));
        let run = |side: &'a Side| {
            let inputs = self.sides.inputs(self.id, |_| side, &observed)?;
            Some(pass(&inputs, &side.functions))
        };
        match (run(old), run(new)) {
            (Some(Pass::Rendered(before)), Some(Pass::Rendered(after))) => {
                let fresh = [fresh_old, fresh(new)];
                self.both(&before, &after, [&fresh[0], &fresh[1]], &observed)
            }
            (before, Some(Pass::Refused(refusal))) => self.refused(before, refusal, &observed),
            (before, Some(Pass::Rendered(after))) => {
                let mut change = self.change(Fate::Added);
                if let Some(Pass::Refused(refusal)) = before {
                    // Of what there is, and whether it differs, nothing is known.
                    change.fate = Fate::Mended;
                    change.faults = refusal.messages;
                } else {
                    change.add(&none, &after.objects, [&none, &after.objects]);
                }
                change.warnings = after.notes;
                Verdict::Changed(Box::new(change))
            }
            (Some(before), None) => {
                let mut change = self.change(Fate::Removed);
                if let Pass::Rendered(before) = before {
                    change.add(&before.objects, &none, [&none, &none]);
                }
                Verdict::Changed(Box::new(change))
            }
            (None, None) => Verdict::Same,
        }
    }

    fn change(&self, fate: Fate) -> ActorChange {
        ActorChange {
            id: self.id.clone(),
            fate,
            fields: Vec::new(),
            objects: Vec::new(),
            pods: Vec::new(),
            queue: Vec::new(),
            faults: Vec::new(),
            contradictions: Vec::new(),
            warnings: Vec::new(),
            sources: self.sources.clone(),
        }
    }

    fn refused(&self, before: Option<Pass>, refusal: Refusal, observed: &Objects) -> Verdict {
        let fate = match before {
            Some(Pass::Refused(before)) if before == refusal => {
                let reason = refusal.messages.into_iter().next();
                return Verdict::Unknown(reason.unwrap_or_default());
            }
            Some(Pass::Refused(_)) => Fate::RefusedOtherwise,
            _ => Fate::Refused,
        };
        let mut change = self.change(fate);
        change.faults = refusal.messages;
        change.contradictions = refusal.contradictions;
        let alone = self.alone(observed, |pass| matches!(pass, Some(Pass::Refused(_))));
        let causes = alone.into_iter().filter(|(_, is_refused)| *is_refused);
        change.blame(causes.map(|(source, _)| source).collect());
        Verdict::Changed(Box::new(change))
    }

    /// An actor that is rendered on both sides.
    fn both(
        &self,
        before: &Picture,
        after: &Picture,
        fresh: [&Objects; 2],
        observed: &Objects,
    ) -> Verdict {
        let mut change = self.change(Fate::Changed);
        change.add(&before.objects, &after.objects, fresh);
        let is_new = |note: &&String| !before.notes.contains(note);
        change.warnings = after.notes.iter().filter(is_new).cloned().collect();
        let specs = [before, after].map(|picture| pass::spec(&picture.fields));
        let fields = changes::shown(&specs[0], &specs[1]).changes;
        change.fields = fields
            .into_iter()
            .map(|change| {
                let origins = |side: &Option<(merge::FieldPath, Value)>, picture: &Picture| {
                    side.as_ref()
                        .map_or_else(Vec::new, |(path, _)| pass::origins(&picture.fields, path))
                };
                FieldChange {
                    old_origins: origins(&change.old, before),
                    new_origins: origins(&change.new, after),
                    change,
                }
            })
            .collect();
        if change.objects.is_empty() && change.queue.is_empty() && change.warnings.is_empty() {
            // Nothing reaches the cluster, such as a default that nobody uses.
            return Verdict::Same;
        }
        self.attribute(&before.objects, observed, &mut change);
        Verdict::Changed(Box::new(change))
    }

    /// Says of each difference what makes it: each thing that alone would.
    fn attribute(&self, before: &Objects, observed: &Objects, change: &mut ActorChange) {
        let alone = self.alone(observed, |pass| match pass {
            Some(Pass::Rendered(after)) => places(before, &after.objects),
            _ => BTreeMap::new(),
        });
        let mut blamed = BTreeSet::new();
        for object in &mut change.objects {
            for (difference, sources) in &mut object.changes {
                let causes = alone.iter().filter(|(_, places)| {
                    let places = places.get(&object.resource);
                    places.is_some_and(|places| places.contains(&difference.place))
                });
                *sources = causes.map(|(source, _)| source.clone()).collect();
                if sources.is_empty() {
                    // Only together, or there is but one.
                    sources.clone_from(&self.sources);
                }
                blamed.extend(sources.iter().cloned());
            }
        }
        change.blame(blamed);
    }

    /// What each thing would do if nothing else differed. Of one there is nothing to
    /// tell apart.
    fn alone<T>(&self, observed: &Objects, look: impl Fn(Option<Pass>) -> T) -> Vec<(Source, T)> {
        if self.sources.len() < 2 {
            return Vec::new();
        }
        let Sides { old, new } = self.sides;
        let found = self.sources.iter().map(|source| {
            let pick = |asked: &Source| if asked == source { new } else { old };
            let inputs = self.sides.inputs(self.id, pick, observed);
            let functions = &pick(&Source::Functions).functions;
            let pass = inputs.map(|inputs| pass(&inputs, functions));
            (source.clone(), look(pass))
        });
        found.collect()
    }
}

/// Where objects differ that are on both sides.
fn places(old: &Objects, new: &Objects) -> BTreeMap<String, BTreeSet<Place>> {
    let both = old.iter().filter_map(|(resource, old)| {
        let new = new.get(resource)?;
        let changes = between(&value(old), &value(new)).into_iter();
        let places = changes.map(|change| change.place).collect();
        Some((resource.clone(), places))
    });
    both.collect()
}

fn value(object: &Object) -> Value {
    Value::Object(object.as_map().clone())
}

/// An object as the cluster has it once Crossplane has applied it: the number of
/// replicas in it is Crossplane's, which later steps ask.
fn as_applied((resource, mut object): (String, Object)) -> (String, Object) {
    if object.get(&["spec", "replicas"]).is_some() {
        let fields = json!([{
            "manager": "apiextensions.crossplane.io/composed",
            "operation": "Apply",
            "fieldsV1": {"f:spec": {"f:replicas": {}}},
        }]);
        let metadata = object.map_mut(&["metadata"]);
        metadata.insert("managedFields".to_owned(), fields);
    }
    (resource, object)
}
