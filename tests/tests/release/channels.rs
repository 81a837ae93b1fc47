//! Installation of a release by krew and Homebrew, by their documented rules: neither is available as a
//! package here, so the tests perform their steps.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use flate2::read::GzDecoder;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tar::Archive;
use tempfile::TempDir;

/// Installs a plugin as krew does: selects the platform, checks the sum, unpacks, copies `files`, and
/// links the program as `kubectl-<plugin>` with dashes as underscores.
/// Source: krew's developer guide, "Writing Krew plugin manifests".
pub(crate) fn krew_install(
    plugin: &Value,
    release: &Path,
    source: &str,
    (os, arch): (&str, &str),
) -> TempDir {
    assert_eq!(
        plugin["apiVersion"],
        "krew.googlecontainertools.github.com/v1alpha2"
    );
    assert_eq!(plugin["kind"], "Plugin");
    let spec = &plugin["spec"];
    let description = text(spec, "/shortDescription");
    assert!(
        !description.is_empty() && description.len() <= 50 && !description.ends_with('.'),
        "krew's index takes short descriptions of up to 50 characters without a full stop"
    );
    let platforms = spec["platforms"].as_array().expect("platforms");
    let mut matching = platforms.iter().filter(|platform| {
        let labels = &platform["selector"]["matchLabels"];
        labels["os"] == os && labels["arch"] == arch
    });
    let platform = matching.next().expect("a platform");
    assert!(matching.next().is_none(), "one platform matches");

    let archive = download(text(platform, "/uri"), release, source);
    assert_eq!(sum(&archive), text(platform, "/sha256"));
    let unpacked = unpack(&archive);
    let installed = tempfile::tempdir().unwrap();
    for file in platform["files"].as_array().expect("files") {
        let from = unpacked.path().join(text(file, "/from"));
        let to = installed.path().join(text(file, "/to"));
        assert!(
            !to.components().any(|part| part == Component::ParentDir),
            "files stay in their folder"
        );
        fs::copy(&from, to.join(from.file_name().unwrap())).unwrap();
    }
    let program = installed.path().join(text(platform, "/bin"));
    let name = text(plugin, "/metadata/name").replace('-', "_");
    symlink(program, installed.path().join(format!("kubectl-{name}"))).unwrap();
    installed
}

/// Definitions that Homebrew provides for a formula, as far as ours uses them: blocks of other systems
/// are skipped, and `install` writes to the folder of `PREFIX`, next to the unpacked archive.
const HOMEBREW: &str = include_str!("../../release/homebrew.rb");

/// Installs the CLI by the formula for Linux on amd64, with Ruby.
pub(crate) fn homebrew_install(release: &Path, source: &str) -> TempDir {
    let installed = tempfile::tempdir().unwrap();
    let ruby = |folder: &Path, step: &str| -> String {
        let output = Command::new("ruby")
            .args(["-e", HOMEBREW, step])
            .env("FORMULA", release.join("homebrew/asya.rb"))
            .env("PREFIX", installed.path())
            .current_dir(folder)
            .output()
            .expect("ruby starts");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{step}: {complaint}");
        String::from_utf8(output.stdout).unwrap()
    };
    let fields = ruby(release, "fields");
    let field = |name: &str| {
        let mut lines = fields.lines();
        let value = lines.find_map(|line| line.strip_prefix(&format!("{name}=")));
        value.unwrap_or_else(|| panic!("{name} in {fields}"))
    };
    let archive = download(field("url"), release, source);
    assert_eq!(sum(&archive), field("sha256"));
    assert_eq!(field("homepage"), source);
    ruby(unpack(&archive).path(), "install");
    installed
}

/// A file of the release by the URL under which it is published.
fn download(url: &str, release: &Path, source: &str) -> PathBuf {
    let version = env!("CARGO_PKG_VERSION");
    let below = format!("{source}/releases/download/v{version}/");
    release.join(url.strip_prefix(&below).expect(url))
}

fn sum(file: &Path) -> String {
    let digest = Sha256::digest(fs::read(file).unwrap());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unpack(archive: &Path) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut tar = Vec::new();
    let mut gzip = GzDecoder::new(fs::File::open(archive).unwrap());
    gzip.read_to_end(&mut tar).unwrap();
    Archive::new(tar.as_slice()).unpack(folder.path()).unwrap();
    folder
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    let text = value.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_else(|| panic!("{pointer} of {value}"))
}
