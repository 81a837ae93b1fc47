//! The image under another one, from a folder in the OCI layout.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use oci_spec::image::{Descriptor, ImageConfiguration, ImageIndex, ImageManifest, MediaType, Os};
use serde::de::DeserializeOwned;

use super::layer::digest;
use super::platform::Platform;
use crate::cannot;

/// An image to build upon.
#[derive(Debug, Clone, Default)]
pub(crate) struct Base {
    pub(super) configuration: ImageConfiguration,
    /// From bottom to top.
    pub(super) layers: Vec<Descriptor>,
    /// The layers' content, by digest.
    pub(super) blobs: BTreeMap<String, Vec<u8>>,
    /// Digest of its manifest.
    pub(super) digest: Option<String>,
}

impl Base {
    /// Reads the image for that platform.
    ///
    /// # Errors
    /// If the folder has none for it, or a blob is missing or does not match its digest.
    pub(super) fn read(folder: &Path, platform: Platform) -> Result<Self> {
        let layout = Layout(folder);
        let path = folder.join("index.json");
        let index = fs::read(&path).with_context(|| cannot("read", &path))?;
        let index = parse(&index, &path)?;
        let manifest = layout.find(&index, platform)?;
        let digest = manifest.digest().to_string();
        let manifest: ImageManifest = layout.document(&manifest)?;
        let configuration: ImageConfiguration = layout.document(manifest.config())?;
        if *configuration.architecture() != platform.arch() {
            bail!(
                "the image in `{}` is for {}, not {platform}",
                folder.display(),
                configuration.architecture()
            );
        }
        let mut blobs = BTreeMap::new();
        for layer in manifest.layers() {
            blobs.insert(layer.digest().to_string(), layout.blob(layer)?);
        }
        Ok(Self {
            configuration,
            layers: manifest.layers().clone(),
            blobs,
            digest: Some(digest),
        })
    }
}

/// A folder in the OCI layout.
struct Layout<'a>(&'a Path);

impl Layout<'_> {
    /// The image for that platform, in the index or in one that it lists.
    fn find(&self, index: &ImageIndex, platform: Platform) -> Result<Descriptor> {
        let manifests = index.manifests();
        let of_platform = manifests.iter().find(|manifest| {
            let named = manifest.platform().as_ref();
            named.is_some_and(|named| {
                *named.architecture() == platform.arch() && *named.os() == Os::Linux
            })
        });
        // An index of one entry need not name its platform.
        let alone = manifests
            .first()
            .filter(|only| manifests.len() == 1 && only.platform().is_none());
        match of_platform.or(alone) {
            Some(found) if *found.media_type() == MediaType::ImageIndex => {
                self.find(&self.document(found)?, platform)
            }
            Some(found) => Ok(found.clone()),
            None => bail!(
                "`{}` has no image for {platform}",
                self.0.join("index.json").display()
            ),
        }
    }

    fn document<T: DeserializeOwned>(&self, described: &Descriptor) -> Result<T> {
        parse(&self.blob(described)?, &self.path(described)?)
    }

    fn blob(&self, described: &Descriptor) -> Result<Vec<u8>> {
        let path = self.path(described)?;
        let bytes = fs::read(&path).with_context(|| cannot("read", &path))?;
        if digest(&bytes) != described.digest().to_string() {
            bail!(
                "`{}` does not match its name: fetch it again",
                path.display()
            );
        }
        Ok(bytes)
    }

    fn path(&self, described: &Descriptor) -> Result<PathBuf> {
        let Some(hash) = described.as_digest_sha256() else {
            bail!(
                "digest {:?} is not by sha256",
                described.digest().to_string()
            );
        };
        Ok(self.0.join("blobs/sha256").join(hash))
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8], path: &Path) -> Result<T> {
    serde_json::from_slice(bytes).with_context(|| cannot("understand", path))
}

#[cfg(test)]
mod tests {
    use super::super::image::{Process, Recipe};
    use super::super::layer::Files;
    use super::super::layout;
    use super::*;

    /// An image of one file on `base`.
    fn recipe(base: Option<Base>, file: &str) -> Recipe {
        Recipe {
            platform: Platform::Amd64,
            about: [("title".to_owned(), file.to_owned())].into(),
            base,
            layers: vec![Files::default().with(file, "x").into_layer(None).unwrap()],
            process: Some(Process {
                env: vec![("PYTHONPATH", "/app".to_owned())],
                working_dir: Some("/app"),
                ..Process::default()
            }),
        }
    }

    fn base_in(folder: &Path) -> Base {
        let image = recipe(None, "python3").make().unwrap();
        layout::write_folder(&image, "base:v1", folder).unwrap();
        Base::read(folder, Platform::Amd64).unwrap()
    }

    #[test]
    fn settings_of_the_base_image_are_kept_unless_overridden() {
        let folder = tempfile::tempdir().unwrap();
        let mut base = base_in(&folder.path().join("base"));
        let mut config = base.configuration.config().clone().unwrap();
        config.set_entrypoint(Some(vec!["python3".to_owned()]));
        config.set_env(Some(vec![
            "PATH=/usr/bin".to_owned(),
            "PYTHONPATH=/other".to_owned(),
        ]));
        base.configuration.set_config(Some(config));

        let image = recipe(Some(base), "handler.py").make().unwrap();
        layout::write_folder(&image, "on-it:v1", &folder.path().join("on-it")).unwrap();
        let read = Base::read(&folder.path().join("on-it"), Platform::Amd64).unwrap();
        let config = read.configuration.config().clone().unwrap();
        let env = config.env().clone().unwrap();
        assert_eq!(env, ["PATH=/usr/bin", "PYTHONPATH=/app"]);
        assert_eq!(config.entrypoint().clone().unwrap(), ["python3"]);
        assert_eq!(read.layers.len(), 2);
        assert_eq!(read.configuration.history().clone().unwrap().len(), 2);
    }

    #[test]
    fn an_unsuitable_base_image_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let base = base_in(folder.path());
        let error = |platform| {
            let error = Base::read(folder.path(), platform).unwrap_err();
            format!("{error:#}")
        };
        assert!(error(Platform::Arm64).ends_with("has no image for linux/arm64"));
        let digest = base.layers[0].digest().to_string().replace(':', "/");
        fs::write(folder.path().join("blobs").join(digest), "cut").unwrap();
        assert!(error(Platform::Amd64).ends_with("does not match its name: fetch it again"));
        fs::remove_file(folder.path().join("index.json")).unwrap();
        assert!(error(Platform::Amd64).starts_with("cannot read"));
    }
}
