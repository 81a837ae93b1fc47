//! Layers of images: the same files give the same bytes, on every machine and at any time.
//!
//! Entries are sorted, owned by root and of the year 1970, and the compressed stream names neither
//! a time nor a system.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use oci_spec::image::MediaType;
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

/// Annotation by which Crossplane's tools find a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// `package.yaml`. At most one layer has this role.
    Package,
    /// `.up/examples.yaml`.
    Examples,
}

impl Role {
    /// Value of [`ROLE_KEY`]. Source: `pkg/xpkg` of crossplane-runtime 2.3.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Package => "base",
            Self::Examples => "upbound",
        }
    }
}

/// Annotation of a layer's descriptor with its role. In a tarball, which has no descriptors, labels
/// of the image take its place: this, a colon and the layer's digest.
pub(super) const ROLE_KEY: &str = "io.crossplane.xpkg";

/// Files by their path, which is relative to the image's root.
#[derive(Debug, Default)]
pub(crate) struct Files(BTreeMap<String, Entry>);

/// One entry of a layer.
#[derive(Debug)]
enum Entry {
    File { mode: u32, content: Vec<u8> },
    Link { target: String },
    Folder { mode: u32 },
}

impl Files {
    /// The same files and one more that everybody can read.
    #[must_use]
    pub(crate) fn with(self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.with_mode(path, 0o644, content)
    }

    /// The same files and one more that everybody can run.
    #[must_use]
    pub(crate) fn with_program(self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.with_mode(path, 0o755, content)
    }

    /// The same files and one more with these permissions.
    #[must_use]
    pub(crate) fn with_mode(self, path: &str, mode: u32, content: impl Into<Vec<u8>>) -> Self {
        let content = content.into();
        self.with_entry(path, Entry::File { mode, content })
    }

    /// The same files and a symbolic link.
    #[must_use]
    pub(crate) fn with_link(self, path: &str, target: &str) -> Self {
        let target = target.to_owned();
        self.with_entry(path, Entry::Link { target })
    }

    /// The same files and a folder with these permissions. Folders of files need not be added.
    #[must_use]
    pub(crate) fn with_folder(self, path: &str, mode: u32) -> Self {
        self.with_entry(path, Entry::Folder { mode })
    }

    fn with_entry(mut self, path: &str, entry: Entry) -> Self {
        self.0.insert(path.to_owned(), entry);
        self
    }

    /// Packs them, as small as possible.
    #[cfg(test)]
    pub(super) fn into_layer(self, role: Option<Role>) -> Result<Layer> {
        self.into_layer_with(role, Compression::best())
    }

    /// Packs them; without compression the layer is a plain archive, which is quick to make.
    pub(crate) fn into_layer_with(
        self,
        role: Option<Role>,
        compression: Compression,
    ) -> Result<Layer> {
        let tar = self.tar().context("cannot pack a layer")?;
        let diff_id = digest(&tar);
        if compression == Compression::none() {
            return Ok(Layer {
                media_type: MediaType::ImageLayer,
                digest: diff_id.clone(),
                diff_id,
                bytes: tar,
                role,
            });
        }
        let mut gzip = GzBuilder::new().write(Vec::new(), compression);
        gzip.write_all(&tar)
            .and_then(|()| gzip.finish())
            .map(|bytes| Layer {
                media_type: MediaType::ImageLayerGzip,
                digest: digest(&bytes),
                diff_id,
                bytes,
                role,
            })
            .context("cannot compress a layer")
    }

    fn tar(self) -> std::io::Result<Vec<u8>> {
        let mut tar = Builder::new(Vec::new());
        for folder in self.folders() {
            let mut header = header(0o755, 0);
            header.set_entry_type(EntryType::Directory);
            tar.append_data(&mut header, format!("{folder}/"), std::io::empty())?;
        }
        for (path, entry) in self.0 {
            match entry {
                Entry::File { mode, content } => {
                    let mut header = header(mode, content.len() as u64);
                    tar.append_data(&mut header, path, content.as_slice())?;
                }
                Entry::Link { target } => {
                    let mut header = header(0o777, 0);
                    header.set_entry_type(EntryType::Symlink);
                    tar.append_link(&mut header, path, target)?;
                }
                Entry::Folder { mode } => {
                    let mut header = header(mode, 0);
                    header.set_entry_type(EntryType::Directory);
                    tar.append_data(&mut header, format!("{path}/"), std::io::empty())?;
                }
            }
        }
        tar.into_inner()
    }

    /// Every folder above a file, those above before those below.
    fn folders(&self) -> BTreeSet<String> {
        let paths = self.0.keys();
        paths
            .flat_map(|path| path.match_indices('/').map(|(at, _)| path[..at].to_owned()))
            .collect()
    }
}

/// The header of an entry, without a trace of who packs it.
pub(super) fn header(mode: u32, size: u64) -> Header {
    let mut header = Header::new_ustar();
    header.set_mode(mode);
    header.set_size(size);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header
}

/// A packed layer.
#[derive(Debug)]
pub(crate) struct Layer {
    pub(super) media_type: MediaType,
    /// Digest of `bytes`.
    pub(super) digest: String,
    /// Digest of what is in them without compression.
    pub(super) diff_id: String,
    pub(super) bytes: Vec<u8>,
    pub(super) role: Option<Role>,
}

/// `sha256:` and the hash.
pub(super) fn digest(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = "sha256:".to_owned();
    for byte in Sha256::digest(bytes) {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn the_order_in_which_files_are_added_does_not_matter() {
        let one = Files::default().with("a", "1").with("b/c", "2");
        let other = Files::default().with("b/c", "2").with("a", "1");
        let digests = [one, other].map(|files| files.into_layer(None).unwrap().digest);
        assert_eq!(digests[0], digests[1]);
    }

    #[test]
    fn a_layer_contains_no_time_and_no_user() {
        let files = Files::default()
            .with_program("program", "x")
            .with("etc/ssl/certs/a.crt", "y");
        let layer = files.into_layer(Some(Role::Package)).unwrap();
        assert_eq!(layer.bytes[4..8], [0; 4], "no time in the gzip header");
        let mut tar = Vec::new();
        GzDecoder::new(layer.bytes.as_slice())
            .read_to_end(&mut tar)
            .unwrap();
        assert_eq!(digest(&tar), layer.diff_id);
        let mut seen = Vec::new();
        for entry in tar::Archive::new(tar.as_slice()).entries().unwrap() {
            let entry = entry.unwrap();
            let header = entry.header();
            let owner = (header.uid().unwrap(), header.gid().unwrap());
            assert_eq!((owner, header.mtime().unwrap()), ((0, 0), 0));
            let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            seen.push((path, header.mode().unwrap()));
        }
        let expected = [
            ("etc/", 0o755),
            ("etc/ssl/", 0o755),
            ("etc/ssl/certs/", 0o755),
            ("etc/ssl/certs/a.crt", 0o644),
            ("program", 0o755),
        ];
        assert_eq!(seen, expected.map(|(path, mode)| (path.to_owned(), mode)));
    }
}
