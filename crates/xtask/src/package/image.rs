//! Images: layers, entry point, user, and annotations.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context, Result};
use oci_spec::image::{
    Config, Descriptor, DescriptorBuilder, Digest, HistoryBuilder, ImageConfiguration,
    ImageConfigurationBuilder, ImageManifestBuilder, MediaType, Os, RootFsBuilder, SCHEMA_VERSION,
};
use serde::Serialize;

use super::base::Base;
use super::layer::{Layer, ROLE_KEY, digest};
use super::platform::Platform;

/// Creation time of all content: the same on every machine.
const CREATED: &str = "1970-01-01T00:00:00Z";

/// The process's user: a number, since the kubelet cannot know whether a name is root. It is the
/// one that Crossplane sets for what it runs itself.
pub(super) const USER: &str = "2000:2000";

/// The content of an image.
#[derive(Debug)]
pub(crate) struct Recipe {
    pub(crate) platform: Platform,
    /// The image's OCI annotations, by key.
    pub(crate) about: BTreeMap<String, String>,
    /// Base image under `layers`; none for an image from scratch.
    pub(crate) base: Option<Base>,
    /// From bottom to top.
    pub(crate) layers: Vec<Layer>,
    /// None for an image that is never run.
    pub(crate) process: Option<Process>,
}

/// Entry point, run as [`USER`].
#[derive(Debug, Default)]
pub(crate) struct Process {
    /// The program, which needs no arguments; empty for that of the base.
    pub(crate) entrypoint: Vec<String>,
    /// Ports that it listens on.
    pub(crate) ports: &'static [u16],
    /// Variables, beside those of the base.
    pub(crate) env: Vec<(&'static str, String)>,
    /// The signal that asks it to end; none for SIGTERM.
    pub(crate) stop_signal: Option<&'static str>,
    /// Working directory; none for that of the base.
    pub(crate) working_dir: Option<&'static str>,
}

/// A whole image.
#[derive(Debug)]
pub(crate) struct Image {
    /// Blobs of the image, by digest.
    pub(super) blobs: BTreeMap<String, Vec<u8>>,
    pub(super) manifest: Descriptor,
    /// Digest of the configuration.
    pub(super) config: String,
    /// Digests of the layers, from bottom to top.
    pub(crate) layers: Vec<String>,
}

impl Recipe {
    /// Makes the image.
    pub(crate) fn make(self) -> Result<Image> {
        self.assemble().context("cannot assemble an image")
    }

    fn assemble(self) -> Result<Image> {
        let configuration = self.configuration()?;
        let base = self.base.unwrap_or_default();
        let mut about = self.about;
        if let Some(digest) = base.digest {
            about.insert("org.opencontainers.image.base.digest".to_owned(), digest);
        }
        let mut blobs = base.blobs;
        let mut layers = base.layers;
        for layer in self.layers {
            let role = layer
                .role
                .map(|role| (ROLE_KEY.to_owned(), role.as_str().to_owned()));
            let mut described = describe_known(layer.media_type, &layer.digest, layer.bytes.len())?;
            described.set_annotations(role.map(|role| HashMap::from([role])));
            blobs.insert(layer.digest, layer.bytes);
            layers.push(described);
        }
        let config = described(&mut blobs, MediaType::ImageConfig, &configuration)?;
        let config_digest = config.digest().to_string();
        let layer_digests = layers.iter().map(|layer| layer.digest().to_string());
        let layer_digests = layer_digests.collect();
        let manifest = ImageManifestBuilder::default()
            .schema_version(SCHEMA_VERSION)
            .media_type(MediaType::ImageManifest)
            .config(config)
            .layers(layers)
            .annotations(HashMap::from_iter(about))
            .build()?;
        let mut manifest = described(&mut blobs, MediaType::ImageManifest, &manifest)?;
        manifest.set_platform(Some(
            oci_spec::image::PlatformBuilder::default()
                .architecture(self.platform.arch())
                .os(Os::Linux)
                .build()?,
        ));
        Ok(Image {
            blobs,
            manifest,
            config: config_digest,
            layers: layer_digests,
        })
    }

    fn configuration(&self) -> Result<ImageConfiguration> {
        let base = self.base.as_ref().map(|base| &base.configuration);
        let of_base = base.and_then(|base| base.config().clone());
        let mut diff_ids = base.map_or_else(Vec::new, |base| base.rootfs().diff_ids().clone());
        diff_ids.extend(self.layers.iter().map(|layer| layer.diff_id.clone()));
        let mut history = base
            .and_then(|base| base.history().clone())
            .unwrap_or_default();
        for _ in &self.layers {
            let entry = HistoryBuilder::default().created(CREATED);
            history.push(entry.created_by("cargo xtask package").build()?);
        }
        Ok(ImageConfigurationBuilder::default()
            .created(CREATED)
            .architecture(self.platform.arch())
            .os(Os::Linux)
            .config(self.config(of_base.unwrap_or_default()))
            .rootfs(
                RootFsBuilder::default()
                    .typ("layers")
                    .diff_ids(diff_ids)
                    .build()?,
            )
            .history(history)
            .build()?)
    }

    fn config(&self, of_base: Config) -> Config {
        let mut labels = of_base.labels().clone().unwrap_or_default();
        labels.extend(self.about.clone());
        for layer in &self.layers {
            let role = layer.role.map(|role| role.as_str().to_owned());
            labels.extend(role.map(|role| (format!("{ROLE_KEY}:{}", layer.digest), role)));
        }
        let mut config = of_base;
        config.set_labels(Some(labels));
        let Some(process) = &self.process else {
            return config;
        };
        config.set_user(Some(USER.to_owned()));
        if !process.entrypoint.is_empty() {
            config.set_entrypoint(Some(process.entrypoint.clone()));
        }
        if !process.ports.is_empty() {
            let ports = process.ports.iter().map(|port| format!("{port}/tcp"));
            config.set_exposed_ports(Some(ports.collect()));
        }
        if !process.env.is_empty() {
            let mut env = config.env().clone().unwrap_or_default();
            env.retain(|variable| {
                let name = variable.split('=').next();
                process.env.iter().all(|(given, _)| name != Some(given))
            });
            let given = process.env.iter();
            env.extend(given.map(|(name, value)| format!("{name}={value}")));
            config.set_env(Some(env));
        }
        if let Some(signal) = process.stop_signal {
            config.set_stop_signal(Some(signal.to_owned()));
        }
        if let Some(folder) = process.working_dir {
            config.set_working_dir(Some(folder.to_owned()));
        }
        config
    }
}

/// Adds a document to the blobs and describes it.
fn described(
    blobs: &mut BTreeMap<String, Vec<u8>>,
    media_type: MediaType,
    document: &impl Serialize,
) -> Result<Descriptor> {
    let bytes = json(document)?;
    let described = describe(media_type, &bytes)?;
    blobs.insert(described.digest().to_string(), bytes);
    Ok(described)
}

fn describe(media_type: MediaType, bytes: &[u8]) -> Result<Descriptor> {
    describe_known(media_type, &digest(bytes), bytes.len())
}

/// Describes content whose digest is known.
fn describe_known(media_type: MediaType, digest: &str, size: usize) -> Result<Descriptor> {
    let digest: Digest = digest.parse()?;
    Ok(DescriptorBuilder::default()
        .media_type(media_type)
        .digest(digest)
        .size(size as u64)
        .build()?)
}

/// JSON whose maps are sorted; those of the image's types are not.
pub(super) fn json(document: &impl Serialize) -> Result<Vec<u8>> {
    Ok(serde_json::to_vec(&serde_json::to_value(document)?)?)
}
