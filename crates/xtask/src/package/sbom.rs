//! Content of an image as a `CycloneDX` document: <https://cyclonedx.org/docs/1.5/json/>.
//!
//! Without a serial number and a time, so that the same content gives the same bytes.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::image::json as bytes_of;
use super::platform::Platform;
use crate::workspace::{self, Metadata, output_of};

/// Media type and end of the name by which scanners know the document.
pub(super) const EXTENSION: &str = "cdx.json";

/// Component of an image, or the image itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Component {
    pub(super) name: String,
    pub(super) version: String,
    /// SPDX expression.
    pub(super) license: Option<String>,
    /// Package URL, which is a name for it that is unique in the world.
    pub(super) purl: String,
}

impl Component {
    fn to_json(&self, kind: &str) -> Value {
        let mut component = json!({
            "type": kind,
            "bom-ref": self.purl,
            "name": self.name,
            "version": self.version,
            "purl": self.purl,
        });
        if let Some(license) = &self.license {
            component["licenses"] = json!([{ "expression": license }]);
        }
        component
    }
}

/// The document of an image with these components.
pub(super) fn document(image: &Component, inside: &BTreeSet<Component>) -> Result<Vec<u8>> {
    let components: Vec<Value> = inside.iter().map(|c| c.to_json("library")).collect();
    let parts: Vec<&str> = inside.iter().map(|c| c.purl.as_str()).collect();
    bytes_of(&json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": image.to_json("container")},
        "components": components,
        "dependencies": [{"ref": image.purl, "dependsOn": parts}],
    }))
}

/// The crates that are linked into a program of ours, itself included.
pub(super) fn crates_in(
    root: &Path,
    metadata: &Metadata,
    program: &str,
    platform: Platform,
) -> Result<BTreeSet<Component>> {
    // Macros run in the compiler and leave nothing in the program.
    let tree = output_of(
        Command::new(workspace::cargo())
            .args(["tree", "--locked", "--package", program])
            .args(["--edges", "normal,no-proc-macro", "--prefix", "none"])
            .args(["--format", "{p}", "--target", platform.target()])
            .current_dir(root),
    )?;
    let tree = String::from_utf8_lossy(&tree);
    tree.lines().map(|line| crate_of(line, metadata)).collect()
}

/// The crate in a line of `cargo tree`, such as `serde v1.0.228 (*)`.
fn crate_of(line: &str, metadata: &Metadata) -> Result<Component> {
    let (name, rest) = line.split_once(" v").with_context(|| unexpected(line))?;
    let version = rest.split(' ').next().unwrap_or_default();
    let packages = metadata.packages.iter();
    let package = packages
        .filter(|package| package.name == name)
        .find(|package| package.version == version)
        .with_context(|| unexpected(line))?;
    Ok(Component {
        name: name.to_owned(),
        version: version.to_owned(),
        license: package.license.as_deref().map(expression),
        purl: format!("pkg:cargo/{name}@{version}"),
    })
}

/// Licences as an SPDX expression; a slash between them is the older way to write `OR`.
fn expression(license: &str) -> String {
    let parts: Vec<&str> = license.split('/').map(str::trim).collect();
    parts.join(" OR ")
}

fn unexpected(line: &str) -> String {
    format!("cannot understand the line {line:?} of `cargo tree`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_between_slashes_become_an_expression() {
        let cases = [
            ("MIT/Apache-2.0", "MIT OR Apache-2.0"),
            ("MIT / Apache-2.0", "MIT OR Apache-2.0"),
            ("ISC AND (Apache-2.0 OR ISC)", "ISC AND (Apache-2.0 OR ISC)"),
        ];
        for (given, expected) in cases {
            assert_eq!(expression(given), expected);
        }
    }

    #[test]
    fn a_document_names_the_image_and_its_content() {
        let component = |name: &str| Component {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: Some("MIT OR Apache-2.0".to_owned()),
            purl: format!("pkg:cargo/{name}@1.0.0"),
        };
        let inside = [component("b"), component("a")].into();
        let document = document(&component("image"), &inside).unwrap();
        let document: Value = serde_json::from_slice(&document).unwrap();
        assert_eq!(document["metadata"]["component"]["name"], "image");
        assert_eq!(document["components"][0]["name"], "a");
        let licenses = &document["components"][0]["licenses"];
        assert_eq!(*licenses, json!([{"expression": "MIT OR Apache-2.0"}]));
        let parts = &document["dependencies"][0]["dependsOn"];
        assert_eq!(*parts, json!(["pkg:cargo/a@1.0.0", "pkg:cargo/b@1.0.0"]));
    }
}
