//! The Python interpreter that runs handlers.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest version that the runtime script runs on.
const OLDEST: (u32, u32) = (3, 8);

/// An interpreter and its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Python {
    /// The program.
    pub program: PathBuf,
    /// Version, such as `3.11.7`.
    pub version: String,
}

/// Reason for which there is no interpreter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PythonError {
    /// The program does not exist.
    #[error("no Python interpreter {name:?}: install Python {}.{} or later, or name one with --python", OLDEST.0, OLDEST.1)]
    NotFound {
        /// As it was searched.
        name: String,
    },
    /// It does not answer as Python does.
    #[error("{program:?} does not run as a Python interpreter: {reason}")]
    Broken {
        /// The program.
        program: PathBuf,
        /// Reason, in one line.
        reason: String,
    },
    /// It is too old.
    #[error("{program:?} is Python {version}, and handlers need {}.{} or later: name another one with --python", OLDEST.0, OLDEST.1)]
    TooOld {
        /// The program.
        program: PathBuf,
        /// Its version.
        version: String,
    },
}

/// The interpreter of this name or path; else the one that the actor's container would run, where this
/// machine has it; else `python3`.
///
/// # Errors
/// When there is none, or it is too old.
pub(super) fn find(given: Option<&str>, of_container: &str) -> Result<Python, PythonError> {
    let name = given.unwrap_or_else(|| {
        let is_here = !of_container.is_empty() && locate(of_container).is_some();
        if is_here { of_container } else { "python3" }
    });
    let program = locate(name).ok_or_else(|| PythonError::NotFound {
        name: name.to_owned(),
    })?;
    let Python { program, version } = query(&program)?;
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if found < OLDEST {
        return Err(PythonError::TooOld { program, version });
    }
    Ok(Python { program, version })
}

/// The file of a program, by its path or in `PATH`.
pub(super) fn locate(name: &str) -> Option<PathBuf> {
    let path = Path::new(name);
    if path.components().count() > 1 {
        // Handlers run in another folder.
        return path
            .is_file()
            .then(|| std::path::absolute(path).ok())
            .flatten();
    }
    let paths = env::var_os("PATH")?;
    env::split_paths(&paths)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// Returns version and file of the interpreter behind a program. Both differ for a launcher such as a
/// shim of pyenv, which would run its shell script again for every process.
fn query(program: &Path) -> Result<Python, PythonError> {
    let broken = |reason: String| PythonError::Broken {
        program: program.to_owned(),
        reason,
    };
    let script =
        "import sys; print('.'.join(map(str, sys.version_info[:3]))); print(sys.executable)";
    let output = Command::new(program)
        .args(["-I", "-S", "-c", script])
        .output();
    let output = output.map_err(|error| broken(error.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines = text.lines().map(str::trim);
    let version = lines.next().unwrap_or_default().to_owned();
    if !output.status.success() || !version.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(broken(output.status.to_string()));
    }
    let executable = lines.next().map(PathBuf::from);
    Ok(Python {
        program: executable
            .filter(|file| file.is_file())
            .unwrap_or_else(|| program.to_owned()),
        version,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_launcher_is_replaced_by_its_interpreter() {
        let folder = tempfile::tempdir().unwrap();
        let launcher = folder.path().join("python3");
        fs::write(&launcher, "#!/bin/sh\nexec python3 \"$@\"\n").unwrap();
        fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).unwrap();
        let found = find(launcher.to_str(), "").unwrap();
        assert_ne!(found.program, launcher);
        assert_eq!(query(&found.program).unwrap(), found);
    }
}
