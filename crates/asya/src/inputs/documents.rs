//! Objects from files and folders, sorted by kind.
//!
//! Every command reads its input through [`Documents`]: actors, flavors, settings, Compositions,
//! Functions, definitions, observed objects and tests may stand in any file, in any order. A folder
//! with `xr.yaml` is a [`Group`] of its own, so that several examples with platform settings of
//! their own can be read at once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use actor::names::PLATFORM;
use actor::yaml::{Located, Position, Positions, YamlError};
use actor::{ENVIRONMENT_CONFIG, KIND as ACTOR};
use merge::{FieldPath, Segment};
use pipeline::{COMPOSITION, FIXED_TIME, Object, RESOURCE_NAME};
use serde_json::Value;

use super::InputError;
use super::bare_keys::bare_keys;
use super::files::{FolderFiles, STANDARD_INPUT, read_input, yaml_files};
use super::stream::Stream;
use super::summary::Summary;
use crate::actor_test::KIND as TEST;

/// Kind of a legacy XR, as Crossplane makes it for a claim.
pub(super) const LEGACY_KIND: &str = "XAsyncActor";
/// The file that makes a folder a group of its own.
const XR: &str = "xr.yaml";

/// An object with its file and the positions of its fields.
#[derive(Debug, Clone)]
pub(super) struct Document {
    /// The file.
    pub(super) file: PathBuf,
    /// The object.
    pub(super) object: Object,
    /// Positions of its fields in the file.
    pub(super) positions: Positions,
    /// Unquoted keys that Kubernetes' tools read as booleans.
    pub(super) bare_keys: Vec<FieldPath>,
}

/// The role of an object, by its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// An actor, or the XR of a claim for one; of any API version.
    Actor,
    /// The platform's settings.
    Platform,
    /// A flavor: any other EnvironmentConfig.
    Flavor,
    /// A Composition.
    Composition,
    /// A Function of a Composition.
    Function,
    /// A CompositeResourceDefinition.
    Definition,
    /// A composed object that exists.
    Observed,
    /// A case for `asya test`.
    Test,
    /// Anything else.
    Other,
}

/// Objects that belong together.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// The folder with `xr.yaml`; none for all other files together.
    pub(super) folder: Option<PathBuf>,
    /// The objects, in the order of their files.
    pub(super) documents: Vec<Document>,
}

/// Documents of files and folders.
#[derive(Debug, Default)]
pub(super) struct Documents {
    /// Objects of files and folders without `xr.yaml`; they belong to every group.
    pub(super) shared: Group,
    /// Folders with `xr.yaml`.
    pub(super) groups: Vec<Group>,
    /// Files and documents that cannot be read.
    pub(super) errors: Vec<InputError>,
    /// Warnings about the files.
    pub(super) warnings: Vec<String>,
    /// Counts of what was read.
    pub(super) summary: Summary,
    /// Objects whose name or namespace is no text; each is among the errors too.
    pub(super) misnamed: Vec<Document>,
    files: BTreeSet<PathBuf>,
}

impl Document {
    /// An object that a case in this file contains.
    pub(super) fn inline(file: &Path, object: Object, positions: Positions) -> Self {
        Self {
            file: file.to_owned(),
            object,
            positions,
            bare_keys: Vec::new(),
        }
    }

    /// Its role.
    pub(super) fn role(&self) -> Role {
        role(&self.object)
    }
}

/// The role of an object.
pub(super) fn role(object: &Object) -> Role {
    let (api_version, kind) = (object.api_version(), object.kind());
    let is_of = |group: &str| {
        let of = api_version.split_once('/').map(|(group, _)| group);
        of == Some(group)
    };
    if [ACTOR, LEGACY_KIND].contains(&kind) {
        Role::Actor
    } else if kind == ENVIRONMENT_CONFIG.1 {
        if object.name() == PLATFORM {
            Role::Platform
        } else {
            Role::Flavor
        }
    } else if (api_version, kind) == COMPOSITION {
        Role::Composition
    } else if kind == "Function" && is_of("pkg.crossplane.io") {
        Role::Function
    } else if kind == "CompositeResourceDefinition" && is_of("apiextensions.crossplane.io") {
        Role::Definition
    } else if kind == TEST {
        Role::Test
    } else if !object.annotation(RESOURCE_NAME).is_empty() {
        Role::Observed
    } else {
        Role::Other
    }
}

