//! Reads and writes the facts in the context.
//!
//! Origins are parsed only when a step needs them, and only facts that changed are written again.

use std::cell::OnceCell;

use actor::diagnostic::{Diagnostic, Location};
use actor::health::UsedEnvironmentConfig;
use actor::status::ConditionType;
use merge::{FieldPath, Provenance};
use pbjson_types::{Struct, value::Kind};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Call;
use crate::facts::provenance;
use crate::value::{self, into_pb};
use crate::{FACTS_KEY, Note, PlatformInput};

/// The [`Facts`](crate::Facts) without the origins.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct FactsBuffer {
    /// Condition types that a step of this reconcile has returned already.
    pub(super) returned: Vec<String>,
    diagnostics: Vec<Note>,
    /// EnvironmentConfigs that the actor is rendered with.
    environment: Vec<UsedEnvironmentConfig>,
    removed: Vec<Location>,
    /// Platform settings of the input of resolve-flavors.
    pub(super) platform_input: Option<PlatformInput>,
    /// Origins of the fields, once a step has read them.
    #[serde(skip)]
    origins: OnceCell<Provenance>,
    /// Differences from the context.
    #[serde(skip)]
    changed: Changed,
}

#[derive(Debug, Default, PartialEq)]
struct Changed {
    /// True if all data of the context is to be removed.
    all: bool,
    origins: bool,
    lists: bool,
}

impl FactsBuffer {
    /// Facts in the context; empty if the context has none or they have another form.
    pub(super) fn read(context: Option<&Struct>) -> Self {
        let facts = context.and_then(|context| value::map(context, &[FACTS_KEY]));
        facts
            .and_then(|facts| value::read(facts).ok())
            .unwrap_or_default()
    }

    /// Remembers that the condition is returned.
    pub(super) fn add_returned(&mut self, r#type: &str) {
        if !self.returned.iter().any(|returned| returned == r#type) {
            self.returned.push(r#type.to_owned());
            self.changed.lists = true;
        }
    }

    /// Adds a diagnostic. The context may hold it already, from this step's previous call.
    pub(super) fn add(&mut self, note: Note) {
        if !self.diagnostics.contains(&note) {
            self.diagnostics.push(note);
            self.changed.lists = true;
        }
    }

    /// Writes what has changed.
    pub(super) fn write(self, context: &mut Struct) {
        if self.changed == Changed::default() {
            return;
        }
        let facts = context.fields.entry(FACTS_KEY.to_owned()).or_default();
        let facts = match &mut facts.kind {
            Some(Kind::StructValue(facts)) if !self.changed.all => facts,
            other => match other.insert(Kind::StructValue(Struct::default())) {
                Kind::StructValue(facts) => facts,
                _ => return,
            },
        };
        let origins = self.origins.into_inner().filter(|_| self.changed.origins);
        let origins = origins.map(|origins| origins.to_json());
        let lists = [
            ("returned", json!(self.returned)),
            ("diagnostics", json!(self.diagnostics)),
            ("environment", json!(self.environment)),
            ("removed", json!(self.removed)),
            ("platformInput", json!(self.platform_input)),
        ];
        for (key, value) in lists.into_iter().chain(origins.map(|it| ("origins", it))) {
            let is_empty = match &value {
                Value::Array(items) => items.is_empty(),
                Value::Object(fields) => fields.is_empty(),
                other => other.is_null(),
            };
            if is_empty {
                facts.fields.remove(key);
            } else {
                facts.fields.insert(key.to_owned(), into_pb(value));
            }
        }
    }
}

impl Call {
    /// Forgets the facts of earlier steps, and those of this one in its call before.
    pub fn forget_facts(&mut self) {
        self.facts = FactsBuffer::default();
        self.facts.changed.all = true;
        self.set_origins(Provenance::default());
    }

    /// Returns which flavor set which field; fields that are absent are the actor's own.
    pub fn origins(&self) -> &Provenance {
        self.facts.origins.get_or_init(|| {
            let context = self.context.as_ref();
            let origins = context.and_then(|context| value::at(context, &[FACTS_KEY, "origins"]));
            origins
                .map(|origins| provenance(&value::pb_to_json(origins)))
                .unwrap_or_default()
        })
    }

    /// Sets which flavor set which field.
    pub fn set_origins(&mut self, origins: Provenance) {
        self.facts.origins = OnceCell::from(origins);
        self.facts.changed.origins = true;
    }

    /// EnvironmentConfigs that the actor is rendered with.
    pub fn environment(&self) -> &[UsedEnvironmentConfig] {
        &self.facts.environment
    }

    /// Sets the EnvironmentConfigs that the actor is rendered with.
    pub fn set_environment(&mut self, environment: Vec<UsedEnvironmentConfig>) {
        self.facts.environment = environment;
        self.facts.changed.lists = true;
    }

    /// Sets the items of flavors' lists that were removed before the merge.
    pub fn set_removed(&mut self, removed: Vec<Location>) {
        self.facts.removed = removed;
        self.facts.changed.lists = true;
    }

    /// Sets the platform settings that this step's input gives.
    pub fn set_platform_input(&mut self, input: Option<PlatformInput>) {
        self.facts.platform_input = input;
        self.facts.changed.lists = true;
    }

    /// The document and field that gave `path` of the resolved spec.
    pub fn locate(&self, path: &FieldPath) -> Location {
        Location::in_spec(self.origins(), path).before_removal(&self.facts.removed)
    }

    /// Origin of the field at `path` of the resolved spec, as a message names it.
    pub fn origin(&self, path: &FieldPath) -> String {
        self.locate(path).source.to_string()
    }

    /// The diagnostics of earlier steps, and of this one, each with its condition.
    pub fn notes(&self) -> &[Note] {
        &self.facts.diagnostics
    }

    /// Adds a diagnostic for a condition that report-status owns. With a reason the condition
    /// becomes False; without one its message grows.
    pub fn note(&mut self, condition: ConditionType, reason: Option<&str>, diagnostic: Diagnostic) {
        self.facts.add(Note {
            condition: condition.to_string(),
            reason: reason.map(str::to_owned),
            diagnostic,
        });
    }

    /// Removes the notes for which `is_kept` is not so.
    pub fn retain_notes(&mut self, is_kept: impl FnMut(&Note) -> bool) {
        let before = self.facts.diagnostics.len();
        self.facts.diagnostics.retain(is_kept);
        self.facts.changed.lists |= self.facts.diagnostics.len() != before;
    }
}
