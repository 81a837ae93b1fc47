//! Images on disk: as a folder in the OCI layout, and as one file.
//!
//! The file is a tar archive of that folder with `manifest.json` beside it, so that tools that know
//! archives of either form read it: `crossplane xpkg` and `docker load` the one, others the other.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use oci_spec::image::{
    ANNOTATION_REF_NAME, ImageIndexBuilder, MediaType, OciLayoutBuilder, SCHEMA_VERSION,
};
use serde_json::json;
use tar::Builder;

use super::image::{Image, json};
use super::layer::header;
use crate::cannot;

/// Writes the folder anew.
pub(crate) fn write_folder(image: &Image, reference: &str, folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| cannot("remove", folder))?;
    }
    let blobs = folder.join("blobs/sha256");
    fs::create_dir_all(&blobs).with_context(|| cannot("create", &blobs))?;
    for (name, content) in files(image, reference)? {
        let path = folder.join(name);
        fs::write(&path, content).with_context(|| cannot("write", &path))?;
    }
    Ok(())
}

/// Writes the file. `reference` is what it is to be called once it is loaded.
pub(crate) fn write_archive(image: &Image, reference: &str, file: &Path) -> Result<()> {
    let mut files = files(image, reference)?;
    let path_of = |digest: &String| format!("blobs/{}", digest.replace(':', "/"));
    let manifest = json!([{
        "Config": path_of(&image.config),
        "RepoTags": [reference],
        "Layers": image.layers.iter().map(path_of).collect::<Vec<_>>(),
    }]);
    files.insert("manifest.json".to_owned(), json(&manifest)?);
    let archive = || {
        let mut tar = Builder::new(Vec::new());
        for (name, content) in &files {
            let mut header = header(0o644, content.len() as u64);
            tar.append_data(&mut header, name, content.as_slice())?;
        }
        tar.into_inner()
    };
    let bytes = archive().context("cannot pack an image")?;
    fs::write(file, bytes).with_context(|| cannot("write", file))
}

/// The files of the layout.
fn files(image: &Image, reference: &str) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut manifest = image.manifest.clone();
    // Tools ask by the tag alone, as in `oci:<folder>:v0.1.0`.
    let tag = reference.rsplit(':').next().unwrap_or(reference);
    let name = (ANNOTATION_REF_NAME.to_owned(), tag.to_owned());
    manifest.set_annotations(Some([name].into()));
    let index = ImageIndexBuilder::default()
        .schema_version(SCHEMA_VERSION)
        .media_type(MediaType::ImageIndex)
        .manifests(vec![manifest])
        .build()?;
    let layout = OciLayoutBuilder::default()
        .image_layout_version("1.0.0")
        .build()?;
    let mut files: BTreeMap<String, Vec<u8>> = image
        .blobs
        .iter()
        .map(|(digest, bytes)| (format!("blobs/{}", digest.replace(':', "/")), bytes.clone()))
        .collect();
    files.insert("index.json".to_owned(), json(&index)?);
    files.insert("oci-layout".to_owned(), json(&layout)?);
    Ok(files)
}
