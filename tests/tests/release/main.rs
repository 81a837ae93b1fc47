//! Releases: what `cargo xtask release` writes, by the installers' own rules, and its installation on
//! a control plane.

mod channels;
mod workflows;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use test_cluster::rights::Rights;
use test_cluster::{components, namespace};
use tests::examples::documents;
use tests::packages::{AMD64, programs, stand_ins};
use tests::program::{self, repository, talk};
use tests::stack::Stack;

/// The registry that the manifests of the test's release name.
const REGISTRY: &str = "registry.example.org/asya";

/// URL from which the test's release would be downloaded.
const SOURCE: &str = "https://git.example.org/team/asya";

/// A folder with a release, which `cargo xtask release` sets.
const FOLDER: &str = "ASYA_RELEASE_DIR";

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Programs of other machines, as the jobs of a workflow hand them on: a script that starts the CLI of
/// this tree, which is large, and files that are no programs for what is only packed.
fn artifacts() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "#!/bin/sh\nexec '{}' \"$@\"\n",
        program::path("asya").display()
    );
    for target in ["linux-amd64", "darwin-arm64"] {
        let path = folder.path().join("cli").join(target);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("asya"), &script).unwrap();
    }
    let programs = folder.path().join("programs/linux-amd64");
    fs::create_dir_all(&programs).unwrap();
    for entry in fs::read_dir(stand_ins(AMD64).path()).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), programs.join(entry.file_name())).unwrap();
    }
    folder
}

fn release(arguments: &[&str], artifacts: &Path, output: &Path) -> Output {
    Command::new(program::path("xtask"))
        .arg("release")
        .args(arguments)
        .args(["--registry", REGISTRY, "--source", SOURCE, "--no-check"])
        .args(["--artifacts".as_ref(), artifacts.as_os_str()])
        .args(["--output".as_ref(), output.as_os_str()])
        .env("CARGO_MANIFEST_DIR", repository().join("crates/xtask"))
        .output()
        .expect("xtask starts")
}

/// A release that is only read, with what was printed while it was made; made once.
struct DryRun {
    output: TempDir,
    printed: String,
}

impl DryRun {
    fn get() -> &'static Self {
        static RELEASE: OnceLock<DryRun> = OnceLock::new();
        RELEASE.get_or_init(|| {
            let artifacts = artifacts();
            let output = tempfile::tempdir().unwrap();
            let done = release(&["--dry-run", VERSION], artifacts.path(), output.path());
            assert!(done.status.success(), "{}", talk(&done));
            let printed = String::from_utf8(done.stdout).unwrap();
            Self { output, printed }
        })
    }

    fn folder(&self) -> &Path {
        self.output.path()
    }
}

#[test]
fn a_dry_run_writes_every_part_and_names_what_this_machine_cannot_make() {
    let run = DryRun::get();
    let (folder, printed) = (run.folder(), &run.printed);
    let missing: Vec<&str> = printed
        .lines()
        .filter_map(|line| line.strip_prefix("missing: "))
        .filter(|missing| !missing.ends_with("CHANGELOG.md"))
        .collect();
    let expected = [
        "CLI for darwin-amd64",
        "CLI for linux-arm64",
        "images of handlers for linux/amd64",
        "packages for linux/arm64",
    ];
    assert_eq!(missing, expected);
    for program in programs() {
        let package = format!("packages/linux-amd64/{program}.xpkg");
        assert!(folder.join(&package).is_file(), "{package}");
    }
    let notes = fs::read_to_string(folder.join("NOTES.md")).unwrap();
    assert!(notes.starts_with("### "), "{notes}");
}

#[test]
fn checksums_cover_every_file() {
    let folder = DryRun::get().folder();
    let sums = fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    let mut listed = 0;
    for line in sums.lines() {
        let (sum, name) = line.split_once("  ").expect(line);
        let digest = Sha256::digest(fs::read(folder.join(name)).unwrap());
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digest, sum, "{name}");
        listed += 1;
    }
    let files = tests::manifests::files_below(folder);
    assert_eq!(listed + 1, files.len(), "all files but the list itself");
}

