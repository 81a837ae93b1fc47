//! Pushes images in the OCI layout to the cluster's registry, by plain HTTP on loopback.
//!
//! `crossplane xpkg push` would compress layers again, and pushes packages only.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use anyhow::{Context, Result, bail};
use oci_spec::image::{Descriptor, ImageIndex, ImageManifest};

use super::address::REGISTRY_PORT;
use crate::cannot;

/// Pushes the image in a folder as that repository and tag.
pub(super) fn push(folder: &Path, repository: &str, tag: &str) -> Result<()> {
    push_parts(folder, repository, tag).with_context(|| format!("cannot push {repository}:{tag}"))
}

fn push_parts(folder: &Path, repository: &str, tag: &str) -> Result<()> {
    let index = read(&folder.join("index.json"))?;
    let index: ImageIndex = serde_json::from_slice(&index)?;
    let manifest = index
        .manifests()
        .first()
        .context("the folder has no image")?;
    let content = blob(folder, manifest)?;
    let parsed: ImageManifest = serde_json::from_slice(&content)?;
    for described in parsed.layers().iter().chain([parsed.config()]) {
        let path = format!(
            "/v2/{repository}/blobs/uploads/?digest={}",
            described.digest()
        );
        let kind = "application/octet-stream";
        request("POST", &path, kind, &blob(folder, described)?)?;
    }
    let path = format!("/v2/{repository}/manifests/{tag}");
    request("PUT", &path, manifest.media_type().as_ref(), &content)
}

fn blob(folder: &Path, described: &Descriptor) -> Result<Vec<u8>> {
    let name = described.digest().to_string().replace(':', "/");
    read(&folder.join("blobs").join(name))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| cannot("read", path))
}

/// Sends one request that the registry must accept.
fn request(method: &str, path: &str, kind: &str, body: &[u8]) -> Result<()> {
    let asked = format!("{method} {path}");
    let mut stream = TcpStream::connect(("127.0.0.1", REGISTRY_PORT))
        .context("cannot connect to the registry")?;
    let head = format!(
        "{asked} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: {kind}\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).context("cannot send")?;
    stream.write_all(body).context("cannot send")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).context("cannot receive")?;
    let answer = String::from_utf8_lossy(&answer);
    let status = answer.split(' ').nth(1).unwrap_or_default();
    if !status.starts_with('2') {
        bail!("{asked}: {}", answer.lines().next().unwrap_or("no answer"));
    }
    Ok(())
}
