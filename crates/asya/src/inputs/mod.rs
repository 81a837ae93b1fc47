//! Reading input: files, folders, standard input and clusters. No other module reads files.
//!
//! The objects in positional arguments are sorted by kind: a Composition, its Functions, and XRs. So
//! the form of `crossplane composition render` (`XR COMPOSITION FUNCTIONS`) works, and so do several
//! XRs, a folder of them, or an example's folder.

mod actor_tests;
mod bare_keys;
mod cluster;
mod compositions;
mod error;
mod example;
mod files;
mod positional;
mod sides;
mod sources;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

pub use actor_tests::{LoadedTest, actor_tests};
pub use cluster::{Cluster, LiveQuery, Scope, live_objects};
pub use error::InputError;
pub(crate) use files::bare_key;
pub use sides::{LoadedSides, SideArguments, sides};
pub use sources::{Sources, compositions_of_actors, sources};

pub use compositions::built_in_compositions;
use compositions::{built_in, is_actor, is_legacy_actor};
use example::Example;
use files::{Files, json_files, read};
use pipeline::{Composite, Composition, Inputs, Machinery, Object, Schemas, Xrd};
use positional::{Positional, Xr};

/// Paths and values from the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments {
    /// Positional arguments; `-` is the standard input.
    pub files: Vec<PathBuf>,
    /// Files and folders with objects that functions can require.
    pub required: Vec<PathBuf>,
    /// File or folder with composed objects that exist already.
    pub observed: Option<PathBuf>,
    /// Folder with OpenAPI documents.
    pub schemas: Option<PathBuf>,
    /// File with the XRD.
    pub xrd: Option<PathBuf>,
    /// Keys of the context, and files with their values.
    pub context_files: Vec<(String, PathBuf)>,
    /// Keys of the context and their values; they win over files.
    pub context_values: Vec<(String, String)>,
    /// Namespace of an actor that names none, as `kubectl apply` would give it one.
    pub namespace: String,
}

/// XRs with their inputs.
#[derive(Debug)]
pub struct Loaded {
    /// Each XR, in the order of the arguments.
    pub cases: Vec<Case>,
    /// Warnings about the files.
    pub warnings: Vec<String>,
}

/// One XR with its inputs.
#[derive(Debug)]
pub struct Case {
    /// File and object, as messages name the case.
    pub name: String,
    /// The inputs, or why they cannot be read.
    pub inputs: Result<Inputs, InputError>,
}

/// Reads XRs and their inputs.
///
/// # Errors
/// Errors that concern all XRs. An error of one XR is in its [`Case`].
pub fn load(arguments: &Arguments) -> Result<Loaded, InputError> {
    let mut files = Files::default();
    let positional = Positional::read(&arguments.files, &mut files)?;
    if positional.xrs.is_empty() {
        let shown = arguments
            .files
            .iter()
            .map(|path| path.display().to_string());
        return Err(InputError::NoXr {
            files: shown.collect::<Vec<_>>().join(", "),
        });
    }
    if arguments.observed.is_some() && positional.xrs.len() > 1 {
        return Err(InputError::ObservedForSeveral {
            count: positional.xrs.len(),
        });
    }
    let shared = Shared::read(
        arguments,
        positional.composition,
        &positional.functions,
        &mut files,
    )?;
    let cases = positional.xrs.into_iter().map(|xr| Case {
        name: format!("{}: {}", xr.file.display(), xr.object),
        inputs: shared.inputs(xr, arguments, &mut files),
    });
    Ok(Loaded {
        cases: cases.collect(),
        warnings: files.warnings,
    })
}

/// Inputs that all XRs share.
#[derive(Debug)]
struct Shared<'a> {
    composition: Option<Composition>,
    functions: &'a BTreeMap<String, String>,
    required: Vec<Object>,
    schemas: Option<Schemas>,
    xrd: Option<(PathBuf, Xrd)>,
    context: Map<String, Value>,
}

impl<'a> Shared<'a> {
    fn read(
        arguments: &Arguments,
        composition: Option<(PathBuf, Object)>,
        functions: &'a BTreeMap<String, String>,
        files: &mut Files,
    ) -> Result<Self, InputError> {
        let composition =
            composition.map(|(file, object)| compositions::read(&file, &object, functions));
        let mut required = Vec::new();
        for path in &arguments.required {
            required.extend(files.objects(path)?);
        }
        Ok(Self {
            composition: composition.transpose()?,
            functions,
            required,
            schemas: arguments.schemas.as_deref().map(schemas_in).transpose()?,
            xrd: match &arguments.xrd {
                Some(file) => Some((file.clone(), xrd_in(file, files)?)),
                None => None,
            },
            context: context(arguments)?,
        })
    }

