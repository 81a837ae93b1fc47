//! From a product to its image.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::Compression;
use function_inject_sidecar::IMAGE_VARIABLE;

use super::base::Base;
use super::catalogue::{ACTOR, Kind, Product, SIDECAR};
use super::content::{Content, Publication, examples, manifests};
use super::image::{Process, Recipe};
use super::layer::{Files, Layer, Role};
use super::platform::Platform;
use super::sbom::{self, Component};
use super::{programs, roots};
use crate::cannot;
use crate::workspace::Metadata;

/// Path of the program in its image; the same everywhere, so that the Dockerfile can be one.
pub(super) const PROGRAM: &str = "program";

/// Ports of functions and providers: metrics, and gRPC or webhooks.
const PORTS: &[u16] = &[8080, 9443];

/// Folder in which handlers lie, below the root of their image.
pub(super) const HANDLERS: &str = "app";

/// Inputs from which images are assembled.
#[derive(Debug)]
pub(super) struct Workshop<'a> {
    /// The repository.
    pub(super) root: &'a Path,
    pub(super) metadata: &'a Metadata,
    pub(super) publication: Publication,
    pub(super) platform: Platform,
    /// Folder with the programs.
    pub(super) programs: PathBuf,
    /// Image with Python.
    pub(super) python: Option<Base>,
    pub(super) compression: Compression,
}

/// The layers of an image, and its bill of materials.
#[derive(Debug)]
pub(super) struct Assembled {
    pub(super) recipe: Recipe,
    pub(super) sbom: Vec<u8>,
}

