//! Input of `asya render` and `asya explain`: XRs with everything that rendering them needs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pipeline::{Composite, Inputs, Machinery, Object, Schemas, Xrd};
use serde_json::{Map, Value};

use super::InputError;
use super::compositions::{Compositions, is_legacy_actor};
use super::documents::{Document, Documents, Group, Role, names_standard_input_twice};
use super::error::no_xr;
use super::files::{json_files, read};
use super::sides::owner;
use super::summary::Summary;

/// Folder of OpenAPI documents beside `xr.yaml`.
const SCHEMAS: &str = "schemas";

/// Paths and values from the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments {
    /// Files and folders with objects of all kinds; `-` is standard input.
    pub files: Vec<PathBuf>,
    /// True if folders are read with all folders below them.
    pub recursive: bool,
    /// Files and folders with objects that functions can require; they win over those in `files`.
    pub required: Vec<PathBuf>,
    /// File or folder with composed objects that exist; it wins over those in `files`.
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
    /// Files and documents that cannot be read.
    pub errors: Vec<InputError>,
    /// Warnings about the files.
    pub warnings: Vec<String>,
    /// Counts of what was read.
    pub summary: Summary,
}

/// One XR with its inputs.
#[derive(Debug)]
pub struct Case {
    /// File and object, as messages name the case.
    pub name: String,
    /// The file.
    pub file: PathBuf,
    /// The inputs, or why they cannot be read.
    pub inputs: Result<Inputs, InputError>,
}

/// Reads XRs and their inputs.
///
/// # Errors
/// Errors that concern all XRs, and input without an XR. An error of one XR is in its [`Case`], an
/// error of a file in `errors`.
pub fn load(arguments: &Arguments) -> Result<Loaded, InputError> {
    let paths = arguments.files.iter().chain(&arguments.required);
    if names_standard_input_twice(paths.chain(&arguments.observed)) {
        return Err(InputError::SeveralStandardInputs);
    }
    let mut documents = Documents::read(&arguments.files, arguments.recursive);
    let mut required = Documents::read(&arguments.required, arguments.recursive);
    let mut observed = Documents::read(arguments.observed.as_slice(), arguments.recursive);
    let mut errors = std::mem::take(&mut documents.errors);
    let mut warnings = std::mem::take(&mut documents.warnings);
    let mut summary = documents.summary;
    for other in [&mut required, &mut observed] {
        errors.append(&mut other.errors);
        warnings.append(&mut other.warnings);
        summary = summary.and(other.summary);
    }
    let xrds = Xrds::read(arguments.xrd.as_deref(), &documents)?;
    let shared = Shared {
        namespace: &arguments.namespace,
        compositions: Compositions::of(&documents.shared, None)?,
        required: required.into_objects().map(Arc::new).collect(),
        observed: (arguments.observed.is_some()).then(|| observed.into_objects().collect()),
        schemas: arguments.schemas.as_deref().map(schemas_in).transpose()?,
        xrds,
        context: context(arguments)?,
    };
    let mut cases = Vec::new();
    let groups = documents.groups.iter().chain([&documents.shared]);
    warn_of_unused(&shared.compositions, documents.all(), &mut warnings);
    for group in groups {
        if group.folder.is_some() {
            let own = Compositions::of(group, None)?;
            warn_of_unused(&own, group.documents.iter(), &mut warnings);
        }
        shared.cases(group, &documents.shared, &mut cases, &mut warnings)?;
    }
    if let (Some(_), count @ 2..) = (&shared.observed, cases.len()) {
        return Err(InputError::ObservedForSeveral { count });
    }
    if cases.is_empty() {
        return Err(match errors.into_iter().next() {
            Some(error) => error,
            None => no_xr(&arguments.files, summary),
        });
    }
    Ok(Loaded {
        cases,
        errors,
        warnings,
        summary,
    })
}

fn warn_of_unused<'a>(
    compositions: &Compositions,
    documents: impl Iterator<Item = &'a Document>,
    warnings: &mut Vec<String>,
) {
    for (name, composes) in compositions.unused(documents.map(|document| &document.object)) {
        warnings.push(format!(
            "Composition {name:?} is not used: no {composes} is among the files"
        ));
    }
}

