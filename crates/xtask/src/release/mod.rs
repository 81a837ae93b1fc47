//! `cargo xtask release`: a folder with everything that a release holds, which nothing is published
//! from here. `.github/workflows/release.yaml` builds the parts on their own machines, runs this
//! task, signs what it wrote, and publishes it.
//!
//! | File | Content |
//! |---|---|
//! | `asya-v<version>-<os>-<arch>.tar.gz` | the CLI |
//! | `packages/linux-<arch>/` | packages and images, with their SBOMs |
//! | `install.yaml` | rights, packages, and settings for `kubectl apply` |
//! | `provider-config-<transport>.yaml` | where the provider finds a broker; to edit |
//! | `krew/asya.yaml`, `homebrew/asya.rb` | descriptions of the CLI for these installers |
//! | `NOTES.md` | the section of CHANGELOG.md |
//! | `SHA256SUMS` | of every file |

mod archive;
mod channels;
mod manifests;
mod notes;
mod sums;
mod target;
mod version;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use actor::registry::Registry;
use anyhow::{Context, Result, bail};
use clap::Args;

use self::archive::Archive;
use self::target::Target;
use self::version::Version;
use crate::package::{self, Platform};
use crate::test::run_on_real_parts;
use crate::workspace::{Metadata, files};
use crate::{Verdict, cannot, real};

/// The folder that the test of a release installs.
const FOLDER_VARIABLE: &str = "ASYA_RELEASE_DIR";

/// Options of `cargo xtask release`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Version, without a leading v: that of the workspace in Cargo.toml
    version: Version,
    /// Make what this machine can make, and name the rest; without it, whatever is missing is an
    /// error, and CHANGELOG.md must have a section of this version
    #[arg(long)]
    dry_run: bool,
    /// Registry and path of packages and images, such as registry.example.org/asya
    #[arg(long)]
    registry: Registry,
    /// URL of the repository, below which releases are downloaded
    #[arg(long)]
    source: String,
    /// Folder with what was built elsewhere: the CLI as cli/<os>-<arch>/asya, static programs of
    /// images in programs/linux-<arch>/, images with Python in python-base/linux-<arch>/
    #[arg(long, value_name = "DIR")]
    artifacts: Option<PathBuf>,
    /// Cargo profile of what is built here
    #[arg(long, default_value = "dist", value_name = "NAME")]
    profile: String,
    /// Skip the installation from a registry on loopback
    #[arg(long)]
    no_check: bool,
    /// Output folder, emptied first [default: releases/v<version> in Cargo's target folder]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// A release that is being written.
struct Release<'a> {
    root: &'a Path,
    options: &'a Options,
    /// Output folder.
    folder: PathBuf,
    /// Parts that it lacks.
    missing: Vec<String>,
}

/// Runs `cargo xtask release`.
///
/// # Errors
/// If the version differs from the workspace's, something cannot be built or written, or, except in
/// a dry run, something is missing.
pub(crate) fn run(root: &Path, options: &Options, out: &mut impl Write) -> Result<Verdict> {
    let metadata = Metadata::read(root)?;
    options.version.check(root)?;
    let default = || {
        let releases = metadata.target_directory.join("releases");
        releases.join(format!("v{}", options.version))
    };
    let mut release = Release {
        root,
        options,
        folder: options.output.clone().unwrap_or_else(default),
        missing: Vec::new(),
    };
    release.empty_the_folder()?;

    let archives = release.archive_the_cli(&metadata, out)?;
    for platform in Platform::ALL {
        release.package(platform, out)?;
    }
    for (name, text) in manifests::all(options)? {
        release.write(&name, &text)?;
    }
    release.write("krew/asya.yaml", &channels::krew(options, &archives)?)?;
    release.write("homebrew/asya.rb", &channels::homebrew(options, &archives))?;
    let changelog = root.join("CHANGELOG.md");
    let changelog = fs::read_to_string(&changelog).with_context(|| cannot("read", &changelog))?;
    match notes::of(&changelog, &options.version.to_string()) {
        Some(notes) => release.write("NOTES.md", &notes)?,
        None => {
            release.lacks(format!("section {} in CHANGELOG.md", options.version));
            let unreleased = notes::of(&changelog, "Unreleased").unwrap_or_default();
            release.write("NOTES.md", &unreleased)?;
        }
    }
    sums::write(&release.folder)?;

    for missing in &release.missing {
        writeln!(out, "missing: {missing}")?;
    }
    if !options.dry_run && !release.missing.is_empty() {
        bail!(
            "{} parts are missing; give what other machines built with --artifacts, or use --dry-run",
            release.missing.len()
        );
    }
    writeln!(out, "in {}", release.folder.display())?;
    if options.no_check {
        return Ok(Verdict::Holds);
    }
    release.install(out)
}

