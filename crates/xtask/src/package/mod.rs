//! Images and Crossplane packages of everything that is installed, made without Docker.
//!
//! [`catalogue`] lists everything, [`assemble`] puts one image together, [`layout`] writes it.
//! The same sources, programs and options give the same bytes on every machine.

mod assemble;
mod base;
mod catalogue;
mod content;
mod image;
mod layer;
mod layout;
mod platform;
mod programs;
mod roots;
mod sbom;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use actor::registry::Registry;
use anyhow::{Context, Result, bail};
use clap::builder::PossibleValuesParser;
use clap::{Args, value_parser};
use flate2::Compression;

use self::assemble::Workshop;
use self::base::Base;
use self::catalogue::{Kind, PRODUCTS, Product};
use self::content::Publication;
use crate::workspace::Metadata;
use crate::{Verdict, cannot};

pub(crate) use self::image::{Process, Recipe};
pub(crate) use self::layer::Files;
pub(crate) use self::layout::{write_archive, write_folder};
pub(crate) use self::platform::Platform;
pub(crate) use self::programs::build as build_static;
pub(crate) use self::roots::{PATH as ROOTS_PATH, bundle as roots_bundle};

/// Packages to build, with their source and registry.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Registry and path below which the packages will be pushed, such as registry.example.org/asya
    #[arg(long)]
    pub(crate) registry: Registry,
    /// URL of the source, shown on the package
    #[arg(long)]
    pub(crate) source: Option<String>,
    /// Platform of the images: linux/amd64 or linux/arm64
    #[arg(long, default_value_t = Platform::Amd64)]
    pub(crate) platform: Platform,
    /// Folder with static programs, which are built otherwise
    #[arg(long, value_name = "DIR")]
    pub(crate) programs: Option<PathBuf>,
    /// Folder with an image that has Python 3, in the OCI layout; without it the images of
    /// handlers are left out
    #[arg(long, value_name = "DIR")]
    pub(crate) python_base: Option<PathBuf>,
    /// Cargo profile of programs that are built
    #[arg(long, default_value = "dist", value_name = "NAME")]
    pub(crate) profile: String,
    /// Compression of layers, from 0 (none, fast) to 9; the digests of images depend on it
    #[arg(long, default_value_t = 9, value_name = "LEVEL", value_parser = value_parser!(u32).range(0..=9))]
    pub(crate) compression: u32,
    /// Output folder [default: packages/<platform> in Cargo's target folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Only these
    #[arg(long, num_args = 1.., value_name = "NAME", value_parser = names())]
    pub(crate) only: Vec<String>,
}

/// Names of the crates that are linked into a program of ours on the platform of most users, itself
/// included.
pub(crate) fn linked_into(
    root: &Path,
    metadata: &Metadata,
    program: &str,
) -> Result<BTreeSet<String>> {
    let crates = sbom::crates_in(root, metadata, program, Platform::Amd64)?;
    Ok(crates.into_iter().map(|component| component.name).collect())
}

fn names() -> PossibleValuesParser {
    PRODUCTS.iter().map(|product| product.name).into()
}

impl Options {
    fn selects(&self, product: &Product) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == product.name)
    }
}

/// Runs `cargo xtask package`.
pub(crate) fn run(root: &Path, options: &Options, out: &mut impl Write) -> Result<Verdict> {
    let selected = PRODUCTS.iter().filter(|product| options.selects(product));
    let needs_python = |product: &&Product| matches!(product.kind, Kind::Handlers { .. });
    let (handlers, mut products): (Vec<&Product>, Vec<&Product>) = selected.partition(needs_python);
    let python = options.python_base.as_deref();
    let python = python.map(|folder| Base::read(folder, options.platform));
    let python = python.transpose()?;
    if python.is_some() {
        products.extend(&handlers);
    } else if products.is_empty() {
        bail!("the images of handlers need Python: give --python-base");
    }

    let metadata = Metadata::read(root)?;
    let default = || {
        let folder = metadata.target_directory.join("packages");
        folder.join(options.platform.folder())
    };
    let output = options.output.clone().unwrap_or_else(default);
    let workshop = Workshop {
        root,
        metadata: &metadata,
        publication: Publication {
            registry: options.registry.clone(),
            source: options.source.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        platform: options.platform,
        programs: programs(root, &metadata, options, &products)?,
        python,
        compression: Compression::new(options.compression),
    };
    for product in products {
        let digest = package(&workshop, product, &output)
            .with_context(|| format!("cannot package {}", product.name))?;
        writeln!(out, "{digest} {}", product.name)?;
    }
    if workshop.python.is_none() {
        for product in handlers {
            writeln!(
                out,
                "left out: {}, for it needs --python-base",
                product.name
            )?;
        }
    }
    writeln!(out, "in {}", output.display())?;
    Ok(Verdict::Holds)
}

/// The folder with the programs of these products, built unless they are given.
fn programs(
    root: &Path,
    metadata: &Metadata,
    options: &Options,
    products: &[&Product],
) -> Result<PathBuf> {
    if let Some(folder) = &options.programs {
        return Ok(folder.clone());
    }
    let programs = products.iter();
    let programs = programs
        .filter(|product| matches!(product.kind, Kind::Program { .. } | Kind::Image { .. }));
    let names: Vec<&str> = programs.map(|product| product.name).collect();
    if names.is_empty() {
        return Ok(PathBuf::new());
    }
    build_static(root, metadata, &names, options.platform, &options.profile)
}

/// Writes one product, and returns the digest of its image.
fn package(workshop: &Workshop<'_>, product: &Product, output: &Path) -> Result<String> {
    let assembled = workshop.assemble(product)?;
    let image = assembled.recipe.make()?;
    let name = product.name;
    let publication = &workshop.publication;
    let reference = publication.reference(name);
    layout::write_folder(&image, &reference, &output.join("oci").join(name))?;
    let extension = match product.kind {
        Kind::Handlers { .. } | Kind::Image { .. } => "tar",
        Kind::Program { .. } | Kind::Configuration { .. } => "xpkg",
    };
    let archive = output.join(format!("{name}.{extension}"));
    layout::write_archive(&image, &reference, &archive)?;
    let sbom = output.join(format!("{name}.{}", sbom::EXTENSION));
    fs::write(&sbom, assembled.sbom).with_context(|| cannot("write", &sbom))?;
    Ok(image.manifest.digest().to_string())
}
