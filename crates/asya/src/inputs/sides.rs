//! Input of `asya diff`: the old and the new side.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use actor::spec::without_machinery;
use actor::{ENVIRONMENT_CONFIG, labels};
use serde_json::{Map, Value};

use super::InputError;
use super::cluster::{Cluster, Scope};
use super::compositions::{is_actor, is_legacy_actor, read};
use super::documents::{Documents, Role, names_standard_input_twice, role};
use super::error::no_xr;
use super::summary::Summary;
use crate::diff::{ActorId, Side, Version};
use pipeline::{COMPOSITE, COMPOSITION, Composite, Machinery, Object, RESOURCE_NAME};

/// Sources of the two sides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SideArguments {
    /// A cluster whose actors, flavors, settings and composed objects both sides share, unless files
    /// have another version of them. With one namespace, only its actors are compared.
    pub cluster: Option<Cluster>,
    /// Files of both sides, unless a side has another version of an object.
    pub shared: Vec<PathBuf>,
    /// True if folders are read with all folders below them.
    pub recursive: bool,
    /// The old side.
    pub old: Vec<PathBuf>,
    /// The new side.
    pub new: Vec<PathBuf>,
    /// Namespace of an actor that names none.
    pub namespace: String,
}

/// Both sides.
#[derive(Debug)]
pub struct LoadedSides {
    /// The old side.
    pub old: Side,
    /// The new side.
    pub new: Side,
    /// Warnings about the files.
    pub warnings: Vec<String>,
    /// Counts of what was read for both sides.
    pub summary: Summary,
}

/// Reads both sides, each for its version. Objects that are neither actors nor used by actors are
/// ignored.
///
/// # Errors
/// When files or the cluster cannot be read, or neither side has an actor. An actor that cannot be read
/// would appear as removed, so nothing is compared.
pub fn sides(
    arguments: &SideArguments,
    versions: [Version; 2],
) -> Result<LoadedSides, Vec<InputError>> {
    let SideArguments {
        shared, old, new, ..
    } = arguments;
    let paths = shared.iter().chain(old).chain(new);
    if names_standard_input_twice(paths) {
        return Err(vec![InputError::SeveralStandardInputs]);
    }
    let mut contents = Contents::default();
    let read = [shared, old, new].map(|paths| contents.read(paths, arguments.recursive));
    if contents.errors.is_empty() {
        loaded(arguments, versions, read, contents).map_err(|error| vec![error])
    } else {
        Err(contents.errors)
    }
}

/// What files contain beside their objects.
#[derive(Debug, Default)]
struct Contents {
    errors: Vec<InputError>,
    warnings: Vec<String>,
    summary: Summary,
}

impl Contents {
    fn read(&mut self, paths: &[PathBuf], recursive: bool) -> Vec<Found> {
        let mut documents = Documents::read(paths, recursive);
        self.errors.append(&mut documents.errors);
        self.warnings.append(&mut documents.warnings);
        self.summary = self.summary.and(documents.summary);
        found(documents)
    }
}

fn loaded(
    arguments: &SideArguments,
    versions: [Version; 2],
    [own, old, new]: [Vec<Found>; 3],
    contents: Contents,
) -> Result<LoadedSides, InputError> {
    let Contents {
        warnings,
        mut summary,
        ..
    } = contents;
    let mut shared = in_cluster(arguments.cluster.as_ref())?;
    summary.actors += count(&shared, |object| role(object) == Role::Actor);
    summary.flavors += count(&shared, |object| role(object) == Role::Flavor);
    summary.platforms += count(&shared, |object| role(object) == Role::Platform);
    summary.observed += count(&shared, |object| role(object) == Role::Observed);
    shared.extend(own);
    let [of_old, of_new] = versions;
    let mut old = side(of_old, &shared, &old, &arguments.namespace)?;
    let mut new = side(of_new, &shared, &new, &arguments.namespace)?;
    if let Some(Scope::Namespace(name)) = arguments.cluster.as_ref().map(|it| &it.scope) {
        // Those of files too: others would all appear as new.
        for side in [&mut old, &mut new] {
            side.actors.retain(|id, _| id.namespace == *name);
        }
    }
    if old.actors.is_empty() && new.actors.is_empty() {
        summary.actors = 0;
        let cluster = arguments.cluster.as_ref().map(|_| PathBuf::from(CLUSTER));
        let files = [&arguments.shared, &arguments.old, &arguments.new];
        let files = files.into_iter().flatten().cloned();
        let shown: Vec<PathBuf> = cluster.into_iter().chain(files).collect();
        return Err(no_xr(&shown, summary));
    }
    Ok(LoadedSides {
        old,
        new,
        warnings,
        summary,
    })
}

/// An object and its file.
type Found = (PathBuf, Object);

/// Stands for the file of objects from a cluster.
const CLUSTER: &str = "the cluster";

