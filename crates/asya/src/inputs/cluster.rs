//! Actors of a cluster with flavors, settings and composed objects, read through kubectl.
//!
//! Users of a cluster have kubectl, and it knows how to log in. A client of our own would add TLS and
//! an async runtime to a program that otherwise needs no cluster. This module writes nothing and
//! reads no Secret.

use std::path::PathBuf;
use std::process::Command;

use actor::labels;
use serde_json::Value;

use super::InputError;
use super::documents::{Documents, names_standard_input_twice};
use crate::serde_message::json_problem;
use crate::status::composed_kinds;
use crate::steps::is_own;
use pipeline::Object;

/// Actors; in a cluster with claims, the claims.
const ACTORS: &str = "asyncactors.asya.sh";
/// XRs of claims.
const LEGACY_ACTORS: &str = "xasyncactors.asya.sh";
/// Flavors and the platform's settings.
const CONFIGS: &str = "environmentconfigs.apiextensions.crossplane.io";

/// Live actors to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveQuery {
    /// Files with objects, instead of a cluster.
    pub files: Vec<PathBuf>,
    /// True if folders are read with all folders below them.
    pub recursive: bool,
    /// Names of actors; all actors if empty.
    pub names: Vec<String>,
    /// The cluster and its namespaces.
    pub cluster: Cluster,
}

/// Namespaces of a cluster that kubectl can reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cluster {
    /// Context of the kubeconfig; its current one by default.
    pub context: Option<String>,
    /// Namespaces to read.
    pub scope: Scope,
}

/// Namespaces of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Scope {
    /// Namespace of the kubeconfig's context.
    #[default]
    Own,
    /// The one of that name.
    Namespace(String),
    /// All of them.
    All,
}

/// Reads actors and their composed objects.
///
/// # Errors
/// When a file or the cluster cannot be read.
pub fn live_objects(query: &LiveQuery) -> Result<LiveObjects, InputError> {
    if query.files.is_empty() {
        let mut arguments = vec!["get", ACTORS];
        arguments.extend(query.names.iter().map(String::as_str));
        let mut objects = query.cluster.kubectl(&arguments)?;
        objects.extend(query.cluster.composed(&objects, &[])?);
        return Ok(LiveObjects {
            objects,
            ..LiveObjects::default()
        });
    }
    if names_standard_input_twice(query.files.iter()) {
        return Err(InputError::SeveralStandardInputs);
    }
    let mut documents = Documents::read(&query.files, query.recursive);
    Ok(LiveObjects {
        errors: std::mem::take(&mut documents.errors),
        files: documents.summary.files,
        objects: documents.into_objects().collect(),
    })
}

/// Live actors with their composed objects.
#[derive(Debug, Default)]
pub struct LiveObjects {
    /// The objects.
    pub objects: Vec<Object>,
    /// Files that cannot be read.
    pub errors: Vec<InputError>,
    /// Number of files; 0 for a cluster.
    pub files: usize,
}

/// A package of Asya in a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// `Configuration`, `Function` or `Provider`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Tag or digest of its image.
    pub version: String,
    /// Its condition `Healthy`; none if it is not set.
    pub healthy: Option<bool>,
}

/// Reads the packages of Asya from a cluster: those whose repository is named as ours are.
///
/// # Errors
/// When the cluster cannot be read.
pub fn packages(cluster: &Cluster) -> Result<Vec<Package>, InputError> {
    const KINDS: &str =
        "configurations.pkg.crossplane.io,providers.pkg.crossplane.io,functions.pkg.crossplane.io";
    const OWN: [&str; 4] = ["asya", "asya-one-step", "asya-legacy", "provider-asya"];
    let mut packages = Vec::new();
    for object in cluster.kubectl(&["get", KINDS])? {
        let image = object.get(&["spec", "package"]).and_then(Value::as_str);
        let last = image
            .unwrap_or_default()
            .rsplit('/')
            .next()
            .unwrap_or_default();
        let split = last.split_once('@').or_else(|| last.split_once(':'));
        let (repository, version) = split.unwrap_or((last, "latest"));
        if !OWN.contains(&repository) && !is_own(repository) {
            continue;
        }
        let conditions = object
            .get(&["status", "conditions"])
            .and_then(Value::as_array);
        let healthy = conditions
            .into_iter()
            .flatten()
            .find(|it| it["type"] == "Healthy");
        packages.push(Package {
            kind: object.kind().to_owned(),
            name: object.name().to_owned(),
            version: version.to_owned(),
            healthy: healthy.map(|condition| condition["status"] == "True"),
        });
    }
    Ok(packages)
}

