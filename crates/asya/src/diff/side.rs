//! One side of a comparison: actors and everything that they are rendered from.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use actor::labels;
use actor::names::PLATFORM;
use serde_json::{Map, Value};

use pipeline::{
    Composite, Composition, Functions, Inputs, Machinery, Object, RESOURCE_NAME, Schemas,
};

/// Identity of an actor: `namespace/name` of the object that its user wrote.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ActorId {
    /// Its namespace, or that of its claim.
    pub namespace: String,
    /// Its name, or that of its claim.
    pub name: String,
}

impl ActorId {
    /// The identity of an actor.
    pub fn of(actor: &Composite) -> Self {
        let xr = actor.object();
        let is_claimed =
            actor.machinery() == Machinery::Legacy && !xr.label(labels::CLAIM_NAME).is_empty();
        let (namespace, name) = if is_claimed {
            (
                xr.label(labels::CLAIM_NAMESPACE),
                xr.label(labels::CLAIM_NAME),
            )
        } else {
            (xr.namespace(), xr.name())
        };
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }
}

impl fmt::Display for ActorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => f.write_str(&self.name),
            namespace => write!(f, "{namespace}/{}", self.name),
        }
    }
}

/// A version of the product: its functions and its Compositions.
#[derive(Debug, Clone)]
pub struct Version {
    /// The functions.
    pub functions: Arc<Functions>,
    /// The Composition of actors, and that of legacy XRs of actors.
    pub compositions: [Composition; 2],
}

/// Actors, flavors, settings, Compositions and functions.
#[derive(Debug, Clone)]
pub struct Side {
    /// The functions. Two sides differ in them unless they share one value.
    pub functions: Arc<Functions>,
    /// The Composition of actors.
    pub composition: Composition,
    /// The Composition of legacy XRs of actors.
    pub legacy_composition: Composition,
    /// The actors.
    pub actors: BTreeMap<ActorId, Composite>,
    /// Flavors and the platform's settings, by name, without metadata of a cluster: one in a cluster
    /// has another uid than the same one in a file, which is no difference.
    pub configs: BTreeMap<String, Arc<Object>>,
    /// Composed objects that exist, by their actor.
    pub observed: BTreeMap<ActorId, Vec<Object>>,
}

impl Side {
    /// The objects of an actor that exist, by composed resource.
    pub(super) fn observed(&self, id: &ActorId) -> BTreeMap<String, Object> {
        let observed = self.observed.get(id).into_iter().flatten();
        observed
            .map(|object| (object.annotation(RESOURCE_NAME).to_owned(), object.clone()))
            .collect()
    }
}

/// The flavors that an actor names.
pub(super) fn flavors(actor: &Composite) -> impl Iterator<Item = &str> {
    let list = actor.object().get(&["spec", "flavors"]);
    let names = list.and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str)
}

/// Source that actors are rendered from and that can change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The actor itself.
    Actor,
    /// The flavor of that name.
    Flavor(String),
    /// The platform's settings.
    Platform,
    /// The Composition.
    Composition,
    /// The version of the functions.
    Functions,
}

impl Source {
    /// The source that an EnvironmentConfig of that name is.
    pub(super) fn of_config(name: &str) -> Self {
        if name == PLATFORM {
            Self::Platform
        } else {
            Self::Flavor(name.to_owned())
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Actor => f.write_str("actor"),
            Self::Flavor(name) => write!(f, "flavor {name}"),
            Self::Platform => f.write_str("platform"),
            Self::Composition => f.write_str("Composition"),
            Self::Functions => f.write_str("functions"),
        }
    }
}

/// Both sides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sides<'a> {
    pub(super) old: &'a Side,
    pub(super) new: &'a Side,
}

impl<'a> Sides<'a> {
    /// The inputs of an actor, with each source from the side that `pick` returns; none if that side
    /// lacks the actor.
    pub(super) fn inputs(
        self,
        id: &ActorId,
        pick: impl Fn(&Source) -> &'a Side,
        observed: &BTreeMap<String, Object>,
    ) -> Option<Inputs> {
        let composite = pick(&Source::Actor).actors.get(id)?.clone();
        let compositions = pick(&Source::Composition);
        let composition = match composite.machinery() {
            Machinery::Modern => &compositions.composition,
            Machinery::Legacy => &compositions.legacy_composition,
        };
        let configs = self.config_names().filter_map(|name| {
            let side = pick(&Source::of_config(name));
            side.configs.get(name).cloned()
        });
        Some(Inputs {
            composition: composition.clone(),
            observed: observed.values().cloned().collect(),
            required: configs.collect(),
            schemas: Schemas::default(),
            context: Map::new(),
            composite,
        })
    }

    /// Sources that differ between the sides, except actors.
    pub(super) fn changed(self) -> BTreeSet<Source> {
        let differs = |name: &&str| self.old.configs.get(*name) != self.new.configs.get(*name);
        let mut changed: BTreeSet<Source> = self
            .config_names()
            .filter(differs)
            .map(Source::of_config)
            .collect();
        if self.old.composition != self.new.composition
            || self.old.legacy_composition != self.new.legacy_composition
        {
            changed.insert(Source::Composition);
        }
        if !Arc::ptr_eq(&self.old.functions, &self.new.functions) {
            changed.insert(Source::Functions);
        }
        changed
    }

    /// Every flavor that an actor of either side names.
    pub(super) fn named_flavors(self) -> BTreeSet<&'a str> {
        let actors = self.old.actors.values().chain(self.new.actors.values());
        actors.flat_map(flavors).collect()
    }

    fn config_names(self) -> impl Iterator<Item = &'a str> {
        let names: BTreeSet<&str> = [self.old, self.new]
            .iter()
            .flat_map(|side| side.configs.keys())
            .map(String::as_str)
            .collect();
        names.into_iter()
    }
}
