//! The files that an actor's runtime container runs: script, adapters and end actors. They are part of
//! this program, so that sidecar and runtime of a pod are of one version.

use std::fs;
use std::io;
use std::path::Path;

/// A file, by its path below the folder.
#[derive(Debug, Clone, Copy)]
pub struct RuntimeFile {
    /// Path with `/`.
    pub path: &'static str,
    /// Content.
    pub content: &'static str,
}

macro_rules! file {
    ($path:literal) => {
        RuntimeFile {
            path: $path,
            content: include_str!(concat!("../../../runtime/", $path)),
        }
    };
}

/// All of them.
pub const FILES: &[RuntimeFile] = &[
    file!("adapters/__init__.py"),
    file!("adapters/_adapter.py"),
    file!("adapters/_client.py"),
    file!("adapters/_open_inference.py"),
    file!("adapters/_openai_stream.py"),
    file!("adapters/_settings.py"),
    file!("adapters/_tensors.py"),
    file!("adapters/errors.py"),
    file!("adapters/http.py"),
    file!("adapters/kaito_openai.py"),
    file!("adapters/kserve_v2.py"),
    file!("adapters/triton.py"),
    file!("asya_runtime.py"),
    file!("asya_state_client.py"),
    file!("asya_state_files.py"),
    file!("asya_state_proxy.py"),
    file!("end_actors/__init__.py"),
];

/// Writes all files below a folder, over those of an earlier version.
///
/// # Errors
/// When one cannot be written, with its path.
pub fn write(folder: &Path) -> io::Result<()> {
    for file in FILES {
        let path = folder.join(file.path);
        let failed = |error: io::Error| {
            let text = format!("cannot write {}: {error}", path.display());
            io::Error::new(error.kind(), text)
        };
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        fs::write(&path, file.content).map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The Python files of a folder that runs in pods.
    fn python_files(root: &Path, folder: &str) -> BTreeSet<String> {
        let entries = fs::read_dir(root.join(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let names = names.filter(|name| {
            Path::new(name)
                .extension()
                .is_some_and(|extension| extension == "py")
        });
        names.map(|name| format!("{folder}{name}")).collect()
    }

    #[test]
    fn every_file_of_the_runtime_is_here_and_is_written() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtime");
        let folders = ["", "adapters/", "end_actors/"];
        let expected: BTreeSet<String> = folders
            .iter()
            .flat_map(|folder| python_files(&root, folder))
            .collect();
        let listed: BTreeSet<String> = FILES.iter().map(|file| file.path.to_owned()).collect();
        assert_eq!(listed, expected);
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).unwrap();
        for path in &expected {
            let written = fs::read(folder.path().join(path)).unwrap();
            assert_eq!(written, fs::read(root.join(path)).unwrap(), "{path}");
        }
    }
}