impl Documents {
    /// Reads files, folders and standard input. With `recursive`, folders are read with all folders
    /// below them. A file that is given twice is read once.
    pub(super) fn read(paths: &[PathBuf], recursive: bool) -> Self {
        let mut documents = Self::default();
        for path in paths {
            documents.add_path(path, recursive);
        }
        documents.count();
        documents
    }

    /// Every object of the shared files and of all groups.
    pub(super) fn all(&self) -> impl Iterator<Item = &Document> {
        let groups = self.groups.iter().chain([&self.shared]);
        groups.flat_map(|group| &group.documents)
    }

    /// Every object, in the order of shared files, then groups.
    pub(super) fn into_objects(self) -> impl Iterator<Item = Object> {
        let groups = [self.shared].into_iter().chain(self.groups);
        groups.flat_map(|group| group.documents.into_iter().map(|document| document.object))
    }

    fn add_path(&mut self, path: &Path, recursive: bool) {
        if !path.is_dir() {
            self.add_file(path, true, None);
            return;
        }
        let FolderFiles { files, errors } = yaml_files(path, recursive);
        let is_read = errors.is_empty();
        self.errors.extend(errors);
        if files.is_empty() && is_read {
            let folder = path.to_owned();
            self.errors.push(InputError::NoYaml { folder });
        }
        let mut folders: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
        for file in files {
            let folder = file.parent().unwrap_or(path).to_owned();
            folders.entry(folder).or_default().push(file);
        }
        for (folder, files) in folders {
            let is_group = files.iter().any(|file| file.ends_with(XR));
            let group = is_group.then(|| {
                self.groups.push(Group {
                    folder: Some(folder),
                    documents: Vec::new(),
                });
                self.groups.len() - 1
            });
            for file in files {
                self.add_file(&file, false, group);
            }
        }
        self.groups.retain(|group| !group.documents.is_empty());
    }

    /// Reads one file into a group, or the shared one. In a folder, files without Kubernetes
    /// objects and files with the output of render are skipped.
    fn add_file(&mut self, file: &Path, is_named: bool, group: Option<usize>) {
        let identity = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        if !self.files.insert(identity) {
            return;
        }
        let bytes = match read_input(file, is_named) {
            Ok(bytes) => bytes,
            Err(error) => return self.errors.push(error),
        };
        let stream = Stream::read(&bytes);
        let (text, located) = (stream.text, stream.documents);
        let is_readable = stream.errors.is_empty();
        self.errors.extend(stream.errors.into_iter().map(|source| {
            let path = file.to_owned();
            InputError::Yaml { path, source }
        }));
        let has_objects = located.iter().any(|it| is_object(&it.value));
        if !is_named && !has_objects {
            self.summary.skipped += usize::from(is_readable);
            return;
        }
        let found: Vec<Document> = located
            .into_iter()
            .flat_map(|it| self.objects(file, &text, it))
            .collect();
        if !is_named && found.iter().any(|it| is_rendered(&it.object)) {
            self.summary.rendered += 1;
            return;
        }
        self.warn_of_bare_keys(file, &found);
        self.summary.files += usize::from(!found.is_empty());
        let group = group.and_then(|index| self.groups.get_mut(index));
        let documents = &mut group.unwrap_or(&mut self.shared).documents;
        documents.extend(found);
    }

