//! An existing target, and the objects that its own controller has made.

use std::collections::BTreeMap;

use actor::binding::ObjectReference;
use actor::binding::targets::{Injection, Scale, TargetKind};
use serde_json::Value;

use super::object::{
    controller, display, display_named, failing_condition, is_being_deleted, name, reference,
    selector, text, uid,
};
use super::{Query, QueryResult, QueryResults, Resolved, Unresolved};

/// Group and kind of what makes pods.
pub(super) type Kind = (&'static str, &'static str);

pub(super) const DEPLOYMENT: Kind = ("apps", "Deployment");
pub(super) const STATEFUL_SET: Kind = ("apps", "StatefulSet");

/// An existing target.
pub(super) struct Target<'a> {
    pub(super) row: &'static TargetKind,
    pub(super) object: &'a Value,
}

/// The controller of a target's kind.
pub(super) struct Maker {
    /// Its name in messages.
    pub(super) name: &'static str,
    /// Conditions of the target that explain why an object is not made yet, the most specific first.
    pub(super) conditions: &'static [&'static str],
}

/// Object under the name that the target's controller would give.
pub(super) enum Behind<'a> {
    /// Object of that controller.
    Made(&'a Value),
    /// Another object of that name.
    Foreign(&'a Value),
    /// Nothing.
    Absent,
}

impl<'a> Target<'a> {
    pub(super) fn name(&self) -> &'a str {
        name(self.object)
    }

    /// The text at a JSON pointer; empty where there is none.
    pub(super) fn text(&self, pointer: &str) -> &'a str {
        text(self.object, pointer)
    }

    /// In the version in which it was read.
    pub(super) fn reference(&self) -> ObjectReference {
        reference(self.object)
    }

    /// Returns whether the target's controller has made that object.
    pub(super) fn controls(&self, object: &Value) -> bool {
        controller(object).is_some_and(|(owner, of)| {
            owner.is_same_object(&self.reference()) && !of.is_empty() && of == uid(self.object)
        })
    }

    /// Object of that name.
    pub(super) fn behind(
        &self,
        results: &'a QueryResults,
        (group, kind): Kind,
        name: &str,
    ) -> Result<Behind<'a>, Query> {
        let found = match results.object(group, kind, name)? {
            QueryResult::NotServed => None,
            QueryResult::Objects(objects) => objects.first(),
        };
        Ok(match found {
            Some(object) if self.controls(object) => Behind::Made(object),
            Some(object) => Behind::Foreign(object),
            None => Behind::Absent,
        })
    }

    /// The object that the target's controller has made under that name.
    ///
    /// # Errors
    /// It must be read first, is missing, is being deleted, or belongs to another owner.
    pub(super) fn made(
        &self,
        results: &'a QueryResults,
        maker: &Maker,
        kind: Kind,
        name: &str,
    ) -> Result<&'a Value, Unresolved> {
        match self.behind(results, kind, name)? {
            Behind::Made(object) => self.unless_deleted(object, maker),
            Behind::Foreign(object) => Err(self.foreign(object, maker)),
            Behind::Absent => Err(self.not_made(maker, kind, name)),
        }
    }

    /// That object.
    ///
    /// # Errors
    /// It is being deleted.
    pub(super) fn unless_deleted(
        &self,
        object: &'a Value,
        maker: &Maker,
    ) -> Result<&'a Value, Unresolved> {
        if !is_being_deleted(object) {
            return Ok(object);
        }
        Err(Unresolved::no_workload(format!(
            "{} of {} is being deleted: wait until {} creates it again",
            display(&reference(object)),
            self.reference(),
            maker.name
        )))
    }

    /// The target's controller has not made that object yet.
    pub(super) fn not_made(&self, maker: &Maker, (group, kind): Kind, name: &str) -> Unresolved {
        let wanted = display_named(group, kind, name);
        self.waits(maker, &format!("has not made {wanted} yet"))
    }

    /// The target's controller has yet to do something; a condition of the target may explain it.
    pub(super) fn waits(&self, maker: &Maker, what: &str) -> Unresolved {
        let target = self.reference();
        let why = match failing_condition(self.object, maker.conditions) {
            Some((condition, cause)) => {
                format!("condition {condition} of {target} reports: {cause}")
            }
            None => format!("see the status of {target}"),
        };
        Unresolved::no_workload(format!("{} {what}: {why}", maker.name))
    }

    /// Another object has the name that the target's controller would give.
    pub(super) fn foreign(&self, object: &Value, maker: &Maker) -> Unresolved {
        let (taken, target) = (display(&reference(object)), self.reference());
        let message = match controller(object) {
            Some((owner, _)) if owner.is_same_object(&target) => {
                format!("{taken} belongs to an earlier {target}: wait until it is deleted")
            }
            Some((owner, _)) => format!(
                "{taken} belongs to {}, not to {target}: rename one of them, for {} wants that name",
                display(&owner),
                maker.name
            ),
            None => format!(
                "{taken} does not belong to {target}: rename or delete it, for {} wants that name",
                maker.name
            ),
        };
        Unresolved::no_workload(message)
    }

    /// The target whose pods a Deployment or StatefulSet makes.
    pub(super) fn run_by(&self, workload: &Value, url: Option<String>) -> Resolved {
        let resolved = self.made_by(workload, selector(workload), url);
        Resolved {
            injection: resolved.injection.and_then(|()| followable(workload)),
            ..resolved
        }
    }

    /// The target whose pods an object makes, with these labels.
    pub(super) fn labelled_by(
        &self,
        object: &Value,
        labels: &[(&str, &str)],
        url: Option<String>,
    ) -> Resolved {
        let labels = labels.iter();
        let labels = labels.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        self.made_by(object, labels.collect(), url)
    }

    fn made_by(
        &self,
        object: &Value,
        pod_selector: BTreeMap<String, String>,
        url: Option<String>,
    ) -> Resolved {
        let workload = reference(object);
        Resolved {
            uid: uid(object).to_owned(),
            pod_selector,
            url,
            scale: match self.row.scale {
                Scale::Target => Ok(self.reference()),
                Scale::Workload => Ok(workload.clone()),
                Scale::Nothing(reason) => Err(reason.to_owned()),
            },
            injection: self.injection(),
            workload,
        }
    }

    /// Returns whether containers can be injected into pods of the kind.
    fn injection(&self) -> Result<(), String> {
        match self.row.injection {
            Injection::Possible | Injection::Fragile(_) => Ok(()),
            Injection::Refused(reason) => Err(reason.to_owned()),
        }
    }
}

/// Returns whether labels alone select the pods.
fn followable(workload: &Value) -> Result<(), String> {
    if !selector(workload).is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} selects its pods by expressions (spec.selector.matchExpressions), and they can be followed by labels alone",
        reference(workload)
    ))
}

/// The controller of an object, where its kind is a row of the table.
pub(super) fn known_controller(object: &Value) -> Option<(&'static TargetKind, ObjectReference)> {
    let (owner, _) = controller(object)?;
    Some((TargetKind::find(&owner.api_version, &owner.kind)?, owner))
}
