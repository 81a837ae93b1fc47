//! From what was typed to what is rendered: the only place that reads files.
//!
//! Positional arguments take their role from what they hold: a Composition, its
//! Functions, and everything else is an XR. So the form of `crossplane composition
//! render` (`XR COMPOSITION FUNCTIONS`) works, and so do several XRs, a folder of
//! them, or an example's folder.

mod bare_keys;
mod error;
mod example;
mod files;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use actor::{GROUP, KIND, VERSION};
use serde_json::{Map, Value};

pub use error::InputError;

use crate::pipeline::{
    COMPOSITION, Composite, Composition, CompositionError, Inputs, Machinery, Object, Schemas, Xrd,
};
use crate::steps::is_own;
use example::Example;
use files::{Files, json_files, read, yaml_files};

/// Kind of a legacy XR, as Crossplane makes it for a claim.
const LEGACY_KIND: &str = "XAsyncActor";
/// The Composition of an `AsyncActor`.
const BUILT_IN: &str = include_str!("../../../../apis/asyncactors.asya.sh/composition.yaml");
/// The Composition of an `XAsyncActor`.
const BUILT_IN_LEGACY: &str =
    include_str!("../../../../apis/xasyncactors.asya.sh/composition.yaml");

/// What was typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments {
    /// Positional arguments; `-` is the standard input.
    pub files: Vec<PathBuf>,
    /// Files and folders with objects that functions may ask for.
    pub required: Vec<PathBuf>,
    /// File or folder with composed objects that exist already.
    pub observed: Option<PathBuf>,
    /// Folder with `OpenAPI` documents.
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

/// What is to be rendered.
#[derive(Debug)]
pub struct Loaded {
    /// Each XR, in the order of the arguments.
    pub cases: Vec<Case>,
    /// What is suspicious, but no error.
    pub warnings: Vec<String>,
}

/// One XR and everything that rendering it depends on.
#[derive(Debug)]
pub struct Case {
    /// File and object, as messages name the case.
    pub name: String,
    /// The inputs, or why there are none.
    pub inputs: Result<Inputs, InputError>,
}

/// Reads everything.
///
/// # Errors
/// Faults that concern every XR. What concerns one of them is in its [`Case`].
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

/// The positional arguments by their roles.
#[derive(Debug, Default)]
struct Positional<'a> {
    xrs: Vec<Xr<'a>>,
    composition: Option<(PathBuf, Object)>,
    /// Name of each Function and the package that it installs.
    functions: BTreeMap<String, String>,
}

/// An XR and where it stands.
#[derive(Debug)]
struct Xr<'a> {
    file: PathBuf,
    object: Object,
    example: Option<Example<'a>>,
}

impl<'a> Positional<'a> {
    fn read(paths: &'a [PathBuf], files: &mut Files) -> Result<Self, InputError> {
        let mut positional = Self::default();
        for path in paths {
            let example = Example::at(path);
            let found = match &example {
                Some(example) => vec![example.xr()],
                None => yaml_files(path)?,
            };
            for file in found {
                for object in files.objects_of(&file)? {
                    positional.take(file.clone(), object, example.clone())?;
                }
            }
        }
        Ok(positional)
    }

    fn take(
        &mut self,
        file: PathBuf,
        object: Object,
        example: Option<Example<'a>>,
    ) -> Result<(), InputError> {
        if (object.api_version(), object.kind()) == COMPOSITION {
            if let Some((_, first)) = &self.composition {
                return Err(InputError::SeveralCompositions {
                    first: first.name().to_owned(),
                    second: object.name().to_owned(),
                });
            }
            self.composition = Some((file, object));
        } else if object.kind() == "Function"
            && object.api_version().starts_with("pkg.crossplane.io/")
        {
            let package = object.get(&["spec", "package"]).and_then(Value::as_str);
            let package = package.unwrap_or_default().to_owned();
            self.functions.insert(object.name().to_owned(), package);
        } else {
            self.xrs.push(Xr {
                file,
                object,
                example,
            });
        }
        Ok(())
    }
}