    /// The objects of one document: those of a list, as `kubectl get` writes several, else itself.
    fn objects(&mut self, file: &Path, text: &str, located: Located) -> Vec<Document> {
        let bare_keys = bare_keys(text, &located);
        let Located { value, positions } = located;
        let items = match &value["items"] {
            Value::Array(items) if value["apiVersion"] == "v1" && value["kind"] == "List" => {
                let item = |(index, item): (usize, &Value)| {
                    let path = [Segment::from("items"), index.into()];
                    (item.clone(), path.to_vec())
                };
                items.iter().enumerate().map(item).collect()
            }
            _ => vec![(value, Vec::new())],
        };
        let mut documents = Vec::new();
        for (item, path) in items {
            let positions = positions.inside(&FieldPath::from(path.clone()));
            let position = positions.of(&FieldPath::default());
            let object = match item {
                Value::Object(map) if map.contains_key("kind") => Object::from(map),
                _ => {
                    let path = file.to_owned();
                    self.errors.push(InputError::NoObject { path, position });
                    continue;
                }
            };
            let inside = bare_keys.iter().filter_map(|key| {
                let rest = key.segments().strip_prefix(path.as_slice())?;
                Some(FieldPath::from(rest.to_vec()))
            });
            let document = Document {
                file: file.to_owned(),
                object,
                bare_keys: inside.collect(),
                positions,
            };
            match name_of_other_type(&document) {
                Some(error) => {
                    self.errors.push(error);
                    self.misnamed.push(document);
                }
                None => documents.push(document),
            }
        }
        documents
    }

    fn warn_of_bare_keys(&mut self, file: &Path, documents: &[Document]) {
        let paths = documents.iter().flat_map(|it| &it.bare_keys);
        let keys: BTreeSet<&Segment> = paths.filter_map(|path| path.segments().last()).collect();
        for key in keys {
            if let Segment::Key(key) = key {
                self.warnings
                    .push(format!("{}: {}", file.display(), bare_key(key)));
            }
        }
    }

    fn count(&mut self) {
        let mut summary = self.summary;
        for document in self.all() {
            match document.role() {
                Role::Actor => summary.actors += 1,
                Role::Platform => summary.platforms += 1,
                Role::Flavor => summary.flavors += 1,
                Role::Observed => summary.observed += 1,
                Role::Test => summary.tests += 1,
                Role::Other => summary.others += 1,
                Role::Composition | Role::Function | Role::Definition => {}
            }
        }
        self.summary = summary;
    }
}

/// The message about a bare key.
pub(crate) fn bare_key(key: &str) -> String {
    format!("Kubernetes tools read the key {key:?} as a boolean: put it in quotes")
}

/// Returns whether paths name standard input more than once.
pub(super) fn names_standard_input_twice<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> bool {
    let inputs = paths.filter(|path| path.as_path() == Path::new(STANDARD_INPUT));
    inputs.count() > 1
}

fn is_object(document: &Value) -> bool {
    document.get("kind").is_some() || document.get("apiVersion").is_some()
}

/// Returns whether an object is an XR that `asya render` or `crossplane composition render` wrote: all its
/// conditions have the one time of rendering. Its file is output, not input.
fn is_rendered(object: &Object) -> bool {
    let conditions = object.get(&["status", "conditions"]);
    let conditions = conditions.and_then(Value::as_array);
    role(object) == Role::Actor
        && conditions.is_some_and(|conditions| {
            let mut times = conditions.iter().map(|it| &it["lastTransitionTime"]);
            !conditions.is_empty() && times.all(|time| time == FIXED_TIME)
        })
}

/// The error about a name or namespace that is no text: YAML reads `n` as a boolean and `1` as a
/// number, and the object would count as one without a name.
fn name_of_other_type(document: &Document) -> Option<InputError> {
    let is_other = |field: &&str| {
        let value = document.object.get(&["metadata", field]);
        value.is_some_and(|value| !value.is_string() && !value.is_null())
    };
    let field = ["name", "namespace"].into_iter().find(is_other)?;
    Some(InputError::NameNotText {
        path: document.file.clone(),
        position: document.positions.of(&["metadata", field].into()),
        kind: document.object.kind().to_owned(),
        field,
    })
}

/// The position of an error in YAML; the beginning if it is unknown.
pub(super) fn position_of(error: &YamlError) -> Position {
    let position = match error {
        YamlError::Read { position, .. } => *position,
        YamlError::Write(_) => None,
    };
    position.unwrap_or(Position { line: 1, column: 1 })
}
