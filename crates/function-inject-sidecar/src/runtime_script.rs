//! A runtime script with its modules, and its digest.

use std::borrow::Cow;
use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// A runtime script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    pub(crate) text: Cow<'static, str>,
    pub(crate) hash: String,
    /// Modules that the script loads in pods with state proxies, by file name.
    pub(crate) state_files: &'static [(&'static str, &'static str)],
    /// True if they are delivered.
    pub(crate) has_state_files: bool,
}

impl Script {
    /// The script of that text.
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self::with_modules(text, &[])
    }

    /// A released script and its modules for state proxies.
    pub(crate) fn with_modules(
        text: impl Into<Cow<'static, str>>,
        state_files: &'static [(&'static str, &'static str)],
    ) -> Self {
        let text = text.into();
        Self {
            hash: digest([&*text]),
            text,
            state_files,
            has_state_files: false,
        }
    }

    /// The files of its ConfigMap besides the script, by name.
    pub(crate) fn files(&self) -> &'static [(&'static str, &'static str)] {
        if self.has_state_files {
            self.state_files
        } else {
            &[]
        }
    }
}

/// The beginning of the SHA-256 digest of the texts, in hexadecimal.
pub(crate) fn digest<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hasher = Sha256::new();
    for text in texts {
        hasher.update(text.as_bytes());
    }
    let mut digits = String::new();
    for byte in &hasher.finalize()[..4] {
        // Writing to a String cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}