impl Release<'_> {
    /// Removes what a former run has written.
    ///
    /// # Errors
    /// If the folder has files and was not written by this task.
    fn empty_the_folder(&self) -> Result<()> {
        let folder = &self.folder;
        let is_ours = folder.join(sums::FILE).exists();
        let is_empty = fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none());
        if !is_empty && !is_ours {
            bail!(
                "`{}` has files and no {}: give an empty folder with --output",
                folder.display(),
                sums::FILE
            );
        }
        if folder.exists() {
            fs::remove_dir_all(folder).with_context(|| cannot("empty", folder))?;
        }
        fs::create_dir_all(folder).with_context(|| cannot("create", folder))
    }

    fn lacks(&mut self, part: String) {
        self.missing.push(part);
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.folder.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| cannot("create", folder))?;
        }
        fs::write(&path, text).with_context(|| cannot("write", &path))
    }

    /// A path below the folder of artifacts, if there is something.
    fn artifact(&self, path: &str) -> Option<PathBuf> {
        let path = self.options.artifacts.as_ref()?.join(path);
        path.exists().then_some(path)
    }

    /// Packs the CLI for every target whose program exists or can be built here.
    fn archive_the_cli(
        &mut self,
        metadata: &Metadata,
        out: &mut impl Write,
    ) -> Result<Vec<Archive>> {
        let mut archives = Vec::new();
        for target in Target::ALL {
            let given = self.artifact(&format!("cli/{target}/asya"));
            let program = match given {
                Some(program) => program,
                None if Target::of_this_machine() == Some(target) => {
                    archive::build(self.root, metadata, target, &self.options.profile)?
                }
                None => {
                    self.lacks(format!("CLI for {target}"));
                    continue;
                }
            };
            let archive = Archive::write(
                self.root,
                &self.folder,
                &self.options.version,
                target,
                &program,
            )?;
            writeln!(out, "{} {}", archive.digest, archive.name)?;
            archives.push(archive);
        }
        Ok(archives)
    }

    /// Makes images and packages of a platform if its programs exist or can be built here.
    fn package(&mut self, platform: Platform, out: &mut impl Write) -> Result<()> {
        let folder = platform.folder();
        let programs = self.artifact(&format!("programs/{folder}"));
        if programs.is_none() && Platform::of_this_machine() != Some(platform) {
            self.lacks(format!("packages for {platform}"));
            return Ok(());
        }
        let python_base = self.artifact(&format!("python-base/{folder}"));
        if python_base.is_none() {
            self.lacks(format!("images of handlers for {platform}"));
        }
        let options = package::Options {
            registry: self.options.registry.clone(),
            source: Some(self.options.source.clone()),
            platform,
            programs,
            python_base,
            profile: self.options.profile.clone(),
            compression: 9,
            output: Some(self.folder.join("packages").join(folder)),
            only: Vec::new(),
        };
        package::run(self.root, &options, out)?;
        Ok(())
    }

    /// Installs the release on a control plane, from a registry on loopback.
    fn install(&self, out: &mut impl Write) -> Result<Verdict> {
        let folder = self.folder.canonicalize();
        let folder = folder.with_context(|| cannot("find", &self.folder))?;
        let settings = [(FOLDER_VARIABLE, Some(folder.display().to_string()))];
        let test = ["--test", "release", "--", "--ignored"];
        run_on_real_parts(self.root, real::Extent::Usual, &test, &settings, out)
    }
}

/// Files of the repository that name a version of our packages and images.
fn versioned_files(root: &Path) -> Result<Vec<PathBuf>> {
    let all = files(root)?;
    let is_text = |name: &&String| {
        let name = Path::new(name.as_str());
        name.extension()
            .is_some_and(|extension| ["yaml", "md"].iter().any(|text| extension == *text))
    };
    Ok(all
        .iter()
        .filter(is_text)
        .map(|name| root.join(name))
        .collect())
}