#[test]
fn a_release_that_lacks_parts_fails_unless_it_is_a_dry_run() {
    let (artifacts, output) = (artifacts(), tempfile::tempdir().unwrap());
    let done = release(&[VERSION], artifacts.path(), &output.path().join("release"));
    assert_eq!(done.status.code(), Some(2), "{}", talk(&done));
}

#[test]
fn a_version_that_is_not_the_workspaces_is_refused() {
    let (artifacts, output) = (artifacts(), tempfile::tempdir().unwrap());
    let folder = output.path().join("release");
    let done = release(&["--dry-run", "99.0.0"], artifacts.path(), &folder);
    assert_eq!(done.status.code(), Some(2), "{}", talk(&done));
    assert!(!folder.exists(), "nothing is written");
}

#[test]
fn a_folder_with_other_files_is_left_alone() {
    let (artifacts, output) = (artifacts(), tempfile::tempdir().unwrap());
    let file = output.path().join("thesis.txt");
    fs::write(&file, "mine").unwrap();
    let done = release(&["--dry-run", VERSION], artifacts.path(), output.path());
    assert_eq!(done.status.code(), Some(2), "{}", talk(&done));
    assert!(file.exists());
}

#[test]
fn krew_installs_the_cli_from_its_plugin_manifest() {
    let folder = DryRun::get().folder();
    let plugin = documents(&folder.join("krew/asya.yaml")).remove(0);
    let installed = channels::krew_install(&plugin, folder, SOURCE, ("linux", "amd64"));
    let output = Command::new(installed.path().join("kubectl-asya"))
        .arg("--version")
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim(),
        format!("asya {VERSION}")
    );
}

#[test]
fn homebrew_installs_the_cli_from_its_formula() {
    if Command::new("ruby").arg("--version").output().is_err() {
        components::record_skipped("the formula of Homebrew", "ruby");
        return;
    }
    let folder = DryRun::get().folder();
    let installed = channels::homebrew_install(folder, SOURCE);
    for name in ["asya", "kubectl-asya"] {
        let path = installed.path().join("bin").join(name);
        let mode = fs::metadata(&path).expect(name).permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{name}");
    }
}

/// The packages of `cargo xtask release` install with the release's own manifest, byte for byte. Core
/// pulls from loopback in place of the registry that the release names, as with a mirror.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a release: cargo xtask release --dry-run VERSION"]
async fn a_release_installs_with_its_own_manifest() {
    if !namespace::is_inside("a_release_installs_with_its_own_manifest") {
        return;
    }
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect(FOLDER));
    let stack = Stack::start_empty(Rights::Managed).await;
    let manifest = folder.join("install.yaml");
    let packages = documents(&manifest);
    let packages: Vec<&Value> = packages
        .iter()
        .filter(|object| object["apiVersion"] == "pkg.crossplane.io/v1")
        .collect();
    let names = packages.iter().map(|package| {
        let image = package["spec"]["package"].as_str().expect("an image");
        image.rsplit_once('/').expect(image)
    });
    let mut mirrors = BTreeSet::new();
    for (registry, image) in names {
        let (name, _) = image.split_once(':').expect(image);
        let file = folder.join(format!("packages/linux-amd64/{name}.xpkg"));
        stack.push(&file, image);
        mirrors.insert(registry.to_owned());
    }
    for registry in &mirrors {
        stack
            .apply(&json!({
                "apiVersion": "pkg.crossplane.io/v1beta1",
                "kind": "ImageConfig",
                "metadata": {"name": "loopback"},
                "spec": {
                    "matchImages": [{"prefix": registry}],
                    "rewriteImage": {"prefix": stack.registry_path()},
                },
            }))
            .await;
    }
    stack.apply_file(&manifest).await;
    stack.until_packages_are_healthy().await;
    stack.until_actors_are_served().await;
}
