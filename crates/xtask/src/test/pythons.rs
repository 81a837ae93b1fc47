//! The interpreters with which the tests of the runtime run.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Minor versions of Python 3 that the runtime supports; see `runtime/README.md`.
const SUPPORTED: std::ops::RangeInclusive<u32> = 8..=14;

/// `python3`, and the oldest and the newest of the other supported versions that are installed: on the
/// `PATH` as `python3.<minor>`, or by pyenv.
pub(super) fn to_test_with() -> Vec<PathBuf> {
    let usual = PathBuf::from("python3");
    let others = installed(minor_of(&usual));
    let ends = [others.first_key_value(), others.last_key_value()];
    let mut chosen: Vec<PathBuf> = ends
        .into_iter()
        .flatten()
        .map(|(_, path)| path.clone())
        .collect();
    chosen.dedup();
    chosen.insert(0, usual);
    chosen
}

/// Supported versions, except one, and where they are.
fn installed(except: Option<u32>) -> BTreeMap<u32, PathBuf> {
    let of_pyenv = env::var_os("PYENV_ROOT").map(PathBuf::from);
    let of_pyenv = of_pyenv.or_else(|| Some(env::home_dir()?.join(".pyenv")));
    let path = env::var_os("PATH").unwrap_or_default();
    let mut found = of_pyenv.map_or_else(BTreeMap::new, |root| in_pyenv(&root.join("versions")));
    for minor in SUPPORTED {
        let name = format!("python3.{minor}");
        let mut places = env::split_paths(&path).map(|folder| folder.join(&name));
        if let Some(place) = places.find(|place| place.is_file()) {
            found.insert(minor, place);
        }
    }
    // A wrapper of a version that is not installed is no interpreter.
    found.retain(|minor, path| Some(*minor) != except && minor_of(path) == Some(*minor));
    found
}

/// The versions below a folder of pyenv, such as `3.8.18/bin/python3`.
fn in_pyenv(versions: &Path) -> BTreeMap<u32, PathBuf> {
    let entries = fs::read_dir(versions).into_iter().flatten().flatten();
    let versions = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let minor = name.strip_prefix("3.")?.split('.').next()?.parse().ok()?;
        let program = entry.path().join("bin/python3");
        (SUPPORTED.contains(&minor) && program.is_file()).then_some((minor, program))
    });
    versions.collect()
}

fn minor_of(python: &Path) -> Option<u32> {
    let question = "import sys; print(sys.version_info[1])";
    let answer = Command::new(python).args(["-c", question]).output().ok()?;
    String::from_utf8(answer.stdout).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_supported_versions_of_pyenv_with_an_interpreter_are_found() {
        let folder = tempfile::tempdir().unwrap();
        for (version, has_program) in [
            ("2.7.18", true),
            ("3.7.16", true),
            ("3.8.18", true),
            ("3.13.0", true),
            ("3.12.1", false),
            ("pypy3.10-7.3", true),
        ] {
            let bin = folder.path().join(version).join("bin");
            fs::create_dir_all(&bin).unwrap();
            if has_program {
                fs::write(bin.join("python3"), "").unwrap();
            }
        }
        let found: Vec<u32> = in_pyenv(folder.path()).into_keys().collect();
        assert_eq!(found, [8, 13]);
    }
}
