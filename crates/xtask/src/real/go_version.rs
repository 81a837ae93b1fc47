//! Versions of Go.

use std::fmt;
use std::str::FromStr;

/// A version of Go, such as 1.26.8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GoVersion {
    major: u32,
    minor: u32,
    patch: u32,
}

impl FromStr for GoVersion {
    type Err = ();

    /// Reads a go directive (`1.26`, `1.26.0`) or a toolchain's name (`go1.26.8`, `go1.27rc1`,
    /// `devel go1.27-a1b2c3`). A release candidate counts as its release.
    fn from_str(text: &str) -> Result<Self, ()> {
        let text = text.strip_prefix("devel ").unwrap_or(text);
        let text = text.strip_prefix("go").unwrap_or(text);
        let mut numbers = text.split('.').map(leading_number);
        let major = numbers.next().flatten().ok_or(())?;
        let minor = numbers.next().flatten().ok_or(())?;
        let patch = numbers.next().flatten().unwrap_or(0);
        Ok(Self {
            major,
            minor,
            patch,
        })
    }
}

impl fmt::Display for GoVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_versions_are_read_in_every_spelling() {
        let cases = [
            ("1.26", Some("1.26.0")),
            ("1.26.0", Some("1.26.0")),
            ("go1.26.8", Some("1.26.8")),
            ("go1.27rc1", Some("1.27.0")),
            ("go1.26.8 X:nocoverageredesign", Some("1.26.8")),
            ("devel go1.27-a1b2c3", Some("1.27.0")),
            ("go", None),
            ("", None),
            ("go1", None),
        ];
        for (text, expected) in cases {
            let found = text
                .parse::<GoVersion>()
                .ok()
                .map(|version| version.to_string());
            assert_eq!(found.as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn go_versions_are_compared_by_number() {
        let version = |text: &str| text.parse::<GoVersion>().unwrap();
        assert!(version("1.9") < version("1.26"));
        assert!(version("1.26.8") < version("1.26.10"));
        assert!(version("1.99") < version("2.0"));
    }
}
