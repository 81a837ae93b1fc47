//! A folder that holds everything that rendering one example needs.

use std::path::{Path, PathBuf};

/// The file that makes a folder an example.
const XR: &str = "xr.yaml";

/// A folder with `xr.yaml`, and beside it what else is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Example<'a>(&'a Path);

impl<'a> Example<'a> {
    /// The folder as an example, if it is one.
    pub(super) fn at(path: &'a Path) -> Option<Self> {
        path.join(XR).is_file().then_some(Self(path))
    }

    /// The file with the XR.
    pub(super) fn xr(&self) -> PathBuf {
        self.0.join(XR)
    }

    /// The Composition, where the example has its own.
    pub(super) fn composition(&self) -> Option<PathBuf> {
        self.existing("composition.yaml")
    }

    /// Flavors and the platform's settings.
    pub(super) fn required(&self) -> Vec<PathBuf> {
        let files = ["flavors.yaml", "platform.yaml"].map(|name| self.existing(name));
        files.into_iter().flatten().collect()
    }

    /// Composed objects that exist already.
    pub(super) fn observed(&self) -> Option<PathBuf> {
        self.existing("observed.yaml")
    }

    /// What the cluster serves.
    pub(super) fn schemas(&self) -> Option<PathBuf> {
        self.existing("schemas")
    }

    fn existing(&self, name: &str) -> Option<PathBuf> {
        Some(self.0.join(name)).filter(|path| path.exists())
    }
}
