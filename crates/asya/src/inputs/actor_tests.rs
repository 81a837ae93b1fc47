//! Input of `asya test`: cases with their actors, flavors and settings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use actor::names::PLATFORM;
use actor::yaml::{Position, Positions};
use actor::{ENVIRONMENT_CONFIG, GROUP, KIND as ACTOR, VERSION};
use merge::FieldPath;
use serde::Deserialize;
use serde_json::{Value, json};

use super::InputError;
use super::cases::single;
use super::documents::{self, Documents, Role, names_standard_input_twice, position_of};
use super::summary::Summary;
use crate::actor_test::{API_VERSION, ActorTest, Expectation, InlineActor, InvalidCase, KIND};
use crate::serde_message::field_problem;
use pipeline::{Inputs, Object};

/// Name of an actor that a case gives as a spec alone.
const NAMELESS: &str = "actor";

/// A case with the inputs of its actor, or why it cannot run.
#[derive(Debug)]
pub struct LoadedTest {
    /// The case.
    pub test: ActorTest,
    /// The actor, if the case contains it.
    pub inline: Option<InlineActor>,
    /// The inputs of its actor.
    pub inputs: Result<Inputs, InputError>,
}

/// Cases, and what cannot be read.
#[derive(Debug, Default)]
pub struct LoadedTests {
    /// The cases, in the order of their files.
    pub tests: Vec<LoadedTest>,
    /// Invalid cases, and files that cannot be read. Other cases run all the same.
    pub unread: Vec<(InvalidCase, InputError)>,
    /// Counts of what was read.
    pub summary: Summary,
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

/// Reads every case in files and folders. Other objects are ignored. Paths in a case are relative to
/// its file.
///
/// # Errors
/// When there is no case.
pub fn actor_tests(
    paths: &[PathBuf],
    recursive: bool,
    namespace: &str,
) -> Result<LoadedTests, InputError> {
    if names_standard_input_twice(paths.iter()) {
        return Err(InputError::SeveralStandardInputs);
    }
    let mut documents = Documents::read(paths, recursive);
    let mut loaded = LoadedTests {
        unread: documents.errors.drain(..).map(unread).collect(),
        summary: documents.summary,
        ..LoadedTests::default()
    };
    let mut cases = BTreeMap::new();
    let mut read = Files::default();
    for document in documents.all().filter(|it| it.role() == Role::Test) {
        match test(document, namespace, &mut read) {
            // In the order of files, whichever group they are in.
            Ok(test) => {
                let position = document.positions.of(&FieldPath::default());
                cases.insert((document.file.clone(), position, cases.len()), test);
            }
            Err(error) => {
                let (mut case, error) = unread(error);
                let name = document.object.get(&["name"]).and_then(Value::as_str);
                if let Some(name) = name {
                    name.clone_into(&mut case.name);
                }
                loaded.unread.push((case, error));
            }
        }
    }
    loaded.tests = cases.into_values().collect();
    if loaded.tests.is_empty() && loaded.unread.is_empty() {
        let shown = paths.iter().map(|path| path.display().to_string());
        return Err(InputError::NoTest {
            files: shown.collect::<Vec<_>>().join(", "),
            found: loaded.summary,
        });
    }
    Ok(loaded)
}

/// An error of a case or of a file with cases, also as a case that cannot run.
fn unread(error: InputError) -> (InvalidCase, InputError) {
    let (file, position) = match &error {
        InputError::Case { path, position, .. }
        | InputError::NoObject { path, position }
        | InputError::NameNotText { path, position, .. } => (Some(path.clone()), Some(*position)),
        InputError::Yaml { path, source } => (Some(path.clone()), Some(position_of(source))),
        InputError::Read { path, .. } => (Some(path.clone()), None),
        _ => (None, None),
    };
    let name = file.as_ref().map(|file| file.display().to_string());
    let case = InvalidCase {
        name: name.unwrap_or_else(|| "input".to_owned()),
        file,
        position,
        message: error.to_string(),
    };
    (case, error)
}

/// The files and folders that cases in these files name, for `--watch`.
pub fn files_of_tests(paths: &[PathBuf], recursive: bool) -> Vec<PathBuf> {
    let documents = Documents::read(paths, recursive);
    let mut named = Vec::new();
    for document in documents.all().filter(|it| it.role() == Role::Test) {
        let folder = document.file.parent().unwrap_or_else(|| Path::new(""));
        for field in ["actor", "flavors", "platform", "observed"] {
            let value = document.object.get(&[field]);
            let texts: Vec<&str> = match value {
                Some(Value::String(path)) => vec![path],
                Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
                _ => Vec::new(),
            };
            named.extend(texts.into_iter().map(|path| folder.join(path)));
        }
    }
    named
}

fn test(
    document: &documents::Document,
    namespace: &str,
    read: &mut Files,
) -> Result<LoadedTest, InputError> {
    let file = &document.file;
    let problem = |path: FieldPath, problem: String| InputError::Case {
        path: file.clone(),
        position: document.positions.of(&path),
        problem,
    };
    if document.object.api_version() != API_VERSION {
        let message = format!("{KIND} is of apiVersion {API_VERSION}");
        return Err(problem(["apiVersion"].into(), message));
    }
    let case: Document = serde_path_to_error::deserialize(document.object.clone().into_value())
        .map_err(|error| {
            let path = path_of(error.path());
            problem(path, field_problem(&error.inner().to_string()))
        })?;
    if case.expect.is_empty() {
        let message = "nothing is expected: give objects, absent, spec, error or warnings";
        return Err(problem(["expect"].into(), message.to_owned()));
    }
    let inline = inline_actor(&case.actor, &document.positions);
    let object = inline.as_ref().map(|actor| actor.object.clone());
    let inputs = inputs(&case, object, file, &document.positions, namespace, read);
    Ok(LoadedTest {
        test: ActorTest {
            name: case.name,
            file: file.clone(),
            positions: document.positions.clone(),
            expect: case.expect,
        },
        inline,
        inputs,
    })
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

/// The actor that a case contains; none if it names a file.
fn inline_actor(actor: &Value, of_case: &Positions) -> Option<InlineActor> {
    let positions = of_case.inside(&["actor"].into());
    match actor {
        Value::String(_) => None,
        Value::Object(fields) if fields.contains_key("kind") => Some(InlineActor {
            object: object(actor),
            is_spec: false,
            positions,
        }),
        spec => Some(InlineActor {
            object: object(&json!({
                "apiVersion": format!("{GROUP}/{VERSION}"),
                "kind": ACTOR,
                "metadata": {"name": NAMELESS},
                "spec": spec,
            })),
            is_spec: true,
            positions,
        }),
    }
}

/// The inputs of the actor of a case, which may contain the actor.
fn inputs(
    case: &Document,
    inline: Option<Object>,
    file: &Path,
    positions: &Positions,
    namespace: &str,
    read: &mut Files,
) -> Result<Inputs, InputError> {
    let folder = file.parent().unwrap_or_else(|| Path::new(""));
    let mut required = Sources::default();
    for flavor in &case.flavors {
        required.add(flavor, folder, file)?;
    }
    match &case.platform {
        Some(Value::Object(data)) if !data.contains_key("kind") => {
            let (api_version, kind) = ENVIRONMENT_CONFIG;
            required.objects.push(object(&json!({
                "apiVersion": api_version,
                "kind": kind,
                "metadata": {"name": PLATFORM},
                "data": data,
            })));
        }
        Some(platform) => required.add(platform, folder, file)?,
        None => {}
    }
    let mut observed = Sources::default();
    for existing in &case.observed {
        observed.add(existing, folder, file)?;
    }
    let (documents, actor) = match (inline, case.actor.as_str()) {
        (Some(object), _) => (
            Documents::default(),
            documents::Document::inline(file, object, positions.clone()),
        ),
        (None, path) => {
            let path = folder.join(path.unwrap_or_default());
            let mut documents = Documents::read(std::slice::from_ref(&path), false);
            if let Some(error) = documents.errors.pop() {
                return Err(error);
            }
            let actors = documents.all().filter(|it| it.role() == Role::Actor);
            let actors: Vec<documents::Document> = actors.cloned().collect();
            let found = actors.len();
            match <[documents::Document; 1]>::try_from(actors) {
                Ok([actor]) => (documents, actor),
                Err(_) => return Err(InputError::ActorCount { path, found }),
            }
        }
    };
    single(
        &documents,
        &actor,
        required.objects(read)?,
        observed.objects(read)?,
        namespace,
    )
}

fn object(document: &Value) -> Object {
    document.as_object().cloned().unwrap_or_default().into()
}

/// Objects of files that were read for an earlier case: many cases name the same flavors.
type Files = BTreeMap<Vec<PathBuf>, Vec<Arc<Object>>>;

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
                    position: Position { line: 1, column: 1 },
                });
            }
        }
        Ok(())
    }

    /// Its own objects, and those of the paths that it names.
    fn objects(self, read: &mut Files) -> Result<Vec<Arc<Object>>, InputError> {
        let own = self.objects.into_iter().map(Arc::new);
        if let Some(objects) = read.get(&self.paths) {
            return Ok(objects.iter().cloned().chain(own).collect());
        }
        let mut documents = Documents::read(&self.paths, false);
        if let Some(error) = documents.errors.pop() {
            return Err(error);
        }
        let objects: Vec<Arc<Object>> = documents.into_objects().map(Arc::new).collect();
        let all = objects.iter().cloned().chain(own).collect();
        read.insert(self.paths, objects);
        Ok(all)
    }
}
