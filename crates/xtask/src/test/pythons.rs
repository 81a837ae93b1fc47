//! The interpreters with which the tests of the runtime run.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Minor versions of Python 3 that the runtime supports; see `runtime/README.md`.
const SUPPORTED: std::ops::RangeInclusive<u32> = 8..=14;

/// An interpreter of Python 3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Interpreter {
    /// Its program.
    pub(super) path: PathBuf,
    /// Its minor version, if it reports one.
    minor: Option<u32>,
}

/// `python3`, and the oldest and the newest of the other supported versions that are installed: on the
/// `PATH` as `python3.<minor>`, or by pyenv.
pub(super) fn to_test_with() -> Vec<Interpreter> {
    let path = PathBuf::from("python3");
    let minor = minor_of(&path);
    let others = installed(minor);
    let ends = [others.first_key_value(), others.last_key_value()];
    let ends = ends.into_iter().flatten();
    let mut chosen: Vec<Interpreter> = ends
        .map(|(minor, path)| Interpreter {
            path: path.clone(),
            minor: Some(*minor),
        })
        .collect();
    chosen.dedup();
    chosen.insert(0, Interpreter { path, minor });
    chosen
}

/// One line: the versions with which the runtime was tested, and the supported ones that were not.
pub(super) fn summary(ran: &[Interpreter]) -> String {
    let minors: BTreeSet<u32> = ran.iter().filter_map(|python| python.minor).collect();
    let shown = |minors: &mut dyn Iterator<Item = u32>| {
        let versions: Vec<String> = minors.map(|minor| format!("3.{minor}")).collect();
        if versions.is_empty() {
            "none".to_owned()
        } else {
            versions.join(", ")
        }
    };
    format!(
        "Python versions of the runtime's tests: {}; not run: {}",
        shown(&mut minors.iter().copied()),
        shown(&mut SUPPORTED.filter(|minor| !minors.contains(minor)))
    )
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

    #[test]
    fn versions_that_were_run_and_those_that_were_not_are_named() {
        let python = |minor| Interpreter {
            path: PathBuf::from("python3"),
            minor,
        };
        let cases = [
            (
                vec![python(Some(11)), python(Some(8)), python(Some(13))],
                "3.8, 3.11, 3.13; not run: 3.9, 3.10, 3.12, 3.14",
            ),
            (
                vec![python(None)],
                "none; not run: 3.8, 3.9, 3.10, 3.11, 3.12, 3.13, 3.14",
            ),
            (
                SUPPORTED.map(|minor| python(Some(minor))).collect(),
                "3.8, 3.9, 3.10, 3.11, 3.12, 3.13, 3.14; not run: none",
            ),
        ];
        for (ran, expected) in cases {
            let expected = format!("Python versions of the runtime's tests: {expected}");
            assert_eq!(summary(&ran), expected);
        }
    }
}