    /// The inputs of one XR. Shared inputs win over those in its example's folder.
    fn inputs(
        &self,
        xr: Xr<'_>,
        arguments: &Arguments,
        files: &mut Files,
    ) -> Result<Inputs, InputError> {
        let composition = self.composition(&xr, files)?;
        let Xr {
            file,
            mut object,
            example,
        } = xr;
        let example = example.as_ref();
        if is_actor(&object) && object.namespace().is_empty() {
            object.set_metadata("namespace", &arguments.namespace);
        }
        let machinery = self.default_fields(&mut object)?;
        let mut required = Vec::new();
        for file in example.map(Example::required).unwrap_or_default() {
            required.extend(files.objects(&file)?);
        }
        required.extend(self.required.iter().cloned());
        let observed = arguments.observed.clone();
        let observed = match observed.or_else(|| example?.observed()) {
            Some(path) => files.objects(&path)?,
            None => Vec::new(),
        };
        let schemas = match (&self.schemas, example.and_then(Example::schemas)) {
            (Some(schemas), _) => schemas.clone(),
            (None, Some(folder)) => schemas_in(&folder)?,
            (None, None) => Schemas::default(),
        };
        Ok(Inputs {
            composite: Composite::new(object, machinery)
                .map_err(|source| InputError::Composite { path: file, source })?,
            composition,
            observed,
            required,
            schemas,
            context: self.context.clone(),
        })
    }

    /// The Composition that is given, else the example's own, else the built-in one.
    fn composition(&self, xr: &Xr<'_>, files: &mut Files) -> Result<Composition, InputError> {
        if let Some(composition) = &self.composition {
            return Ok(composition.clone());
        }
        match xr.example.as_ref().and_then(Example::composition) {
            Some(file) => {
                let objects = files.objects_of(&file)?;
                let object = objects.first().cloned().unwrap_or_default();
                compositions::read(&file, &object, self.functions)
            }
            None => built_in(&xr.file, &xr.object),
        }
    }

    /// Applies the defaults of the XRD; returns where Crossplane keeps its own fields.
    fn default_fields(&self, xr: &mut Object) -> Result<Machinery, InputError> {
        let Some((file, xrd)) = &self.xrd else {
            return Ok(if is_legacy_actor(xr) {
                Machinery::Legacy
            } else {
                Machinery::Modern
            });
        };
        xrd.default_fields(xr).map_err(|source| InputError::Xrd {
            path: file.clone(),
            source,
        })?;
        Ok(xrd.machinery())
    }
}

fn schemas_in(folder: &Path) -> Result<Schemas, InputError> {
    let mut schemas = Schemas::default();
    let files = json_files(folder)?;
    if files.is_empty() {
        return Err(InputError::NoJson {
            folder: folder.to_owned(),
        });
    }
    for path in files {
        match serde_json::from_str(&read(&path)?) {
            Ok(document) => schemas.add(document),
            Err(source) => return Err(InputError::Json { path, source }),
        }
    }
    Ok(schemas)
}

fn xrd_in(file: &Path, files: &mut Files) -> Result<Xrd, InputError> {
    let path = || file.to_owned();
    let objects = files.objects_of(file)?;
    let found = objects.len();
    let mut objects = objects.into_iter();
    match (objects.next(), objects.next()) {
        (Some(object), None) => Xrd::new(object).map_err(|source| InputError::Xrd {
            path: path(),
            source,
        }),
        _ => Err(InputError::XrdCount {
            path: path(),
            found,
        }),
    }
}

/// The context that the first function gets.
fn context(arguments: &Arguments) -> Result<Map<String, Value>, InputError> {
    let mut texts = BTreeMap::new();
    for (key, file) in &arguments.context_files {
        texts.insert(key.clone(), read(file)?);
    }
    texts.extend(arguments.context_values.iter().cloned());
    texts
        .into_iter()
        .map(|(key, text)| match actor::yaml::document(&text) {
            Ok(value) => Ok((key, value)),
            Err(source) => Err(InputError::Context { key, source }),
        })
        .collect()
}