/// What all XRs share.
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
        let composition = composition.map(|(file, object)| {
            composition_of(&object, functions).map_err(|source| in_file(&file, source))
        });
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

    fn inputs(
        &self,
        xr: Xr<'_>,
        arguments: &Arguments,
        files: &mut Files,
    ) -> Result<Inputs, InputError> {
        let Xr {
            file,
            mut object,
            example,
        } = xr;
        let example = example.as_ref();
        let composition = match example.and_then(Example::composition) {
            Some(own) if self.composition.is_none() => {
                let objects = files.objects_of(&own)?;
                let object = objects.first().cloned().unwrap_or_default();
                let read = composition_of(&object, self.functions);
                Some(read.map_err(|source| in_file(&own, source))?)
            }
            _ => self.composition.clone(),
        };
        let composition = match composition {
            Some(composition) => composition,
            None => built_in(&file, &object)?,
        };
        if is_actor(&object) && object.namespace().is_empty() {
            object.set_metadata("namespace", &arguments.namespace);
        }
        let machinery = match &self.xrd {
            Some((xrd_file, xrd)) => {
                let defaulted = xrd.default_fields(&mut object);
                defaulted.map_err(|source| InputError::Xrd {
                    path: xrd_file.clone(),
                    source,
                })?;
                xrd.machinery()
            }
            None if is_legacy_actor(&object) => Machinery::Legacy,
            None => Machinery::Modern,
        };
        let composite = Composite::new(object, machinery)
            .map_err(|source| InputError::Composite { path: file, source })?;
        let mut required = Vec::new();
        for file in example.map(Example::required).unwrap_or_default() {
            required.extend(files.objects(&file)?);
        }
        required.extend(self.required.iter().cloned());
        let observed = arguments.observed.clone().or_else(|| example?.observed());
        let observed = match observed {
            Some(path) => files.objects(&path)?,
            None => Vec::new(),
        };
        let schemas = match (&self.schemas, example.and_then(Example::schemas)) {
            (Some(schemas), _) => schemas.clone(),
            (None, Some(folder)) => schemas_in(&folder)?,
            (None, None) => Schemas::default(),
        };
        Ok(Inputs {
            composite,
            composition,
            observed,
            required,
            schemas,
            context: self.context.clone(),
        })
    }
}

fn is_actor(object: &Object) -> bool {
    is_of(object, KIND)
}

fn is_legacy_actor(object: &Object) -> bool {
    is_of(object, LEGACY_KIND)
}

fn is_of(object: &Object, kind: &str) -> bool {
    object.kind() == kind && object.api_version() == format!("{GROUP}/{VERSION}")
}

/// The Composition for actors of that kind.
fn built_in(file: &Path, xr: &Object) -> Result<Composition, InputError> {
    let text = if is_actor(xr) {
        BUILT_IN
    } else if is_legacy_actor(xr) {
        BUILT_IN_LEGACY
    } else {
        return Err(InputError::NoActor {
            path: file.to_owned(),
            object: format!("{} {xr}", xr.api_version()).trim().to_owned(),
            expected: format!("{GROUP}/{VERSION} {KIND} or {LEGACY_KIND}"),
            kind: xr.kind().to_owned(),
        });
    };
    let place = "the built-in Composition".to_owned();
    let document = actor::yaml::document(text).map_err(|source| InputError::Yaml {
        path: PathBuf::from(&place),
        source,
    })?;
    let object = match document {
        Value::Object(map) => Object::from(map),
        _ => Object::default(),
    };
    Composition::read(&object).map_err(|source| InputError::Composition { place, source })
}

/// Reads a Composition. Its functions may be called anything in the cluster: a
/// Function object of that name says which package it is.
fn composition_of(
    object: &Object,
    functions: &BTreeMap<String, String>,
) -> Result<Composition, CompositionError> {
    let composition = Composition::read(object)?;
    Ok(
        composition.with_functions(|name| match functions.get(name) {
            Some(package) if !is_own(name) && is_own(repository(package)) => {
                repository(package).to_owned()
            }
            _ => name.to_owned(),
        }),
    )
}

/// The last part of a package's repository: `function-x` of
/// `registry.example.org/team/function-x:v1`.
fn repository(package: &str) -> &str {
    let package = package.split('@').next().unwrap_or_default();
    let last = package.rsplit('/').next().unwrap_or_default();
    last.split(':').next().unwrap_or_default()
}

fn in_file(file: &Path, source: CompositionError) -> InputError {
    InputError::Composition {
        place: file.display().to_string(),
        source,
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
