//! Compares one actor on both sides, and finds the source of each difference.

use std::collections::{BTreeMap, BTreeSet};

use actor::diagnostic::Diagnostic;
use function_kit::{Facts, Note};
use serde_json::{Value, json};

use super::changes::{self, Place, between};
use super::effects::Objects;
use super::side::Sides;
use super::{ActorChange, ActorId, ChangeKind, FieldChange, Side, Source};
use crate::diagnostics;
use crate::explain::{Explanation, Field, explain_rendered};
use crate::render_result::{self, Refusal, objects};
use pipeline::{Functions, Inputs, Object, RenderError, Rendered, render};

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

/// An actor that was rendered on one side, with its inputs.
struct Run<'a> {
    inputs: Inputs,
    functions: &'a Functions,
    result: Result<Rendered, RenderError>,
}

impl<'a> Comparer<'a> {
    /// Renders it on both sides. Origins of fields are determined only if something changes: that takes
    /// as long as rendering.
    pub(super) fn compare(self) -> (&'a ActorId, Verdict) {
        (self.id, self.verdict())
    }

    fn verdict(&self) -> Verdict {
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
            Some(Run::of(inputs, &side.functions))
        };
        let (before, after) = (run(old), run(new));
        if let (Some(before), Some(after)) = (&before, &after)
            && let (Ok(before_rendered), Ok(after_rendered)) = (&before.result, &after.result)
        {
            let fresh = [&fresh_old, &fresh(new)];
            let mut change = self.change(ChangeKind::Changed);
            change.add(&before_rendered.composed, &after_rendered.composed, fresh);
            let known = notes(before_rendered);
            change.warnings = notes(after_rendered);
            change.warnings.retain(|note| !known.contains(note));
            if change.objects.is_empty() && change.queue.is_empty() && change.warnings.is_empty() {
                // No object changes: for example an unused default.
                return Verdict::Same;
            }
            change.fields = fields([before, after]);
            self.attribute(&before_rendered.composed, &observed, &mut change);
            return Verdict::Changed(Box::new(change));
        }
        match (before, after) {
            (None, None) => Verdict::Same,
            (before, Some(after)) => match after.result {
                Ok(rendered) => {
                    let mut change = self.change(ChangeKind::Added);
                    change.warnings = notes(&rendered);
                    if let Some(Run {
                        result: Err(error), ..
                    }) = before
                    {
                        // The old objects are unknown, and so is whether they differ.
                        change.kind = ChangeKind::Fixed;
                        change.errors = diagnostics::of_error(&error);
                    } else {
                        change.add(&none, &rendered.composed, [&none, &rendered.composed]);
                    }
                    Verdict::Changed(Box::new(change))
                }
                Err(_) => self.refused(before, &after, &observed),
            },
            (Some(before), None) => {
                let mut change = self.change(ChangeKind::Removed);
                if let Ok(rendered) = &before.result {
                    change.add(&rendered.composed, &none, [&none, &none]);
                }
                Verdict::Changed(Box::new(change))
            }
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

    /// An actor that is refused on the new side.
    fn refused(&self, before: Option<Run<'_>>, after: &Run<'_>, observed: &Objects) -> Verdict {
        let refusal = after.refusal();
        let before = before.map(|before| before.refusal());
        let kind = match before {
            Some(before) if before == refusal => {
                return Verdict::Unknown(refusal.errors);
            }
            Some(before) if !before.errors.is_empty() => ChangeKind::RefusedOtherwise,
            _ => ChangeKind::Refused,
        };
        let mut change = self.change(kind);
        change.errors = refusal.errors;
        change.conflicts = refusal.conflicts;
        let alone = self.alone(observed, |result| matches!(result, Some(Err(_))));
        let causes = alone.into_iter().filter(|(_, is_refused)| *is_refused);
        change.attribute_to(causes.map(|(source, _)| source).collect());
        Verdict::Changed(Box::new(change))
    }

    /// Finds the sources of each difference: every source that causes it alone.
    fn attribute(&self, before: &Objects, observed: &Objects, change: &mut ActorChange) {
        let alone = self.alone(observed, |result| match result {
            Some(Ok(after)) => places(before, &after.composed),
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
        inspect: impl Fn(Option<Result<Rendered, RenderError>>) -> T,
    ) -> Vec<(Source, T)> {
        if self.sources.len() < 2 {
            return Vec::new();
        }
        let Sides { old, new } = self.sides;
        let found = self.sources.iter().map(|source| {
            let pick = |of: &Source| if of == source { new } else { old };
            let inputs = self.sides.inputs(self.id, pick, observed);
            let functions = &pick(&Source::Functions).functions;
            let result = inputs.map(|inputs| render(&inputs, functions));
            (source.clone(), inspect(result))
        });
        found.collect()
    }
}

impl<'a> Run<'a> {
    fn of(inputs: Inputs, functions: &'a Functions) -> Self {
        Self {
            result: render(&inputs, functions),
            inputs,
            functions,
        }
    }

    /// Its fields with their origins, or the conflicts for which it is refused.
    fn explanation(&self) -> Explanation {
        explain_rendered(&self.inputs, self.functions, &self.result).unwrap_or_default()
    }

    /// Reasons why it is refused; without errors if it is rendered.
    fn refusal(&self) -> Refusal {
        match &self.result {
            Ok(_) => Refusal {
                errors: Vec::new(),
                conflicts: Vec::new(),
            },
            Err(error) => Refusal {
                errors: diagnostics::of_error(error),
                conflicts: self.explanation().conflicts,
            },
        }
    }
}

/// Diagnostics in the conditions of a rendered actor.
fn notes(rendered: &Rendered) -> Vec<Note> {
    Facts::from_context(rendered.context.as_ref()).diagnostics
}

/// Fields of the resolved spec, and defaults, that differ, each with its origins.
fn fields(sides: [&Run<'_>; 2]) -> Vec<FieldChange> {
    let [before, after] = sides.map(|run| run.explanation().fields);
    let specs = [&before, &after].map(|fields| render_result::spec(fields));
    let changes = changes::shown(&specs[0], &specs[1]).changes.into_iter();
    changes
        .map(|change| {
            let origins = |side: &Option<(merge::FieldPath, Value)>, fields: &[Field]| {
                side.as_ref()
                    .map_or_else(Vec::new, |(path, _)| render_result::origins(fields, path))
            };
            FieldChange {
                old_origins: origins(&change.old, &before),
                new_origins: origins(&change.new, &after),
                change,
            }
        })
        .collect()
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