fn in_cluster(cluster: Option<&Cluster>) -> Result<Vec<Found>, InputError> {
    let objects = cluster.map(Cluster::contents).transpose()?;
    let objects = objects.unwrap_or_default().into_iter();
    Ok(objects
        .map(|object| (PathBuf::from(CLUSTER), object))
        .collect())
}

fn count(found: &[Found], is_counted: impl Fn(&Object) -> bool) -> usize {
    found
        .iter()
        .filter(|(_, object)| is_counted(object))
        .count()
}

/// Every object with its file. Observed objects without an owner belong to the only actor of their
/// folder.
fn found(documents: Documents) -> Vec<Found> {
    let mut found = Vec::new();
    for group in [documents.shared].into_iter().chain(documents.groups) {
        let mut actors = group.documents.iter().filter(|it| it.role() == Role::Actor);
        let only = match (actors.next(), actors.next()) {
            (Some(actor), None) => Some(actor.object.name().to_owned()),
            _ => None,
        };
        for document in group.documents {
            let is_observed = document.role() == Role::Observed;
            let mut object = document.object;
            if let (true, Some(actor)) = (is_observed, &only) {
                let labels = object.map_mut(&["metadata", "labels"]);
                let of = labels.entry(COMPOSITE).or_insert(Value::Null);
                if of.is_null() {
                    *of = Value::from(actor.as_str());
                }
            }
            found.push((document.file, object));
        }
    }
    found
}

/// Builds a side; its own objects win over shared ones.
fn side(
    version: Version,
    shared: &[Found],
    own: &[Found],
    namespace: &str,
) -> Result<Side, InputError> {
    let Version {
        functions,
        compositions: [composition, legacy_composition],
    } = version;
    let mut side = Side {
        functions,
        composition,
        legacy_composition,
        actors: BTreeMap::new(),
        configs: BTreeMap::new(),
        observed: BTreeMap::new(),
    };
    let found = || shared.iter().chain(own);
    let functions: BTreeMap<String, String> = found()
        .filter(|(_, object)| object.kind() == "Function")
        .map(|(_, object)| {
            let package = object.get(&["spec", "package"]).and_then(Value::as_str);
            let package = package.unwrap_or_default();
            (object.name().to_owned(), package.to_owned())
        })
        .collect();
    for (file, object) in found() {
        if is_actor(object) || is_legacy_actor(object) {
            let actor = actor(object, namespace).map_err(|source| InputError::Composite {
                path: file.clone(),
                source,
            })?;
            side.actors.insert(ActorId::of(&actor), actor);
        } else if (object.api_version(), object.kind()) == ENVIRONMENT_CONFIG {
            side.configs
                .insert(object.name().to_owned(), Arc::new(config(object)));
        } else if (object.api_version(), object.kind()) == COMPOSITION {
            let composes = object.get(&["spec", "compositeTypeRef", "kind"]);
            let composition = read(file, object, &functions)?;
            match composes.and_then(Value::as_str) {
                Some(actor::KIND) => side.composition = composition,
                _ => side.legacy_composition = composition,
            }
        } else if !object.annotation(RESOURCE_NAME).is_empty() {
            let mut object = object.clone();
            // The UID of an actor that was read elsewhere is another, or none.
            object.map_mut(&["metadata"]).remove("ownerReferences");
            let observed = side.observed.entry(owner(&object));
            observed.or_default().push(object);
        }
    }
    Ok(side)
}

/// An actor as its user wrote it, without fields that the cluster adds.
fn actor(object: &Object, namespace: &str) -> Result<Composite, pipeline::CompositeError> {
    let mut object = object.clone();
    let is_legacy = is_legacy_actor(&object);
    if !is_legacy && object.namespace().is_empty() {
        object.set_metadata("namespace", namespace);
    }
    object.map_mut(&[]).remove("status");
    keep_metadata(&mut object);
    let spec = object.map_mut(&["spec"]);
    *spec = without_machinery(spec.clone(), is_legacy);
    let machinery = if is_legacy {
        Machinery::Legacy
    } else {
        Machinery::Modern
    };
    Composite::new(object, machinery)
}

fn config(object: &Object) -> Object {
    let mut object = object.clone();
    keep_metadata(&mut object);
    object.map_mut(&["metadata"]).remove("annotations");
    object
}

/// Removes metadata that functions do not read.
fn keep_metadata(object: &mut Object) {
    const KEPT: [&str; 4] = ["name", "namespace", "labels", "annotations"];
    let metadata = object.map_mut(&["metadata"]);
    let kept = KEPT.into_iter();
    *metadata = kept
        .filter_map(|key| metadata.remove_entry(key))
        .filter(|(_, value)| !value.as_object().is_some_and(Map::is_empty))
        .collect();
    if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
}

/// The actor that composed an object.
pub(super) fn owner(object: &Object) -> ActorId {
    let claim = [labels::CLAIM_NAMESPACE, labels::CLAIM_NAME].map(|key| object.label(key));
    let [namespace, name] = if claim.iter().all(|text| !text.is_empty()) {
        claim
    } else {
        [object.namespace(), object.label(COMPOSITE)]
    };
    ActorId {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}
