//! Actors of a cluster, what they are made from and what they are made of, through
//! kubectl.
//!
//! kubectl is what everybody with a cluster has, and it knows how to log in. A client of
//! our own would bring TLS and an async runtime into a program that else needs no
//! cluster. Nothing here writes, and no Secret is read.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::InputError;
use super::files::{Files, items, yaml_files};
use crate::status::composed_kinds;
use pipeline::Object;

/// Actors, and of a cluster with claims the claims.
const ACTORS: &str = "asyncactors.asya.sh";
/// What Crossplane makes of claims.
const LEGACY_ACTORS: &str = "xasyncactors.asya.sh";
/// Flavors and the platform's settings.
const CONFIGS: &str = "environmentconfigs.apiextensions.crossplane.io";

/// Which actors are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// Files with objects, in place of a cluster.
    pub files: Vec<PathBuf>,
    /// Names of actors; all of them, if there are none.
    pub names: Vec<String>,
    /// Which cluster, and where in it.
    pub cluster: Cluster,
}

/// A cluster, as kubectl knows it, and a part of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cluster {
    /// The context of the kubeconfig; its own, if there is none.
    pub context: Option<String>,
    /// Which namespaces are looked at.
    pub scope: Scope,
}

/// Namespaces of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Scope {
    /// That of the kubeconfig.
    #[default]
    Own,
    /// The one of that name.
    Namespace(String),
    /// All of them.
    All,
}

/// The actors and what they are made of.
///
/// # Errors
/// When a file or the cluster cannot be read.
pub fn live_objects(asked: &Asked) -> Result<Vec<Object>, InputError> {
    if asked.files.is_empty() {
        let mut arguments = vec!["get", ACTORS];
        arguments.extend(asked.names.iter().map(String::as_str));
        let mut objects = asked.cluster.kubectl(&arguments)?;
        objects.extend(asked.cluster.composed(&objects, &[])?);
        return Ok(objects);
    }
    let mut files = Files::default();
    let mut objects = Vec::new();
    for path in &asked.files {
        for file in yaml_files(path)? {
            objects.extend(files.objects_of(&file)?);
        }
    }
    Ok(objects)
}

impl Cluster {
    /// Everything that tells what actors come to: they themselves, flavors and the
    /// platform's settings, and what the actors are made of.
    pub(super) fn contents(&self) -> Result<Vec<Object>, InputError> {
        let mut actors = self.kubectl(&["get", ACTORS])?;
        if actors.iter().any(is_bound_claim) {
            // What is rendered is not the claim, but what Crossplane made of it.
            actors.retain(|actor| !is_bound_claim(actor));
            actors.extend(self.kubectl(&["get", LEGACY_ACTORS])?);
        }
        // No function is asked about an actor that is being deleted.
        actors.retain(|actor| actor.metadata("deletionTimestamp").is_empty());
        let mut objects = self.kubectl(&["get", CONFIGS])?;
        // Whose the number of replicas is, Crossplane's or an autoscaler's, only they say.
        objects.extend(self.composed(&actors, &["--show-managed-fields"])?);
        objects.extend(actors);
        Ok(objects)
    }

    /// The objects that actors are made of, asked for with these flags too.
    fn composed(&self, actors: &[Object], flags: &[&str]) -> Result<Vec<Object>, InputError> {
        let kinds = composed_kinds(actors).join(",");
        if kinds.is_empty() {
            return Ok(Vec::new());
        }
        let asked = [
            "get",
            &kinds,
            "--selector",
            "app.kubernetes.io/part-of=asya",
        ];
        self.kubectl(&[&asked, flags].concat())
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
            let talk = String::from_utf8_lossy(&output.stderr);
            let line = talk.lines().rfind(|line| !line.trim().is_empty());
            return Err(InputError::Kubectl {
                command: arguments.join(" "),
                fault: line.unwrap_or("it ended without a word").trim().to_owned(),
            });
        }
        let document: Value = serde_json::from_slice(&output.stdout).map_err(|source| {
            let fault = format!("its answer is not JSON: {source}");
            let command = arguments.join(" ");
            InputError::Kubectl { command, fault }
        })?;
        let objects = items(document).into_iter().filter_map(|item| match item {
            Value::Object(map) => Some(Object::from(map)),
            _ => None,
        });
        Ok(objects.collect())
    }
}

/// Whether this is a claim of which Crossplane has made an actor.
fn is_bound_claim(actor: &Object) -> bool {
    actor.get(&["spec", "resourceRef"]).is_some()
}
