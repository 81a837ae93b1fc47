//! What earlier steps tell, as one call reads it and adds to it.
//!
//! It stays in the context as it came: who set which field is read when somebody asks, and only
//! what has changed is written again.

use std::cell::OnceCell;

use actor::status::ConditionType;
use merge::{FieldPath, Provenance};
use pbjson_types::{Struct, value::Kind};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Call;
use crate::facts::{provenance, teller};
use crate::value::{self, into_pb};
use crate::{FACTS_KEY, Note};

/// The [`Facts`](crate::Facts) without the origins.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Told {
    /// Condition types that a step of this pass has returned already.
    pub(super) returned: Vec<String>,
    notes: Vec<Note>,
    /// Who set which field, once somebody has asked.
    #[serde(skip)]
    origins: OnceCell<Provenance>,
    /// What differs from the context.
    #[serde(skip)]
    changed: Changed,
}

#[derive(Debug, Default, PartialEq)]
struct Changed {
    /// Everything that the context holds is to go.
    all: bool,
    origins: bool,
    lists: bool,
}

impl Told {
    /// What the context holds; nothing where that has another form.
    pub(super) fn read(context: Option<&Struct>) -> Self {
        let told = context.and_then(|context| value::map(context, &[FACTS_KEY]));
        told.and_then(|told| value::read(told).ok())
            .unwrap_or_default()
    }

    /// Remembers that the condition is returned.
    pub(super) fn add_returned(&mut self, r#type: &str) {
        if !self.returned.iter().any(|returned| returned == r#type) {
            self.returned.push(r#type.to_owned());
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
            ("notes", json!(self.notes)),
        ];
        for (key, value) in lists.into_iter().chain(origins.map(|it| ("origins", it))) {
            let is_empty = match &value {
                Value::Array(items) => items.is_empty(),
                Value::Object(fields) => fields.is_empty(),
                _ => false,
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
    /// Forgets what earlier steps, or this one in its call before, have told.
    pub fn forget_facts(&mut self) {
        self.told = Told::default();
        self.told.changed.all = true;
        self.set_origins(Provenance::default());
    }

    /// Which flavor set which field; what is absent is the actor's own.
    pub fn origins(&self) -> &Provenance {
        self.told.origins.get_or_init(|| {
            let context = self.context.as_ref();
            let origins = context.and_then(|context| value::at(context, &[FACTS_KEY, "origins"]));
            origins
                .map(|origins| provenance(&value::pb_to_json(origins)))
                .unwrap_or_default()
        })
    }

    /// Tells which flavor set which field.
    pub fn set_origins(&mut self, origins: Provenance) {
        self.told.origins = OnceCell::from(origins);
        self.told.changed.origins = true;
    }

    /// Who set the field at `path`, as a message names them.
    pub fn origin(&self, path: &FieldPath) -> String {
        teller(self.origins(), path)
    }

    /// What steps have noticed for conditions that report-status owns.
    pub fn notes(&self) -> &[Note] {
        &self.told.notes
    }

    /// Notes something for a condition that report-status owns. With a reason
    /// the condition becomes False; without one its message grows.
    pub fn note(
        &mut self,
        condition: ConditionType,
        reason: Option<&str>,
        message: impl Into<String>,
    ) {
        let note = Note {
            condition: condition.to_string(),
            reason: reason.map(str::to_owned),
            message: message.into(),
        };
        // The context may hold it already, from this step's previous call.
        if !self.told.notes.contains(&note) {
            self.told.notes.push(note);
            self.told.changed.lists = true;
        }
    }

    /// Takes back the notes of which that is not so.
    pub fn retain_notes(&mut self, is_kept: impl FnMut(&Note) -> bool) {
        let before = self.told.notes.len();
        self.told.notes.retain(is_kept);
        self.told.changed.lists |= self.told.notes.len() != before;
    }
}
