//! A target that is there, and what its own controller has made of it.

use std::collections::BTreeMap;

use actor::binding::ObjectReference;
use actor::binding::targets::{Injection, Scale, TargetKind};
use serde_json::Value;

use super::object::{
    complaint, controller, is_being_deleted, name, reference, say, say_named, selector, text, uid,
};
use super::{Look, Resolved, Seen, Unresolved, View};

/// Group and kind of what makes pods.
pub(super) type Kind = (&'static str, &'static str);

pub(super) const DEPLOYMENT: Kind = ("apps", "Deployment");
pub(super) const STATEFUL_SET: Kind = ("apps", "StatefulSet");

/// A target that is there.
pub(super) struct Target<'a> {
    pub(super) row: &'static TargetKind,
    pub(super) object: &'a Value,
}

/// The controller of a target's kind.
pub(super) struct Maker {
    /// As messages call it.
    pub(super) name: &'static str,
    /// Conditions of the target that say why something is not made yet, the most telling
    /// first.
    pub(super) conditions: &'static [&'static str],
}

/// What is there under the name that the target's controller would give.
pub(super) enum Behind<'a> {
    /// What that controller has made.
    Made(&'a Value),
    /// Something of the same name that it has not made.
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

    /// Whether the target's controller has made that object.
    pub(super) fn controls(&self, object: &Value) -> bool {
        controller(object).is_some_and(|(owner, of)| {
            owner.is_same_object(&self.reference()) && !of.is_empty() && of == uid(self.object)
        })
    }

    /// What is there under that name.
    pub(super) fn behind(
        &self,
        view: &'a View,
        (group, kind): Kind,
        name: &str,
    ) -> Result<Behind<'a>, Look> {
        let found = match view.object(group, kind, name)? {
            Seen::NotServed => None,
            Seen::Objects(objects) => objects.first(),
        };
        Ok(match found {
            Some(object) if self.controls(object) => Behind::Made(object),
            Some(object) => Behind::Foreign(object),
            None => Behind::Absent,
        })
    }

    /// What the target's controller has made under that name.
    ///
    /// # Errors
    /// It is to be read first, is not there, goes away, or is somebody else's.
    pub(super) fn made(
        &self,
        view: &'a View,
        maker: &Maker,
        kind: Kind,
        name: &str,
    ) -> Result<&'a Value, Unresolved> {
        match self.behind(view, kind, name)? {
            Behind::Made(object) => self.lasting(object, maker),
            Behind::Foreign(object) => Err(self.foreign(object, maker)),
            Behind::Absent => Err(self.not_made(maker, kind, name)),
        }
    }

    /// That object, unless it goes away.
    pub(super) fn lasting(
        &self,
        object: &'a Value,
        maker: &Maker,
    ) -> Result<&'a Value, Unresolved> {
        if !is_being_deleted(object) {
            return Ok(object);
        }
        Err(Unresolved::no_workload(format!(
            "{} of {} is being deleted: wait until {} makes it anew",
            say(&reference(object)),
            self.reference(),
            maker.name
        )))
    }

    /// The target's controller has not made that object yet.
    pub(super) fn not_made(&self, maker: &Maker, (group, kind): Kind, name: &str) -> Unresolved {
        let wanted = say_named(group, kind, name);
        self.waits(maker, &format!("has not made {wanted} yet"))
    }

    /// The target's controller has yet to do something; what keeps it, the target's own
    /// conditions say best.
    pub(super) fn waits(&self, maker: &Maker, what: &str) -> Unresolved {
        let target = self.reference();
        let why = match complaint(self.object, maker.conditions) {
            Some((condition, words)) => format!("condition {condition} of {target} says: {words}"),
            None => format!("see the status of {target}"),
        };
        Unresolved::no_workload(format!("{} {what}: {why}", maker.name))
    }

    /// Something has the name that the target's controller would give.
    pub(super) fn foreign(&self, object: &Value, maker: &Maker) -> Unresolved {
        let (taken, target) = (say(&reference(object)), self.reference());
        let message = match controller(object) {
            Some((owner, _)) if owner.is_same_object(&target) => {
                format!("{taken} belongs to an earlier {target}: wait until it is gone")
            }
            Some((owner, _)) => format!(
                "{taken} belongs to {}, not to {target}: rename one of them, for {} wants that name",
                say(&owner),
                maker.name
            ),
            None => format!(
                "{taken} does not belong to {target}: rename or delete it, for {} wants that name",
                maker.name
            ),
        };
        Unresolved::no_workload(message)
    }

    /// The pods are made by the template of that Deployment or StatefulSet.
    pub(super) fn run_by(&self, workload: &Value, url: Option<String>) -> Resolved {
        let resolved = self.made_by(workload, selector(workload), url);
        Resolved {
            injection: resolved.injection.and_then(|()| followable(workload)),
            ..resolved
        }
    }

    /// The pods are made by that object, and have these labels.
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

    /// Whether the kind lets containers into its pods at all.
    fn injection(&self) -> Result<(), String> {
        match self.row.injection {
            Injection::Possible | Injection::Fragile(_) => Ok(()),
            Injection::Refused(reason) => Err(reason.to_owned()),
        }
    }
}

/// Whether the pods can be told from others by labels.
fn followable(workload: &Value) -> Result<(), String> {
    if !selector(workload).is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} selects its pods by expressions (spec.selector.matchExpressions), and they can be followed by labels alone",
        reference(workload)
    ))
}

/// The row of what controls an object, where that is a kind of the table.
pub(super) fn known_controller(object: &Value) -> Option<(&'static TargetKind, ObjectReference)> {
    let (owner, _) = controller(object)?;
    Some((TargetKind::find(&owner.api_version, &owner.kind)?, owner))
}