/// Inputs that all XRs share.
#[derive(Debug)]
struct Shared<'a> {
    namespace: &'a str,
    compositions: Compositions,
    required: Vec<Arc<Object>>,
    observed: Option<Vec<Object>>,
    schemas: Option<Schemas>,
    xrds: Xrds,
    context: Map<String, Value>,
}

impl Shared<'_> {
    /// Adds the XRs of a group with their inputs.
    fn cases(
        &self,
        group: &Group,
        common: &Group,
        cases: &mut Vec<Case>,
        warnings: &mut Vec<String>,
    ) -> Result<(), InputError> {
        let of_group = match group.folder {
            Some(_) => Compositions::of(group, Some(&self.compositions))?,
            None => self.compositions.clone(),
        };
        let is_xr = |document: &&Document| {
            document.role() == Role::Actor || of_group.compose(&document.object)
        };
        let xrs: Vec<&Document> = group.documents.iter().filter(is_xr).collect();
        let schemas = match (&self.schemas, &group.folder) {
            (Some(schemas), _) => schemas.clone(),
            (None, Some(folder)) if folder.join(SCHEMAS).is_dir() => {
                schemas_in(&folder.join(SCHEMAS))?
            }
            _ => Schemas::default(),
        };
        let mut required = configs(group);
        if group.folder.is_some() {
            required.extend(configs(common));
        }
        required.extend(self.required.iter().cloned());
        let observed = self.observed_by_xr(group, common, &xrs, warnings);
        for (xr, observed) in xrs.into_iter().zip(observed) {
            let inputs = self.composite(xr).and_then(|composite| {
                Ok(Inputs {
                    composition: of_group.of_xr(&xr.file, composite.object())?,
                    composite,
                    observed,
                    required: required.clone(),
                    schemas: schemas.clone(),
                    context: self.context.clone(),
                })
            });
            let name = format!("{}: {}", xr.file.display(), xr.object);
            cases.push(Case {
                name,
                file: xr.file.clone(),
                inputs,
            });
        }
        Ok(())
    }

    fn composite(&self, xr: &Document) -> Result<Composite, InputError> {
        let mut object = xr.object.clone();
        if !is_legacy_actor(&object) && xr.role() == Role::Actor && object.namespace().is_empty() {
            object.set_metadata("namespace", self.namespace);
        }
        let machinery = self.xrds.apply(&mut object)?;
        Composite::new(object, machinery).map_err(|source| InputError::Composite {
            path: xr.file.clone(),
            source,
        })
    }

    /// The observed objects of each XR: those of `--observed-resources`, else those among the files
    /// that name it as their owner. In a group with one XR, objects without an owner are its own.
    fn observed_by_xr(
        &self,
        group: &Group,
        common: &Group,
        xrs: &[&Document],
        warnings: &mut Vec<String>,
    ) -> Vec<Vec<Object>> {
        if let Some(observed) = &self.observed {
            return vec![observed.clone(); xrs.len()];
        }
        let mut observed = vec![Vec::new(); xrs.len()];
        let identities: BTreeMap<(String, String), usize> = xrs
            .iter()
            .enumerate()
            .map(|(index, xr)| (self.identity(&xr.object), index))
            .collect();
        let composed = |group: &'_ Group| {
            let documents = group.documents.iter();
            let composed = documents.filter(|it| it.role() == Role::Observed);
            composed.cloned().collect::<Vec<_>>()
        };
        for document in composed(group) {
            let owner = owner(&document.object);
            let index = match identities.get(&(owner.namespace, owner.name.clone())) {
                None if owner.name.is_empty() && xrs.len() == 1 => Some(&0),
                found => found,
            };
            match index {
                Some(index) => observed[*index].push(document.object),
                None => warnings.push(format!(
                    "{}: observed {} is not used: its actor is not among the files",
                    document.file.display(),
                    document.object
                )),
            }
        }
        if group.folder.is_some() {
            for document in composed(common) {
                let owner = owner(&document.object);
                if let Some(index) = identities.get(&(owner.namespace, owner.name)) {
                    observed[*index].push(document.object);
                }
            }
        }
        observed
    }

    /// Namespace and name by which composed objects name their owner.
    fn identity(&self, xr: &Object) -> (String, String) {
        let claim = [actor::labels::CLAIM_NAMESPACE, actor::labels::CLAIM_NAME];
        match claim.map(|key| xr.label(key)) {
            [namespace, name] if !namespace.is_empty() && !name.is_empty() => {
                (namespace.to_owned(), name.to_owned())
            }
            _ => {
                let namespace = match xr.namespace() {
                    "" if !is_legacy_actor(xr) => self.namespace,
                    namespace => namespace,
                };
                (namespace.to_owned(), xr.name().to_owned())
            }
        }
    }
}