impl Workshop<'_> {
    /// Puts the product together.
    pub(super) fn assemble(&self, product: &Product) -> Result<Assembled> {
        match &product.kind {
            Kind::Program {
                calls_out,
                examples,
            } => self.program(product.name, *calls_out, examples),
            Kind::Image { description, ports } => self.image(product.name, description, ports),
            Kind::Configuration { metadata, files } => {
                self.configuration(product.name, metadata, files)
            }
            Kind::Handlers {
                description,
                folder,
            } => self.handlers(product.name, description, folder),
        }
    }

    fn program(&self, name: &str, calls_out: bool, examples: &[&str]) -> Result<Assembled> {
        let folder = self.root.join("package").join(name);
        let content = Content::read(&manifests(&folder)?, &self.publication)?;
        let (files, sbom) = self.program_files(name, calls_out)?;
        let process = Process {
            entrypoint: vec![format!("/{PROGRAM}")],
            ports: PORTS,
            env: self.variables(name),
            // Functions serve on while their pod leaves DNS; the provider ends at once.
            stop_signal: (!calls_out).then_some("SIGQUIT"),
            ..Process::default()
        };
        Ok(Assembled {
            recipe: Recipe {
                platform: self.platform,
                about: self.about(name, content.annotation("description")),
                base: None,
                layers: self.layers(files, &content, examples)?,
                process: Some(process),
            },
            sbom,
        })
    }

    /// A program that pods run, without a Crossplane package.
    fn image(&self, name: &str, description: &str, ports: &'static [u16]) -> Result<Assembled> {
        let (files, sbom) = self.program_files(name, true)?;
        let process = Process {
            entrypoint: vec![format!("/{PROGRAM}")],
            ports,
            ..Process::default()
        };
        Ok(Assembled {
            recipe: Recipe {
                platform: self.platform,
                about: self.about(name, Some(description)),
                base: None,
                layers: vec![files.into_layer_with(None, self.compression)?],
                process: Some(process),
            },
            sbom,
        })
    }

    /// The program with its bill of materials and, if it connects to servers, the certificates of
    /// their authorities.
    fn program_files(&self, name: &str, calls_out: bool) -> Result<(Files, Vec<u8>)> {
        let mut inside = sbom::crates_in(self.root, self.metadata, name, self.platform)?;
        let program = programs::read(&self.programs, name, self.platform)?;
        let mut files = Files::default().with_program(PROGRAM, program);
        if calls_out {
            files = files.with(roots::PATH, roots::bundle());
            inside.extend(self.roots());
        }
        let sbom = self.sbom(name, &inside)?;
        Ok((files.with(&sbom_path(name), sbom.clone()), sbom))
    }

    /// Variables of a function's image: those that inject the sidecar name the image of the same
    /// release and registry.
    fn variables(&self, name: &str) -> Vec<(&'static str, String)> {
        const INJECTING: [&str; 2] = ["function-inject-sidecar", "function-asya"];
        if INJECTING.contains(&name) {
            vec![(IMAGE_VARIABLE, self.publication.reference(SIDECAR))]
        } else {
            Vec::new()
        }
    }

    fn configuration(&self, name: &str, metadata: &str, files: &[&str]) -> Result<Assembled> {
        let manifests = self.below_root(&[&[metadata], files].concat());
        let content = Content::read(&manifests, &self.publication)?;
        let sbom = self.sbom(name, &BTreeSet::new())?;
        let files = Files::default().with(&sbom_path(name), sbom.clone());
        Ok(Assembled {
            recipe: Recipe {
                platform: self.platform,
                about: self.about(name, content.annotation("description")),
                base: None,
                layers: self.layers(files, &content, ACTOR)?,
                process: None,
            },
            sbom,
        })
    }

    fn handlers(&self, name: &str, description: &str, folder: &str) -> Result<Assembled> {
        let sbom = self.sbom(name, &BTreeSet::new())?;
        let mut files = Files::default().with(&sbom_path(name), sbom.clone());
        let folder = self.root.join(folder);
        let package = folder.file_name().unwrap_or_default().to_string_lossy();
        for path in python_files(&folder)? {
            let content = fs::read(&path).with_context(|| cannot("read", &path))?;
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            files = files.with(&format!("{HANDLERS}/{package}/{file}"), content);
        }
        let process = Process {
            env: vec![
                ("PYTHONPATH", "/app".to_owned()),
                ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
            ],
            working_dir: Some("/app"),
            ..Process::default()
        };
        Ok(Assembled {
            recipe: Recipe {
                platform: self.platform,
                about: self.about(name, Some(description)),
                base: self.python.clone(),
                layers: vec![files.into_layer_with(None, self.compression)?],
                process: Some(process),
            },
            sbom,
        })
    }

    /// The files of the image itself, then those that Crossplane and its tools read.
    fn layers(&self, files: Files, content: &Content, shown: &[&str]) -> Result<Vec<Layer>> {
        let package = Files::default().with("package.yaml", content.stream()?);
        let shown = examples(&self.below_root(shown))?;
        let shown = Files::default().with(".up/examples.yaml", shown);
        Ok(vec![
            files.into_layer_with(None, self.compression)?,
            package.into_layer_with(Some(Role::Package), self.compression)?,
            shown.into_layer_with(Some(Role::Examples), self.compression)?,
        ])
    }

    fn below_root(&self, paths: &[&str]) -> Vec<PathBuf> {
        paths.iter().map(|path| self.root.join(path)).collect()
    }

    fn about(&self, name: &str, description: Option<&str>) -> BTreeMap<String, String> {
        let known = [
            ("title", Some(name)),
            ("version", Some(self.publication.version.as_str())),
            ("description", description),
            ("licenses", Some("Apache-2.0")),
            ("source", self.publication.source.as_deref()),
        ];
        known
            .into_iter()
            .filter_map(|(key, value)| {
                let key = format!("org.opencontainers.image.{key}");
                Some((key, value?.to_owned()))
            })
            .collect()
    }

    fn sbom(&self, name: &str, inside: &BTreeSet<Component>) -> Result<Vec<u8>> {
        let version = &self.publication.version;
        let repository = format!("{}/{name}", self.publication.registry);
        let image = Component {
            name: name.to_owned(),
            version: version.clone(),
            license: Some("Apache-2.0".to_owned()),
            purl: format!("pkg:oci/{name}@v{version}?repository_url={repository}"),
        };
        sbom::document(&image, inside)
    }

    /// The crate that has the authorities: data in the image, linked into nothing.
    fn roots(&self) -> Option<Component> {
        let mut packages = self.metadata.packages.iter();
        let package = packages.find(|package| package.name == roots::CRATE)?;
        Some(Component {
            name: package.name.clone(),
            version: package.version.clone(),
            license: package.license.clone(),
            purl: format!("pkg:cargo/{}@{}", package.name, package.version),
        })
    }
}

fn sbom_path(name: &str) -> String {
    format!("{name}.{}", sbom::EXTENSION)
}

/// The Python files of a folder, sorted.
fn python_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| cannot("read", folder))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| cannot("read", folder))?.path();
        if path.extension().is_some_and(|extension| extension == "py") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
