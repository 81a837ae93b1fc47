//! The content of a package: one stream of YAML documents.

use std::fs;
use std::path::{Path, PathBuf};

use actor::registry::Registry;
use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

use crate::cannot;

/// Settings that only the publisher knows.
#[derive(Debug)]
pub(super) struct Publication {
    pub(super) registry: Registry,
    /// URL of the source; without it, metadata that names the source is omitted.
    pub(super) source: Option<String>,
    pub(super) version: String,
}

/// The content of a package.
#[derive(Debug)]
pub(super) struct Content {
    /// Metadata of the package, with every placeholder filled.
    meta: Value,
    /// Content of the package.
    payload: Vec<Value>,
}

impl Publication {
    /// Registry, repository and tag of a product.
    pub(super) fn reference(&self, name: &str) -> String {
        format!("{}/{name}:v{}", self.registry, self.version)
    }
}

impl Content {
    /// Reads the manifests of a package.
    ///
    /// # Errors
    /// When not exactly one of them is package metadata, or a placeholder has no value.
    pub(super) fn read(files: &[PathBuf], publication: &Publication) -> Result<Self> {
        let mut metas = Vec::new();
        let mut payload = Vec::new();
        for path in files {
            for document in documents(path)? {
                if is_meta(&document) {
                    let filled = publication.fill(document);
                    metas.push(filled.with_context(|| cannot("fill", path))?);
                } else {
                    payload.push(publication.with_functions_renamed(document));
                }
            }
        }
        if metas.len() != 1 {
            let files: Vec<_> = files
                .iter()
                .map(|file| file.display().to_string())
                .collect();
            bail!(
                "{} package metadata documents (meta.pkg.crossplane.io) in {}: one is needed",
                metas.len(),
                files.join(", ")
            );
        }
        let meta = metas.remove(0);
        Ok(Self { meta, payload })
    }

    /// The package's annotations under `meta.crossplane.io/`.
    pub(super) fn annotation(&self, name: &str) -> Option<&str> {
        let annotations = &self.meta["metadata"]["annotations"];
        annotations[format!("meta.crossplane.io/{name}")].as_str()
    }

    /// The stream: what the package is, then what it brings.
    pub(super) fn stream(&self) -> Result<String> {
        stream([&self.meta].into_iter().chain(&self.payload))
    }
}

/// The documents of several files as one stream.
pub(super) fn examples(files: &[PathBuf]) -> Result<String> {
    let mut found = Vec::new();
    for path in files {
        found.extend(documents(path)?);
    }
    stream(&found)
}

fn stream<'a>(documents: impl IntoIterator<Item = &'a Value>) -> Result<String> {
    actor::yaml::write_stream(documents).context("cannot write a package's documents")
}

