//! The folder with the built components.
//!
//! ```text
//! bin/<name>          a program
//! crds/<name>.yaml    custom resource definitions
//! …/<file>.stamp      its version, and the digest of the pins that it was built from
//! lock                held by the one run that builds
//! ```

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::{env, path};

use anyhow::{Context, Result};

use super::DIR_VARIABLE;
use super::components::{Component, Part};
use super::pins::Pins;
use crate::cannot;

/// The cache folder.
pub(crate) struct Cache {
    dir: PathBuf,
}

impl Cache {
    /// The folder that the environment names; it need not exist.
    pub(crate) fn from_environment() -> Result<Self> {
        let dir = locate(|variable| env::var_os(variable)).with_context(|| {
            format!("no place for the real components: set {DIR_VARIABLE} or HOME to a folder")
        })?;
        // Tests are started in other folders and get this path.
        let dir = path::absolute(&dir).with_context(|| cannot("use", &dir))?;
        Ok(Self { dir })
    }

    /// The cache in another folder.
    pub(crate) fn at(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// The folder itself.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the path of the program or file, whether it exists or not.
    pub(crate) fn path_of(&self, pins: &Pins) -> PathBuf {
        let Component { name, part, .. } = pins.component;
        match part {
            Part::Program { .. } => self.dir.join("bin").join(name),
            Part::Definitions { .. } => self.dir.join("crds").join(format!("{name}.yaml")),
        }
    }

    fn stamp_path_of(&self, pins: &Pins) -> PathBuf {
        self.path_of(pins).with_added_extension("stamp")
    }

    /// Returns whether the program is here, built from exactly these pins.
    pub(crate) fn holds(&self, pins: &Pins) -> Result<bool> {
        let stamp = self.stamp_path_of(pins);
        match fs::read_to_string(&stamp) {
            Ok(found) => Ok(found == stamp_of(pins) && self.path_of(pins).is_file()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error).with_context(|| cannot("read", &stamp)),
        }
    }

    /// Lets `build` write the program to the path it is given, then puts it in its place.
    ///
    /// A program that a test is running stays whole: the new one is renamed over it.
    /// The stamp is removed first, so that an interrupted run builds again.
    pub(crate) fn store(&self, pins: &Pins, build: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let (binary, stamp) = (self.path_of(pins), self.stamp_path_of(pins));
        let partial = binary.with_added_extension("partial");
        remove(&stamp)?;
        if let Err(error) = build(&partial) {
            remove(&partial)?;
            return Err(error);
        }
        fs::rename(&partial, &binary).with_context(|| cannot("rename", &partial))?;
        fs::write(&stamp, stamp_of(pins)).with_context(|| cannot("write", &stamp))
    }

    /// Creates the folder and keeps other runs out of it until the returned file is dropped.
    pub(crate) fn lock(&self, out: &mut impl Write) -> Result<File> {
        for folder in ["bin", "crds"] {
            let folder = self.dir.join(folder);
            fs::create_dir_all(&folder).with_context(|| cannot("create", &folder))?;
        }
        let path = self.dir.join("lock");
        let file = File::create(&path).with_context(|| cannot("create", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                writeln!(
                    out,
                    "waiting for another run that builds in {}",
                    self.dir.display()
                )?;
                file.lock().with_context(|| cannot("lock", &path))?;
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| cannot("lock", &path));
            }
        }
        Ok(file)
    }
}

fn stamp_of(pins: &Pins) -> String {
    format!("{} sha256:{}\n", pins.version, pins.digest)
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| cannot("remove", path))
        }
        _ => Ok(()),
    }
}

/// The folder by the variables' values; an empty one is not set.
fn locate(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| {
        variable(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set(DIR_VARIABLE)
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("asya-real")))
        .or_else(|| Some(set("HOME")?.join(".cache/asya-real")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_the_callers_else_in_the_users_cache() {
        let cases: [(&str, [&str; 3], Option<&str>); 5] = [
            ("named", ["/real", "/xdg", "/home/ann"], Some("/real")),
            (
                "by the desktop standard",
                ["", "/xdg", "/home/ann"],
                Some("/xdg/asya-real"),
            ),
            (
                "an empty variable is not set",
                ["", "", "/home/ann"],
                Some("/home/ann/.cache/asya-real"),
            ),
            ("a name is enough", ["/real", "", ""], Some("/real")),
            ("nothing is known", ["", "", ""], None),
        ];
        for (reason, values, expected) in cases {
            let found = locate(|name| {
                let names = [DIR_VARIABLE, "XDG_CACHE_HOME", "HOME"];
                let index = names.iter().position(|known| *known == name)?;
                Some(values[index].into())
            });
            assert_eq!(found.as_deref(), expected.map(Path::new), "{reason}");
        }
    }
}
