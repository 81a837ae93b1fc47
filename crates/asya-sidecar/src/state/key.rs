//! Keys of values: paths below a mount.

use std::fmt;

use percent_encoding::percent_decode_str;

use super::StateError;

/// Longest part of a key between two `/`, in bytes. Source: `NAME_MAX` of Linux.
const MAX_SEGMENT: usize = 255;

/// Longest key in bytes. Source: the limit of S3, with room for a prefix of the bucket.
const MAX_KEY: usize = 960;

/// The key of a value: parts joined by `/`, none of them empty, `.` or `..`, without control characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(String);

impl Key {
    /// Reads a key.
    ///
    /// # Errors
    /// If it could leave the store or cannot be a name in it.
    pub fn new(key: &str) -> Result<Self, StateError> {
        let problem = if key.len() > MAX_KEY {
            Some("is longer than 960 bytes")
        } else {
            key.split('/').find_map(|segment| match segment {
                "" => Some("has an empty part"),
                "." | ".." => Some("has a part that is '.' or '..'"),
                _ if segment.len() > MAX_SEGMENT => Some("has a part of more than 255 bytes"),
                _ if segment.chars().any(char::is_control) => Some("has control characters"),
                _ => None,
            })
        };
        match problem {
            None => Ok(Self(key.to_owned())),
            Some(reason) => Err(StateError::InvalidKey {
                key: key.to_owned(),
                reason,
            }),
        }
    }

    /// Reads a key out of the path of a URL.
    ///
    /// # Errors
    /// As [`Key::new`], and if it is not UTF-8.
    pub fn decode(encoded: &str) -> Result<Self, StateError> {
        Self::new(&decode(encoded)?)
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The beginning of keys: empty, or a key with or without `/` at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prefix(String);

impl Prefix {
    /// Reads a prefix.
    ///
    /// # Errors
    /// If no key can begin with it.
    pub fn new(prefix: &str) -> Result<Self, StateError> {
        let key = prefix.strip_suffix('/').unwrap_or(prefix);
        if !prefix.is_empty() {
            Key::new(key)?;
        }
        Ok(Self(prefix.to_owned()))
    }

    /// The prefix as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The directory in which names begin with the rest.
    pub fn split(&self) -> (&str, &str) {
        self.0.rsplit_once('/').unwrap_or(("", &self.0))
    }
}

/// Percent-encoded text of a URL.
///
/// # Errors
/// If it is not UTF-8.
pub(super) fn decode(encoded: &str) -> Result<String, StateError> {
    let decoded = percent_decode_str(encoded).decode_utf8();
    let decoded = decoded.map_err(|_| StateError::InvalidKey {
        key: encoded.to_owned(),
        reason: "is not UTF-8",
    })?;
    Ok(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_cannot_leave_the_store() {
        let long = "x".repeat(256);
        let deep = "x/".repeat(500) + "x";
        let cases = [
            ("a", true, "a name"),
            ("a/b.txt", true, "a path"),
            (
                "a%20b/%C3%BC%3F%23%2541",
                true,
                "blanks, umlauts and URL syntax",
            ),
            ("...", true, "three dots are a name"),
            ("", false, "nothing"),
            ("/a", false, "an absolute path"),
            ("a//b", false, "an empty part"),
            ("a/", false, "a directory"),
            ("../a", false, "the parent"),
            ("a/../../b", false, "the parent, in between"),
            ("%2e%2e/a", false, "the parent, encoded"),
            ("a%2F..%2Fb", false, "the parent, with encoded separators"),
            ("a/./b", false, "the directory itself"),
            ("a%00b", false, "a null byte"),
            ("a%0Ab", false, "a line feed"),
            ("%FF", false, "not UTF-8"),
            (&long, false, "a name that Linux refuses"),
            (&deep, false, "a key that S3 refuses"),
        ];
        for (key, is_valid, reason) in cases {
            assert_eq!(Key::decode(key).is_ok(), is_valid, "{reason}");
        }
    }

    #[test]
    fn prefixes_are_a_directory_and_the_beginning_of_a_name() {
        let cases = [
            ("", ("", "")),
            ("a", ("", "a")),
            ("a/", ("a", "")),
            ("a/b", ("a", "b")),
            ("a/b/", ("a/b", "")),
        ];
        for (prefix, split) in cases {
            assert_eq!(Prefix::new(prefix).unwrap().split(), split, "{prefix}");
        }
        for prefix in ["/", "../", "a//", "a/../"] {
            assert!(Prefix::new(prefix).is_err(), "{prefix}");
        }
    }
}
