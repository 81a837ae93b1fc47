//! Problem of a pod, and the message that quotes another program.

use std::collections::BTreeMap;

use super::mounted::{MountProblem, Mounted};
use super::pod::{ContainerStatus, Pod};
use super::{HealthTimeouts, Time};

/// Longest message, in characters.
pub(super) const MESSAGE_MAX: usize = 300;

/// A pod, and what is known beside it.
#[derive(Debug, Clone, Copy)]
pub(super) struct PodView<'a> {
    pub(super) pod: &'a Pod,
    pub(super) mount_problems: &'a BTreeMap<Mounted, MountProblem>,
    pub(super) timeouts: &'a HealthTimeouts,
    pub(super) now: Time,
}

/// Problem of a pod.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Finding {
    /// The image that cannot be pulled for a cause that the message does not contain; it may be known
    /// from before.
    pub(super) vague_of: Option<String>,
    /// The container concerned.
    pub(super) container: Option<String>,
    /// Message, in one line.
    pub(super) message: String,
}

impl Finding {
    pub(super) fn of_pod(words: &str) -> Self {
        Self {
            vague_of: None,
            container: None,
            message: quote(words),
        }
    }

    pub(super) fn of(container: &ContainerStatus, words: &str) -> Self {
        Self {
            container: Some(container.name.clone()),
            ..Self::of_pod(words)
        }
    }

    pub(super) fn without_container(self) -> Self {
        Self {
            container: None,
            ..self
        }
    }
}

/// Another program's words on one line, cut after 300 characters.
///
/// ```
/// let words = actor::health::quote("secret \"keys\"\n  not found");
/// assert_eq!(words, "secret \"keys\" not found");
/// ```
pub fn quote(words: &str) -> String {
    let line = one_line(words);
    match line.char_indices().nth(MESSAGE_MAX) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

pub(super) fn one_line(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotations_are_one_short_line() {
        let long = "ä".repeat(301);
        let cases = [
            (
                "secret \"a\" not found",
                "secret \"a\" not found",
                "as it is",
            ),
            ("  one\n\ttwo\r\n", "one two", "no line breaks"),
            (&long[..600], &long[..600], "300 characters are kept"),
            (&long, &format!("{}…", &long[..600]), "one more is not"),
        ];
        for (words, quoted, reason) in cases {
            assert_eq!(quote(words), quoted, "{reason}");
        }
        let once = quote(&long);
        assert_eq!(quote(&once), once, "a quotation is quoted as it is");
    }
}