/// Reads the workloads with the sidecar of an actor: its own, else those that it is bound to.
///
/// # Errors
/// When there is no such actor, or the cluster cannot be read.
pub fn workloads_of(cluster: &Cluster, name: &str) -> Result<Vec<Object>, InputError> {
    const KINDS: &str = "deployments.apps,statefulsets.apps";
    let actor = cluster.actor(name)?;
    for label in [labels::ACTOR, labels::BOUND_TO] {
        let selector = format!("{label}={actor}");
        let found = cluster.kubectl(&["get", KINDS, "--selector", &selector])?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

/// Reads the pods of an actor.
///
/// # Errors
/// When there is no such actor, or the cluster cannot be read.
pub fn pods_of(cluster: &Cluster, name: &str) -> Result<Vec<Object>, InputError> {
    let selector = format!("{}={}", labels::ACTOR, cluster.actor(name)?);
    cluster.kubectl(&["get", "pods", "--selector", &selector])
}

impl Cluster {
    /// The name by which labels and queues name the actor with this object name.
    fn actor(&self, name: &str) -> Result<String, InputError> {
        let objects = self.kubectl(&["get", ACTORS, name])?;
        let named = objects.first().and_then(|object| {
            let actor = object.get(&["spec", "actor"]).and_then(Value::as_str);
            actor.filter(|actor| !actor.is_empty()).map(str::to_owned)
        });
        Ok(named.unwrap_or_else(|| name.to_owned()))
    }

    /// Reads actors, flavors, the platform's settings and composed objects.
    pub(super) fn contents(&self) -> Result<Vec<Object>, InputError> {
        let mut actors = self.kubectl(&["get", ACTORS])?;
        if actors.iter().any(is_bound_claim) {
            // Functions render the XR of a claim, not the claim.
            actors.retain(|actor| !is_bound_claim(actor));
            actors.extend(self.kubectl(&["get", LEGACY_ACTORS])?);
        }
        // No function runs for an actor that is being deleted.
        actors.retain(|actor| actor.metadata("deletionTimestamp").is_empty());
        let mut objects = self.kubectl(&["get", CONFIGS])?;
        // Managed fields show whether Crossplane or an autoscaler owns the number of replicas.
        objects.extend(self.composed(&actors, &["--show-managed-fields"])?);
        objects.extend(actors);
        Ok(objects)
    }

    /// Reads the composed objects of actors, with these additional flags.
    fn composed(&self, actors: &[Object], flags: &[&str]) -> Result<Vec<Object>, InputError> {
        let kinds = composed_kinds(actors).join(",");
        if kinds.is_empty() {
            return Ok(Vec::new());
        }
        let arguments = [
            "get",
            &kinds,
            "--selector",
            "app.kubernetes.io/part-of=asya",
        ];
        self.kubectl(&[&arguments, flags].concat())
    }

    fn kubectl(&self, arguments: &[&str]) -> Result<Vec<Object>, InputError> {
        let mut command = Command::new("kubectl");
        command.args(arguments).args(["--output", "json"]);
        match &self.scope {
            Scope::Own => {}
            Scope::Namespace(name) => {
                command.args(["--namespace", name]);
            }
            Scope::All => {
                command.arg("--all-namespaces");
            }
        }
        if let Some(context) = &self.context {
            command.args(["--context", context]);
        }
        let output = command
            .output()
            .map_err(|source| InputError::NoKubectl { source })?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let line = stderr.lines().rfind(|line| !line.trim().is_empty());
            return Err(InputError::Kubectl {
                command: arguments.join(" "),
                problem: line
                    .unwrap_or("it failed without a message")
                    .trim()
                    .to_owned(),
            });
        }
        let document: Value = serde_json::from_slice(&output.stdout).map_err(|source| {
            let problem = format!("its answer is not JSON: {}", json_problem(&source));
            let command = arguments.join(" ");
            InputError::Kubectl { command, problem }
        })?;
        let objects = items(document).into_iter().filter_map(|item| match item {
            Value::Object(map) => Some(Object::from(map)),
            _ => None,
        });
        Ok(objects.collect())
    }
}

/// Returns whether this is a claim of which Crossplane has made an actor.
fn is_bound_claim(actor: &Object) -> bool {
    actor.get(&["spec", "resourceRef"]).is_some()
}

/// The objects of a list, as `kubectl get` writes several; else the document itself.
fn items(mut document: Value) -> Vec<Value> {
    match document["items"].take() {
        Value::Array(items) => items,
        _ => vec![document],
    }
}
