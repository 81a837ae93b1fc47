//! Files of Debian packages that are installed on this machine, with all that they depend on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::cannot;
use crate::package::Files;
use crate::workspace::output_of;

/// Packages that only installing and administering a system needs.
const LEFT_OUT: [&str; 12] = [
    "adduser",
    "debconf",
    "debconf-2.0",
    "dpkg",
    "init-system-helpers",
    "install-info",
    "logrotate",
    "lsb-base",
    "openssl",
    "passwd",
    "perl-base",
    "socat",
];

/// Folders that no program reads.
const UNREAD: [&str; 6] = [
    "/usr/share/bug/",
    "/usr/share/doc/",
    "/usr/share/lintian/",
    "/usr/share/locale/",
    "/usr/share/man/",
    "/usr/share/python3/",
];

/// Folders of the root that are links into `/usr`.
const MERGED: [&str; 4] = ["bin", "lib", "lib64", "sbin"];

/// Names of packages by the package that depends on them: an alternative is each a name of its own.
type Dependencies = BTreeMap<String, Vec<Vec<String>>>;

/// The files of these packages and of those that they depend on, as an image has them, with the users
/// that every system has.
///
/// # Errors
/// If one of them is not installed.
pub(super) fn files(packages: &[&str]) -> Result<Files> {
    let query = [
        "--showformat",
        "${Package}\t${Pre-Depends}, ${Depends}\n",
        "--show",
    ];
    let installed = output_of(Command::new("dpkg-query").args(query))?;
    let installed = parse(&String::from_utf8_lossy(&installed));
    let mut files = Files::default()
        .with("etc/passwd", "root:x:0:0::/:/bin/sh\n")
        .with("etc/group", "root:x:0:\n");
    for link in MERGED {
        files = files.with_link(link, &format!("usr/{link}"));
    }
    for package in closure(&installed, packages) {
        let list = output_of(Command::new("dpkg-query").args(["--listfiles", &package]))?;
        for path in String::from_utf8_lossy(&list).lines() {
            if UNREAD.iter().all(|folder| !path.starts_with(folder)) {
                files = with_file(files, Path::new(path))?;
            }
        }
    }
    Ok(files)
}

fn with_file(files: Files, path: &Path) -> Result<Files> {
    use std::os::unix::fs::PermissionsExt as _;
    // Packages also list what others have diverted, and lines that are no paths.
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return Ok(files);
    };
    let inside = place(path)?;
    if metadata.is_symlink() {
        let target = fs::read_link(path).with_context(|| cannot("read", path))?;
        // The folders of the root are links already.
        let is_merged = MERGED.iter().any(|folder| inside == *folder);
        return Ok(if is_merged {
            files
        } else {
            files.with_link(&inside, &target.to_string_lossy())
        });
    }
    if !metadata.is_file() {
        return Ok(files);
    }
    let content = fs::read(path).with_context(|| cannot("read", path))?;
    // Whether it is a program matters, not who may write it.
    let mode = 0o644 | (metadata.permissions().mode() & 0o111);
    Ok(files.with_mode(&inside, mode, content))
}

/// Path below the root of the image: in `/usr`, where the machine's root has links.
fn place(path: &Path) -> Result<String> {
    let folder = path.parent().unwrap_or(path);
    let folder: PathBuf = folder
        .canonicalize()
        .with_context(|| cannot("find", folder))?;
    let path = folder.join(path.file_name().unwrap_or_default());
    Ok(path.to_string_lossy().trim_start_matches('/').to_owned())
}

/// Reads lines of a package, a tab and its dependencies as `dpkg-query` prints them.
fn parse(text: &str) -> Dependencies {
    let name = |text: &str| {
        let name = text.split(['(', ':', '[']).next().unwrap_or_default();
        name.trim().to_owned()
    };
    let lines = text.lines().filter_map(|line| line.split_once('\t'));
    lines
        .map(|(package, dependencies)| {
            let dependencies = dependencies.split(',').filter(|one| !one.trim().is_empty());
            let alternatives = dependencies.map(|one| one.split('|').map(name).collect());
            (package.to_owned(), alternatives.collect())
        })
        .collect()
}

/// These packages and what they depend on, as far as it is installed: the rest is virtual.
fn closure(installed: &Dependencies, packages: &[&str]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<String> = packages.iter().map(|&package| package.to_owned()).collect();
    while let Some(package) = open.pop() {
        if LEFT_OUT.contains(&package.as_str()) || found.contains(&package) {
            continue;
        }
        for alternatives in installed.get(&package).into_iter().flatten() {
            let chosen = alternatives.iter().find(|one| installed.contains_key(*one));
            open.extend(chosen.cloned());
        }
        found.insert(package);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_brings_what_it_depends_on() {
        let installed = parse(
            "a\tlibc6 (>= 2.34), b:any | c, perl-base, virtual\n\
             b\t, libc6\n\
             c\t, \n\
             libc6\t, libgcc-s1\n\
             libgcc-s1\tgcc-12-base (= 12.2), libc6\n\
             perl-base\t, \n",
        );
        let found = closure(&installed, &["a"]);
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            ["a", "b", "libc6", "libgcc-s1"],
            "the first alternative that is installed, and nothing for administrators"
        );
    }
}
