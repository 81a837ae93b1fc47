//! Input of `asya test`: cases with their actors, flavors and settings.

use std::path::{Path, PathBuf};

use actor::names::PLATFORM;
use actor::{ENVIRONMENT_CONFIG, GROUP, KIND as ACTOR, VERSION};
use merge::FieldPath;
use serde::Deserialize;
use serde_json::{Value, json};

use super::files::{Files, located, yaml_files};
use super::positional::{Positional, Xr};
use super::{Arguments, InputError, Shared};
use crate::actor_test::{API_VERSION, ActorTest, Expectation, KIND};
use pipeline::{Inputs, Object};

/// Name of an actor that a case gives as a spec alone.
const NAMELESS: &str = "actor";

/// A case with the inputs of its actor, or why it cannot run.
#[derive(Debug)]
pub struct LoadedTest {
    /// The case.
    pub test: ActorTest,
    /// The inputs of its actor.
    pub inputs: Result<Inputs, InputError>,
}

/// A case as it is written.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Document {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    name: String,
    /// A file or an example, the actor itself, or its spec.
    actor: Value,
    /// Files, folders, or flavors themselves.
    #[serde(default)]
    flavors: Vec<Value>,
    /// A file, the `EnvironmentConfig` itself, or its data.
    platform: Option<Value>,
    /// Composed objects that exist already: files, folders, or objects themselves.
    #[serde(default)]
    observed: Vec<Value>,
    expect: Expectation,
}

/// Reads every case in files, in the YAML files directly in folders, or on the standard
/// input. Other documents are left alone. Paths in a case begin at its file.
///
/// # Errors
/// When a file cannot be read, a case is not of its form, or there is none. What keeps
/// a single case from being run is with the case.
pub fn actor_tests(paths: &[PathBuf], namespace: &str) -> Result<Vec<LoadedTest>, InputError> {
    let mut tests = Vec::new();
    for path in paths {
        for file in yaml_files(path)? {
            for (document, _) in located(&file)? {
                if document.value["kind"] != KIND {
                    continue;
                }
                let fault = |path: FieldPath, fault: String| InputError::Case {
                    path: file.clone(),
                    position: document.positions.of(&path),
                    fault,
                };
                if document.value["apiVersion"] != API_VERSION {
                    let message = format!("{KIND} is of apiVersion {API_VERSION}");
                    return Err(fault(["apiVersion"].into(), message));
                }
                let case: Document = serde_path_to_error::deserialize(&document.value)
                    .map_err(|error| fault(path_of(error.path()), error.inner().to_string()))?;
                if case.expect.is_empty() {
                    let message =
                        "nothing is expected: give objects, absent, spec, error or warnings";
                    return Err(fault(["expect"].into(), message.to_owned()));
                }
                let inputs = inputs(&case, &file, namespace);
                tests.push(LoadedTest {
                    test: ActorTest {
                        name: case.name,
                        file: file.clone(),
                        positions: document.positions,
                        expect: case.expect,
                    },
                    inputs,
                });
            }
        }
    }
    if tests.is_empty() {
        let shown = paths.iter().map(|path| path.display().to_string());
        return Err(InputError::NoTest {
            files: shown.collect::<Vec<_>>().join(", "),
        });
    }
    Ok(tests)
}

fn path_of(path: &serde_path_to_error::Path) -> FieldPath {
    use merge::Segment as Own;
    use serde_path_to_error::Segment;
    let segments = path.iter().map_while(|segment| match segment {
        Segment::Map { key } => Some(Own::from(key.as_str())),
        Segment::Seq { index } => Some(Own::from(*index)),
        Segment::Enum { .. } | Segment::Unknown => None,
    });
    segments.collect::<Vec<_>>().into()
}

/// The inputs of the actor of a case.
fn inputs(case: &Document, file: &Path, namespace: &str) -> Result<Inputs, InputError> {
    let folder = file.parent().unwrap_or_else(|| Path::new(""));
    let mut files = Files::default();
    let mut sources = Sources::default();
    for flavor in &case.flavors {
        sources.add(flavor, folder, file)?;
    }
    match &case.platform {
        Some(Value::Object(data)) if !data.contains_key("kind") => {
            let (api_version, kind) = ENVIRONMENT_CONFIG;
            sources.objects.push(object(&json!({
                "apiVersion": api_version,
                "kind": kind,
                "metadata": {"name": PLATFORM},
                "data": data,
            })));
        }
        Some(platform) => sources.add(platform, folder, file)?,
        None => {}
    }
    let mut observed = Sources::default();
    for existing in &case.observed {
        observed.add(existing, folder, file)?;
    }
    let actors = match &case.actor {
        Value::String(path) => vec![folder.join(path)],
        _ => Vec::new(),
    };
    let mut positional = Positional::read(&actors, &mut files)?;
    match &case.actor {
        Value::String(_) => {}
        Value::Object(actor) if actor.contains_key("kind") => {
            positional.xrs.push(inline(object(&case.actor), file));
        }
        spec => positional.xrs.push(inline(
            object(&json!({
                "apiVersion": format!("{GROUP}/{VERSION}"),
                "kind": ACTOR,
                "metadata": {"name": NAMELESS},
                "spec": spec,
            })),
            file,
        )),
    }
    let found = positional.xrs.len();
    let mut xrs = positional.xrs.into_iter();
    let (Some(xr), None) = (xrs.next(), xrs.next()) else {
        return Err(InputError::ActorCount {
            path: folder.join(case.actor.as_str().unwrap_or_default()),
            found,
        });
    };
    let arguments = Arguments {
        required: sources.paths,
        namespace: namespace.to_owned(),
        ..Arguments::default()
    };
    let (composition, functions) = (positional.composition, positional.functions);
    let shared = Shared::read(&arguments, composition, &functions, &mut files)?;
    let mut inputs = shared.inputs(xr, &arguments, &mut files)?;
    inputs.required.extend(sources.objects);
    for path in &observed.paths {
        inputs.observed.extend(files.objects(path)?);
    }
    inputs.observed.extend(observed.objects);
    Ok(inputs)
}

fn inline(object: Object, file: &Path) -> Xr<'static> {
    Xr {
        file: file.to_owned(),
        object,
        example: None,
    }
}

fn object(document: &Value) -> Object {
    document.as_object().cloned().unwrap_or_default().into()
}

/// Objects that a case contains, and paths that it names.
#[derive(Debug, Default)]
struct Sources {
    paths: Vec<PathBuf>,
    objects: Vec<Object>,
}

impl Sources {
    fn add(&mut self, source: &Value, folder: &Path, file: &Path) -> Result<(), InputError> {
        match source {
            Value::String(path) => self.paths.push(folder.join(path)),
            Value::Object(map) if map.contains_key("kind") => self.objects.push(object(source)),
            _ => {
                return Err(InputError::NoObject {
                    path: file.to_owned(),
                });
            }
        }
        Ok(())
    }
}
