//! Settings in the function's own environment.

use std::path::{Path, PathBuf};

use crate::runtime_script::Script;

/// The variable with the sidecar image of actors for which nothing else names one.
pub const IMAGE_VARIABLE: &str = "ASYA_SIDECAR_IMAGE";
/// The variable with the path of a runtime script in place of the embedded ones.
pub const SCRIPT_VARIABLE: &str = "ASYA_RUNTIME_SCRIPT_PATH";

/// Read once, when the function starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    /// Sidecar image of actors for which nothing else names one.
    pub sidecar_image: Option<String>,
    /// Runtime script in place of the embedded ones.
    pub script: Option<Script>,
}

/// The function cannot start.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the runtime script {path:?}, which {SCRIPT_VARIABLE} names")]
pub struct ReadScriptError {
    /// The file.
    pub path: PathBuf,
    /// Cause.
    pub source: std::io::Error,
}

impl Config {
    /// Reads [`IMAGE_VARIABLE`], [`SCRIPT_VARIABLE`] and the script. An empty
    /// variable is one that is not set.
    ///
    /// # Errors
    /// When the script cannot be read.
    pub fn from_env() -> Result<Self, ReadScriptError> {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        Ok(Self {
            sidecar_image: variable(IMAGE_VARIABLE),
            script: match variable(SCRIPT_VARIABLE) {
                Some(path) => Some(read_script(Path::new(&path))?),
                None => None,
            },
        })
    }
}

fn read_script(path: &Path) -> Result<Script, ReadScriptError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Script::new(text)),
        Err(source) => Err(ReadScriptError {
            path: path.to_owned(),
            source,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("asya_runtime.py");
        std::fs::write(&path, "print('ä')\n").unwrap();
        assert_eq!(read_script(&path).unwrap(), Script::new("print('ä')\n"));
    }

    #[test]
    fn a_script_that_cannot_be_read_is_named() {
        let error = read_script(Path::new("/nowhere/asya_runtime.py")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot read the runtime script \"/nowhere/asya_runtime.py\", which ASYA_RUNTIME_SCRIPT_PATH names"
        );
    }
}
