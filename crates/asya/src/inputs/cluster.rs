//! Actors of a cluster, and what they are made of, through kubectl.
//!
//! kubectl is what everybody with a cluster has, and it knows how to log in. A client of
//! our own would bring TLS and an async runtime into a program that else needs no
//! cluster.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::InputError;
use super::files::{Files, items, yaml_files};
use crate::pipeline::Object;
use crate::status::composed_kinds;

/// Which actors are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// Files with objects, in place of a cluster.
    pub files: Vec<PathBuf>,
    /// Names of actors; all of them, if there are none.
    pub names: Vec<String>,
    /// Their namespace; that of the kubeconfig, if there is none.
    pub namespace: Option<String>,
    /// Whether all namespaces are looked at.
    pub all_namespaces: bool,
    /// The context of the kubeconfig.
    pub context: Option<String>,
}

/// The actors and what they are made of. Nothing is ever written.
///
/// # Errors
/// When a file or the cluster cannot be read.
pub fn live_objects(asked: &Asked) -> Result<Vec<Object>, InputError> {
    if !asked.files.is_empty() {
        let mut files = Files::default();
        let mut objects = Vec::new();
        for path in &asked.files {
            for file in yaml_files(path)? {
                objects.extend(files.objects_of(&file)?);
            }
        }
        return Ok(objects);
    }
    let mut arguments = vec!["get", "asyncactors.asya.sh"];
    arguments.extend(asked.names.iter().map(String::as_str));
    let mut objects = kubectl(asked, &arguments)?;
    let kinds = composed_kinds(&objects).join(",");
    if !kinds.is_empty() {
        let label = "app.kubernetes.io/part-of=asya";
        let composed = kubectl(asked, &["get", &kinds, "--selector", label])?;
        objects.extend(composed);
    }
    Ok(objects)
}

fn kubectl(asked: &Asked, arguments: &[&str]) -> Result<Vec<Object>, InputError> {
    let mut command = Command::new("kubectl");
    command.args(arguments).args(["--output", "json"]);
    if asked.all_namespaces {
        command.arg("--all-namespaces");
    } else if let Some(namespace) = &asked.namespace {
        command.args(["--namespace", namespace]);
    }
    if let Some(context) = &asked.context {
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