/// Objects of a group that functions can require: flavors, settings and objects without a role.
fn configs(group: &Group) -> Vec<Arc<Object>> {
    let roles = [Role::Flavor, Role::Platform, Role::Other];
    let documents = group.documents.iter();
    let configs = documents.filter(|document| roles.contains(&document.role()));
    configs
        .map(|document| Arc::new(document.object.clone()))
        .collect()
}

/// Definitions of XRs.
#[derive(Debug, Default)]
struct Xrds {
    /// The XRD of `--xrd`, for every XR.
    given: Option<(PathBuf, Xrd)>,
    /// XRDs among the files, for XRs of their kind.
    found: Vec<(PathBuf, Xrd)>,
}

impl Xrds {
    fn read(given: Option<&Path>, documents: &Documents) -> Result<Self, InputError> {
        let mut xrds = Self::default();
        if let Some(file) = given {
            let mut objects = Documents::read(&[file.to_owned()], false);
            if let Some(error) = objects.errors.pop() {
                return Err(error);
            }
            let objects: Vec<Object> = objects.into_objects().collect();
            let found = objects.len();
            let [object] = <[Object; 1]>::try_from(objects).map_err(|_| InputError::XrdCount {
                path: file.to_owned(),
                found,
            })?;
            xrds.given = Some((file.to_owned(), xrd(file, object)?));
            return Ok(xrds);
        }
        for document in documents.all() {
            if document.role() == Role::Definition {
                let xrd = xrd(&document.file, document.object.clone())?;
                xrds.found.push((document.file.clone(), xrd));
            }
        }
        Ok(xrds)
    }

    /// Applies the defaults of the XRD; returns where Crossplane keeps its own fields.
    fn apply(&self, xr: &mut Object) -> Result<Machinery, InputError> {
        let of_kind = || self.found.iter().find(|(_, xrd)| xrd.defines(xr));
        let Some((file, xrd)) = self.given.as_ref().or_else(of_kind) else {
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

fn xrd(file: &Path, object: Object) -> Result<Xrd, InputError> {
    Xrd::new(object).map_err(|source| InputError::Xrd {
        path: file.to_owned(),
        source,
    })
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

/// The inputs of the one actor of a case for `asya test`.
pub(super) fn single(
    documents: &Documents,
    actor: &Document,
    required: Vec<Arc<Object>>,
    observed: Vec<Arc<Object>>,
    namespace: &str,
) -> Result<Inputs, InputError> {
    let observed: Vec<Object> = observed.into_iter().map(Arc::unwrap_or_clone).collect();
    let group = documents.groups.first().unwrap_or(&documents.shared);
    let shared = Shared {
        namespace,
        compositions: Compositions::default(),
        required,
        observed: (!observed.is_empty()).then_some(observed),
        schemas: None,
        xrds: Xrds::default(),
        context: Map::new(),
    };
    let compositions = Compositions::of(group, None)?;
    let composite = shared.composite(actor)?;
    let mut required = configs(group);
    required.extend(shared.required.iter().cloned());
    let mut warnings = Vec::new();
    let observed = shared.observed_by_xr(group, &Group::default(), &[actor], &mut warnings);
    Ok(Inputs {
        composition: compositions.of_xr(&actor.file, composite.object())?,
        composite,
        observed: observed.into_iter().next().unwrap_or_default(),
        required,
        schemas: Schemas::default(),
        context: Map::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_without_an_xr_are_an_error() {
        let summary = Summary {
            flavors: 1,
            files: 1,
            ..Summary::default()
        };
        let error = no_xr(&["flavors.yaml".into()], summary);
        assert_eq!(
            error.to_string(),
            "no actor among flavors.yaml: found 1 flavor in 1 file"
        );
    }
}