/// The YAML files of a package's folder, sorted, without its examples.
pub(super) fn manifests(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| cannot("read", folder))?;
    for entry in entries {
        let path = entry.with_context(|| cannot("read", folder))?.path();
        if path.is_dir() {
            if !path.ends_with("examples") {
                found.extend(manifests(&path)?);
            }
        } else if path
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn documents(path: &Path) -> Result<Vec<Value>> {
    let text = fs::read_to_string(path).with_context(|| cannot("read", path))?;
    actor::yaml::documents(&text).with_context(|| cannot("understand", path))
}

fn is_meta(document: &Value) -> bool {
    let api_version = document["apiVersion"].as_str().unwrap_or_default();
    api_version.starts_with("meta.pkg.crossplane.io/")
}

impl Publication {
    /// The document with its placeholders filled, less the entries that would name a source that
    /// is not known.
    fn fill(&self, document: Value) -> Result<Value> {
        Ok(match document {
            Value::String(text) => {
                let mut text = text
                    .replace("${REGISTRY}", &self.registry.to_string())
                    .replace("${VERSION}", &self.version);
                if let Some(source) = &self.source {
                    text = text.replace("${SOURCE}", source);
                }
                if text.contains("${") {
                    bail!("{text:?} has a placeholder that nothing fills");
                }
                Value::String(text)
            }
            Value::Array(items) => {
                let filled = items.into_iter().map(|item| self.fill(item));
                Value::Array(filled.collect::<Result<_>>()?)
            }
            Value::Object(map) => {
                let names_source = |value: &Value| value.as_str() == Some("${SOURCE}");
                let known = map
                    .into_iter()
                    .filter(|(_, value)| self.source.is_some() || !names_source(value));
                let filled = known.map(|(key, value)| Ok((key, self.fill(value)?)));
                Value::Object(filled.collect::<Result<Map<_, _>>>()?)
            }
            other => other,
        })
    }

    /// A Composition with its functions called as Crossplane calls them when it installs them
    /// for a Configuration; any other document as it is.
    fn with_functions_renamed(&self, mut document: Value) -> Value {
        if document["kind"] == "Composition" {
            let pipeline = document.pointer_mut("/spec/pipeline");
            let steps = pipeline.and_then(Value::as_array_mut);
            for step in steps.into_iter().flatten() {
                if let Some(Value::String(name)) = step.pointer_mut("/functionRef/name") {
                    *name = self.registry.name_of_dependency(name);
                }
            }
        }
        document
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn publication(source: Option<&str>) -> Publication {
        Publication {
            registry: "registry.example.org/asya".parse().unwrap(),
            source: source.map(str::to_owned),
            version: "1.2.3".to_owned(),
        }
    }

    #[test]
    fn placeholders_are_filled_and_an_unknown_source_is_not_named() {
        let document = json!({
            "annotations": {"source": "${SOURCE}", "license": "Apache-2.0"},
            "dependsOn": [{"package": "${REGISTRY}/function-x", "version": "^${VERSION}"}],
        });
        let mut expected = json!({
            "annotations": {"license": "Apache-2.0"},
            "dependsOn": [{"package": "registry.example.org/asya/function-x", "version": "^1.2.3"}],
        });
        assert_eq!(publication(None).fill(document.clone()).unwrap(), expected);
        expected["annotations"]["source"] = json!("example.org/asya");
        let with_source = publication(Some("example.org/asya"));
        assert_eq!(with_source.fill(document).unwrap(), expected);
    }

    #[test]
    fn unknown_placeholder_is_refused() {
        let error = publication(None).fill(json!(["${OTHER}"])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"${OTHER}\" has a placeholder that nothing fills"
        );
    }

    #[test]
    fn functions_are_called_as_crossplane_calls_dependencies() {
        let composition = json!({"kind": "Composition", "spec": {"pipeline": [
            {"step": "x", "functionRef": {"name": "function-x"}},
        ]}});
        let renamed = publication(None).with_functions_renamed(composition);
        let step = &renamed["spec"]["pipeline"][0];
        assert_eq!(step["functionRef"]["name"], "asya-function-x");
        assert_eq!(step["step"], "x");
    }

    #[test]
    fn package_metadata_is_needed_exactly_once() {
        type Files<'a> = &'a [(&'a str, &'a str)];
        let meta = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\n";
        let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n";
        let cases: [(&str, Files, Option<&str>); 4] = [
            (
                "once",
                &[("crossplane.yaml", meta), ("input/i.yaml", crd)],
                None,
            ),
            (
                "never",
                &[("input/i.yaml", crd)],
                Some("0 package metadata documents"),
            ),
            (
                "twice",
                &[("a.yaml", meta), ("b.yaml", meta)],
                Some("2 package metadata documents"),
            ),
            (
                "examples are no part of it",
                &[("a.yaml", meta), ("examples/b.yaml", meta)],
                None,
            ),
        ];
        for (reason, files, expected) in cases {
            let folder = tempfile::tempdir().unwrap();
            for (name, text) in files {
                let path = folder.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            let found = manifests(folder.path()).unwrap();
            let error = match Content::read(&found, &publication(None)) {
                Ok(content) => {
                    assert!(content.stream().unwrap().contains(meta), "{reason}");
                    String::new()
                }
                Err(error) => error.to_string(),
            };
            match expected {
                None => assert_eq!(error, "", "{reason}"),
                Some(part) => assert!(error.contains(part), "{reason}: {error}"),
            }
        }
    }
}
