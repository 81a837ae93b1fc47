//! The Composition that is given, or the built-in one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use actor::{GROUP, KIND, VERSION};
use serde_json::Value;

use super::InputError;
use super::documents::{Group, LEGACY_KIND, Role};
use crate::steps::is_own;
use pipeline::{Composition, Object};

/// The Composition of an `AsyncActor`.
const BUILT_IN: &str = include_str!("../../../../apis/asyncactors.asya.sh/composition.yaml");
/// The Composition of an `XAsyncActor`.
const BUILT_IN_LEGACY: &str =
    include_str!("../../../../apis/xasyncactors.asya.sh/composition.yaml");

/// Returns whether an object is an `AsyncActor`.
pub(super) fn is_actor(object: &Object) -> bool {
    is_of(object, KIND)
}

/// Returns whether an object is what Crossplane makes of an actor's claim.
pub(super) fn is_legacy_actor(object: &Object) -> bool {
    is_of(object, LEGACY_KIND)
}

fn is_of(object: &Object, kind: &str) -> bool {
    object.kind() == kind && object.api_version() == format!("{GROUP}/{VERSION}")
}

/// Compositions by the kind that they compose, and Functions.
#[derive(Debug, Clone, Default)]
pub(super) struct Compositions {
    /// By API version and kind of their XRs.
    given: BTreeMap<(String, String), Composition>,
    /// Packages by the names of Functions.
    functions: BTreeMap<String, String>,
}

impl Compositions {
    /// The Compositions of a group; those of `common` are used for kinds without one.
    ///
    /// # Errors
    /// When a Composition is malformed, or a kind has two.
    pub(super) fn of(group: &Group, common: Option<&Self>) -> Result<Self, InputError> {
        let mut own = Self::default();
        for document in &group.documents {
            if document.role() == Role::Function {
                let package = document.object.get(&["spec", "package"]);
                let package = package.and_then(Value::as_str).unwrap_or_default();
                let name = document.object.name().to_owned();
                own.functions.insert(name, package.to_owned());
            }
        }
        if let Some(common) = common {
            own.functions.extend(common.functions.clone());
        }
        for document in &group.documents {
            if document.role() == Role::Composition {
                let composition = read(&document.file, &document.object, &own.functions)?;
                let second = composition.name().to_owned();
                let [version, kind] = composition.composes().map(str::to_owned);
                if let Some(first) = own.given.insert((version, kind), composition) {
                    return Err(InputError::SeveralCompositions {
                        first: first.name().to_owned(),
                        second,
                    });
                }
            }
        }
        if let Some(common) = common {
            own.given.extend(common.given.clone());
        }
        Ok(own)
    }

    /// Returns whether one of them composes XRs of the object's kind.
    pub(super) fn compose(&self, object: &Object) -> bool {
        self.get(object).is_some()
    }

    fn get(&self, object: &Object) -> Option<&Composition> {
        let key = (object.api_version().to_owned(), object.kind().to_owned());
        self.given.get(&key)
    }

    /// The Composition of an XR: the given one of its kind, else the built-in one.
    pub(super) fn of_xr(&self, file: &Path, xr: &Object) -> Result<Composition, InputError> {
        match self.get(xr) {
            Some(composition) => Ok(composition.clone()),
            None => built_in(file, xr),
        }
    }

    /// Name and composed kind of each Composition that composes none of these XRs.
    pub(super) fn unused<'a>(&self, xrs: impl Iterator<Item = &'a Object>) -> Vec<(&str, String)> {
        let kinds: BTreeSet<(&str, &str)> = xrs.map(|xr| (xr.api_version(), xr.kind())).collect();
        let unused = self
            .given
            .iter()
            .filter(|((version, kind), _)| !kinds.contains(&(version, kind)));
        unused
            .map(|((version, kind), composition)| (composition.name(), format!("{version} {kind}")))
            .collect()
    }
}

