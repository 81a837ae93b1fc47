//! The one version of the workspace, and every place that repeats it.

use std::fmt;
use std::fs;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result, bail};

use super::versioned_files;
use crate::cannot;

/// Prefix of our versions in manifests and pages: our images in the example registry.
const EXAMPLE_REGISTRY: &str = "registry.example.org/asya/";

/// A version such as `0.2.0` or `0.2.0-rc.1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version(String);

impl Version {
    /// Compares the version with `Cargo.toml` and with the tags of our images in manifests and pages.
    ///
    /// # Errors
    /// If one of them differs; the message names file and line.
    pub(super) fn check(&self, root: &Path) -> Result<()> {
        let of_workspace = env!("CARGO_PKG_VERSION");
        if self.0 != of_workspace {
            bail!(
                "version {self} differs from {of_workspace} in Cargo.toml: set `workspace.package.version`, then replace v{of_workspace} where this task reports it"
            );
        }
        for path in versioned_files(root)? {
            let text = fs::read_to_string(&path).with_context(|| cannot("read", &path))?;
            if let Some((line, tag)) = other_tag(&text, &self.0) {
                bail!(
                    "{}:{line}: the tag {tag} is not v{self}; replace it",
                    path.display()
                );
            }
        }
        Ok(())
    }
}

/// The first tag of an image of ours that is not of this version, with its line.
fn other_tag<'a>(text: &'a str, version: &str) -> Option<(usize, &'a str)> {
    let tag_of = |line: &'a str| {
        let (_, image) = line.split_once(EXAMPLE_REGISTRY)?;
        let is_part = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let (_, tag) = image.split_once(':')?;
        let end = tag.find(|c| !is_part(c)).unwrap_or(tag.len());
        let tag = tag[..end].trim_end_matches('.');
        let is_version = tag.starts_with('v') && tag[1..].starts_with(|c: char| c.is_ascii_digit());
        (is_version && tag.strip_prefix('v') != Some(version)).then_some(tag)
    };
    let mut lines = text.lines().zip(1..);
    lines.find_map(|(line, number)| Some((number, tag_of(line)?)))
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (core, suffix) = text.split_once('-').unwrap_or((text, "0"));
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let parts: Vec<&str> = core.split('.').collect();
        let is_suffix = !suffix.is_empty()
            && suffix
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b));
        if parts.len() == 3 && parts.into_iter().all(is_number) && is_suffix {
            Ok(Self(text.to_owned()))
        } else {
            Err("expected MAJOR.MINOR.PATCH, such as 0.2.0 or 0.2.0-rc.1".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_three_numbers_and_a_suffix() {
        let cases = [
            ("0.1.0", true),
            ("0.2.0-rc.1", true),
            ("v0.1.0", false),
            ("0.1", false),
            ("0.1.0-", false),
            ("0.1.x", false),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse::<Version>().is_ok(), expected, "{text}");
        }
    }

    #[test]
    fn tags_of_other_versions_are_found_with_their_line() {
        let text = "a\npackage: registry.example.org/asya/asya:v0.1.0\n";
        let cases = [("0.1.0", None), ("0.2.0", Some((2, "v0.1.0")))];
        for (version, expected) in cases {
            assert_eq!(other_tag(text, version), expected, "{version}");
        }
        let others = "registry.example.org/team/app:v9\nregistry.example.org/asya/x:latest";
        assert_eq!(other_tag(others, "0.1.0"), None, "images of others");
    }
}
