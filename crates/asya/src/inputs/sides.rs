//! Input of `asya diff`: the old and the new side.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use actor::spec::without_machinery;
use actor::{ENVIRONMENT_CONFIG, labels};
use serde_json::{Map, Value};

use super::InputError;
use super::cluster::{Cluster, Scope};
use super::compositions::{is_actor, is_legacy_actor, read};
use super::example::Example;
use super::files::{Files, STANDARD_INPUT, yaml_files};
use crate::diff::{ActorId, Side, Version};
use pipeline::{COMPOSITE, COMPOSITION, Composite, Machinery, Object, RESOURCE_NAME};

/// Where the two sides come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SideArguments {
    /// A cluster whose actors, flavors, settings and composed objects both sides share, unless files
    /// have another version of them. With one namespace, only its actors are compared.
    pub cluster: Option<Cluster>,
    /// Files of both sides, unless a side has another version of an object.
    pub shared: Vec<PathBuf>,
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
}

/// Reads both sides, each for its version. Objects that are neither actors nor used by actors are
/// ignored.
///
/// # Errors
/// When a file or the cluster cannot be read, or neither side has an actor.
pub fn sides(arguments: &SideArguments, versions: [Version; 2]) -> Result<LoadedSides, InputError> {
    let SideArguments {
        shared, old, new, ..
    } = arguments;
    let paths = || shared.iter().chain(old).chain(new);
    let is_standard_input = |path: &&PathBuf| path.as_path() == Path::new(STANDARD_INPUT);
    if paths().filter(is_standard_input).count() > 1 {
        return Err(InputError::SeveralStandardInputs);
    }
    let mut files = Files::default();
    let [own, old, new] = [shared, old, new].map(|paths| contents(paths, &mut files));
    let mut shared = in_cluster(arguments.cluster.as_ref())?;
    shared.extend(own?);
    let [of_old, of_new] = versions;
    let mut old = side(of_old, &shared, &old?, &arguments.namespace)?;
    let mut new = side(of_new, &shared, &new?, &arguments.namespace)?;
    if let Some(Scope::Namespace(name)) = arguments.cluster.as_ref().map(|it| &it.scope) {
        // Those of files too: others would all appear as new.
        for side in [&mut old, &mut new] {
            side.actors.retain(|id, _| id.namespace == *name);
        }
    }
    if old.actors.is_empty() && new.actors.is_empty() {
        let cluster = arguments.cluster.as_ref().map(|_| CLUSTER.to_owned());
        let files = paths().map(|path| path.display().to_string());
        let shown: Vec<String> = cluster.into_iter().chain(files).collect();
        return Err(InputError::NoXr {
            files: shown.join(", "),
        });
    }
    Ok(LoadedSides {
        old,
        new,
        warnings: files.warnings,
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

/// Everything in files, in the YAML files directly in folders, and in examples.
fn contents(paths: &[PathBuf], files: &mut Files) -> Result<Vec<Found>, InputError> {
    let mut found = Vec::new();
    for path in paths {
        let Some(example) = Example::at(path) else {
            for file in yaml_files(path)? {
                take(&file, files, &mut found)?;
            }
            continue;
        };
        take(&example.xr(), files, &mut found)?;
        let xr = found.last().map(|(_, xr)| xr.name().to_owned());
        for file in example.required().into_iter().chain(example.composition()) {
            take(&file, files, &mut found)?;
        }
        if let Some(observed) = example.observed() {
            for mut object in files.objects(&observed)? {
                let labels = object.map_mut(&["metadata", "labels"]);
                let of = labels.entry(COMPOSITE).or_insert(Value::Null);
                if of.is_null() {
                    *of = Value::from(xr.clone());
                }
                found.push((observed.clone(), object));
            }
        }
    }
    Ok(found)
}

fn take(file: &Path, files: &mut Files, found: &mut Vec<Found>) -> Result<(), InputError> {
    let objects = files.objects_of(file)?.into_iter();
    found.extend(objects.map(|object| (file.to_owned(), object)));
    Ok(())
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
                .insert(object.name().to_owned(), config(object));
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
fn owner(object: &Object) -> ActorId {
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
