//! Compares one actor on both sides, and finds the source of each difference.

use std::collections::{BTreeMap, BTreeSet};

use actor::diagnostic::Diagnostic;
use function_kit::Note;
use serde_json::{Value, json};

use super::changes::{self, Place, between};
use super::effects::Objects;
use super::side::Sides;
use super::{ActorChange, ActorId, ChangeKind, FieldChange, Side, Source};
use crate::render_result::{self, Refusal, RenderResult, RenderedActor, objects, render_actor};
use pipeline::Object;

/// The result of comparing one actor.
pub(super) enum Verdict {
    Same,
    Changed(Box<ActorChange>),
    Unknown(Vec<Diagnostic>),
}

/// One actor on both sides.
pub(super) struct Comparer<'a> {
    pub(super) sides: Sides<'a>,
    pub(super) id: &'a ActorId,
    /// Changed sources that may have an effect on it.
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
            Some(render_actor(&inputs, &side.functions))
        };
        match (run(old), run(new)) {
            (Some(RenderResult::Rendered(before)), Some(RenderResult::Rendered(after))) => {
                let fresh = [fresh_old, fresh(new)];
                self.both(&before, &after, [&fresh[0], &fresh[1]], &observed)
            }
            (before, Some(RenderResult::Refused(refusal))) => {
                self.refused(before, refusal, &observed)
            }
            (before, Some(RenderResult::Rendered(after))) => {
                let mut change = self.change(ChangeKind::Added);
                if let Some(RenderResult::Refused(refusal)) = before {
                    // The old objects are unknown, and so is whether they differ.
                    change.kind = ChangeKind::Fixed;
                    change.errors = refusal.errors;
                } else {
                    change.add(&none, &after.objects, [&none, &after.objects]);
                }
                change.warnings = after.notes;
                Verdict::Changed(Box::new(change))
            }
            (Some(before), None) => {
                let mut change = self.change(ChangeKind::Removed);
                if let RenderResult::Rendered(before) = before {
                    change.add(&before.objects, &none, [&none, &none]);
                }
                Verdict::Changed(Box::new(change))
            }
            (None, None) => Verdict::Same,
        }
    }

    fn change(&self, kind: ChangeKind) -> ActorChange {
        ActorChange {
            id: self.id.clone(),
            kind,
            fields: Vec::new(),
            objects: Vec::new(),
            pods: Vec::new(),
            queue: Vec::new(),
            errors: Vec::new(),
            conflicts: Vec::new(),
            warnings: Vec::new(),
            sources: self.sources.clone(),
        }
    }

    fn refused(
        &self,
        before: Option<RenderResult>,
        refusal: Refusal,
        observed: &Objects,
    ) -> Verdict {
        let kind = match before {
            Some(RenderResult::Refused(before)) if before == refusal => {
                return Verdict::Unknown(refusal.errors);
            }
            Some(RenderResult::Refused(_)) => ChangeKind::RefusedOtherwise,
            _ => ChangeKind::Refused,
        };
        let mut change = self.change(kind);
        change.errors = refusal.errors;
        change.conflicts = refusal.conflicts;
        let alone = self.alone(observed, |result| {
            matches!(result, Some(RenderResult::Refused(_)))
        });
        let causes = alone.into_iter().filter(|(_, is_refused)| *is_refused);
        change.attribute_to(causes.map(|(source, _)| source).collect());
        Verdict::Changed(Box::new(change))
    }

    /// An actor that is rendered on both sides.
    fn both(
        &self,
        before: &RenderedActor,
        after: &RenderedActor,
        fresh: [&Objects; 2],
        observed: &Objects,
    ) -> Verdict {
        let mut change = self.change(ChangeKind::Changed);
        change.add(&before.objects, &after.objects, fresh);
        let is_new = |note: &&Note| !before.notes.contains(note);
        change.warnings = after.notes.iter().filter(is_new).cloned().collect();
        let specs = [before, after].map(|actor| render_result::spec(&actor.fields));
        let fields = changes::shown(&specs[0], &specs[1]).changes;
        change.fields = fields
            .into_iter()
            .map(|change| {
                let origins = |side: &Option<(merge::FieldPath, Value)>, actor: &RenderedActor| {
                    side.as_ref().map_or_else(Vec::new, |(path, _)| {
                        render_result::origins(&actor.fields, path)
                    })
                };
                FieldChange {
                    old_origins: origins(&change.old, before),
                    new_origins: origins(&change.new, after),
                    change,
                }
            })
            .collect();
        if change.objects.is_empty() && change.queue.is_empty() && change.warnings.is_empty() {
            // No object changes: for example an unused default.
            return Verdict::Same;
        }
        self.attribute(&before.objects, observed, &mut change);
        Verdict::Changed(Box::new(change))
    }

    /// Finds the sources of each difference: every source that causes it alone.
    fn attribute(&self, before: &Objects, observed: &Objects, change: &mut ActorChange) {
        let alone = self.alone(observed, |result| match result {
            Some(RenderResult::Rendered(after)) => places(before, &after.objects),
            _ => BTreeMap::new(),
        });
        let mut causes_of_all = BTreeSet::new();
        for object in &mut change.objects {
            for (difference, sources) in &mut object.changes {
                let causes = alone.iter().filter(|(_, places)| {
                    let places = places.get(&object.resource);
                    places.is_some_and(|places| places.contains(&difference.place))
                });
                *sources = causes.map(|(source, _)| source.clone()).collect();
                if sources.is_empty() {
                    // They cause it only together, or there is only one.
                    sources.clone_from(&self.sources);
                }
                causes_of_all.extend(sources.iter().cloned());
            }
        }
        change.attribute_to(causes_of_all);
    }

    /// Result of each source alone, if nothing else differed; empty if there is only one source.
    fn alone<T>(
        &self,
        observed: &Objects,
        inspect: impl Fn(Option<RenderResult>) -> T,
    ) -> Vec<(Source, T)> {
        if self.sources.len() < 2 {
            return Vec::new();
        }
        let Sides { old, new } = self.sides;
        let found = self.sources.iter().map(|source| {
            let pick = |of: &Source| if of == source { new } else { old };
            let inputs = self.sides.inputs(self.id, pick, observed);
            let functions = &pick(&Source::Functions).functions;
            let result = inputs.map(|inputs| render_actor(&inputs, functions));
            (source.clone(), inspect(result))
        });
        found.collect()
    }
}

/// Places in which objects of both sides differ.
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

/// The object as it is once Crossplane has applied it: Crossplane owns the number of replicas in
/// it, which later steps check.
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