/// The Composition for actors of that kind.
fn built_in(file: &Path, xr: &Object) -> Result<Composition, InputError> {
    if is_actor(xr) {
        read_built_in(BUILT_IN)
    } else if is_legacy_actor(xr) {
        read_built_in(BUILT_IN_LEGACY)
    } else {
        Err(InputError::NoActor {
            path: file.to_owned(),
            object: format!("{} {xr}", xr.api_version()).trim().to_owned(),
            expected: format!("{GROUP}/{VERSION} {KIND} or {LEGACY_KIND}"),
        })
    }
}

/// The Composition of an `AsyncActor`, and that of an `XAsyncActor`.
pub(super) fn both_built_in() -> Result<[Composition; 2], InputError> {
    Ok([read_built_in(BUILT_IN)?, read_built_in(BUILT_IN_LEGACY)?])
}

/// The built-in Compositions as documents: of an `AsyncActor`, and of an `XAsyncActor`.
///
/// # Errors
/// When this program is broken.
pub fn built_in_compositions() -> Result<[Object; 2], InputError> {
    Ok([document(BUILT_IN)?, document(BUILT_IN_LEGACY)?])
}

/// Name in place of a file, for built-in documents.
const PLACE: &str = "the built-in Composition";

fn read_built_in(text: &'static str) -> Result<Composition, InputError> {
    // Read once: a file may have thousands of actors.
    static READ: [OnceLock<Composition>; 2] = [const { OnceLock::new() }; 2];
    let place = &READ[usize::from(text == BUILT_IN_LEGACY)];
    if let Some(composition) = place.get() {
        return Ok(composition.clone());
    }
    let composition = read(Path::new(PLACE), &document(text)?, &BTreeMap::new())?;
    Ok(place.get_or_init(|| composition).clone())
}

fn document(text: &str) -> Result<Object, InputError> {
    let document = actor::yaml::document(text).map_err(|source| InputError::Yaml {
        path: PathBuf::from(PLACE),
        source,
    })?;
    Ok(match document {
        Value::Object(map) => Object::from(map),
        _ => Object::default(),
    })
}

/// Reads a Composition. Its functions may be called anything in the cluster: a
/// Function object of that name has its package.
pub(super) fn read(
    file: &Path,
    object: &Object,
    functions: &BTreeMap<String, String>,
) -> Result<Composition, InputError> {
    let composition = Composition::read(object).map_err(|source| InputError::Composition {
        path: file.to_owned(),
        source,
    })?;
    let own = |name: &str| {
        let package = functions.get(name).map(|package| repository(package));
        let known = package.filter(|package| !is_own(name) && is_own(package));
        known.unwrap_or(name).to_owned()
    };
    Ok(composition.with_functions(own))
}

/// The last part of a package's repository: `function-x` of
/// `registry.example.org/team/function-x:v1`.
fn repository(package: &str) -> &str {
    let package = package.split('@').next().unwrap_or_default();
    let last = package.rsplit('/').next().unwrap_or_default();
    last.split(':').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_known_by_the_end_of_its_repository() {
        let cases = [
            ("ghcr.io/team/function-x:v1.0.0", "function-x"),
            ("127.0.0.1:5000/local/function-x@sha256:abc", "function-x"),
            ("function-x", "function-x"),
            ("", ""),
        ];
        for (package, name) in cases {
            assert_eq!(repository(package), name, "{package}");
        }
    }

    #[test]
    fn both_built_in_compositions_run_every_function_of_ours() {
        for text in [BUILT_IN, BUILT_IN_LEGACY] {
            let document = actor::yaml::document(text).unwrap();
            let steps = document["spec"]["pipeline"].as_array().unwrap();
            assert_eq!(steps.len(), 6);
            for step in steps {
                assert!(
                    is_own(step["functionRef"]["name"].as_str().unwrap()),
                    "{step}"
                );
            }
        }
    }
}
