//! Codes of diagnostics, each with what `asya explain CODE` prints.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Documentation of a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The rule that is broken, in a line.
    pub title: &'static str,
    /// Its cause.
    pub cause: &'static str,
    /// A piece of a document that breaks the rule.
    pub example: &'static str,
    /// Remedy.
    pub fix: &'static str,
}

/// A text that is not a code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no diagnostic {0:?}")]
pub struct UnknownCode(pub String);

macro_rules! codes {
    ($($name:ident $id:literal {
        title: $title:literal,
        cause: $cause:literal,
        example: $example:literal,
        fix: $fix:literal $(,)?
    })*) => {
        /// The stable id of a rule. Ids are grouped by subject and never given to another rule.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            /// A code of another version of Asya, which this one does not list.
            Unlisted,
            $(#[doc = $title] $name,)*
        }

        impl Code {
            /// Every code that has an entry, in the order of the ids.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The id, such as `ASYA101`.
            pub fn id(self) -> &'static str {
                match self {
                    Self::Unlisted => "ASYA000",
                    $(Self::$name => $id,)*
                }
            }

            /// Title, cause, example and fix.
            pub fn entry(self) -> Entry {
                match self {
                    Self::Unlisted => Entry {
                        title: "A diagnostic of another version of Asya",
                        cause: "A function of another version reported it, and this version does not list its code.",
                        example: "function-render-queue of a newer version beside this one",
                        fix: "Use functions and CLI of the same version.",
                    },
                    $(Self::$name => Entry {
                        title: $title,
                        cause: $cause,
                        example: $example,
                        fix: $fix,
                    },)*
                }
            }
        }
    };
}

include!("entries.inc");

impl Code {
    /// The subject that the first digit of the id stands for.
    pub fn subject(self) -> &'static str {
        match self.id().as_bytes().get(4) {
            Some(b'1') => "The actor and its fields",
            Some(b'2') => "Flavors",
            Some(b'3') => "Platform, transport and queue",
            Some(b'4') => "Pod and containers",
            Some(b'5') => "Timeouts and retries",
            Some(b'6') => "Scaling",
            Some(b'7') => "Binding to another workload",
            Some(b'8') => "Composition",
            Some(b'9') => "Files",
            _ => "Other",
        }
    }

    /// Returns whether a text has the form of an id: `ASYA` and three digits, in any case.
    pub fn has_form(text: &str) -> bool {
        let (prefix, digits) = text.split_at_checked(4).unwrap_or_default();
        prefix.eq_ignore_ascii_case("ASYA")
            && digits.len() == 3
            && digits.bytes().all(|digit| digit.is_ascii_digit())
    }

    /// The listed codes of the same subject as the id `text`, for an error that offers them.
    pub fn near(text: &str) -> Vec<Self> {
        let subject = text.as_bytes().get(4);
        let all = Self::ALL.iter().copied();
        all.filter(|code| code.id().as_bytes().get(4) == subject)
            .collect()
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl FromStr for Code {
    type Err = UnknownCode;

    fn from_str(text: &str) -> Result<Self, UnknownCode> {
        let mut all = Self::ALL.iter().copied();
        all.find(|code| code.id().eq_ignore_ascii_case(text))
            .ok_or_else(|| UnknownCode(text.to_owned()))
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.id())
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        Ok(text.parse().unwrap_or(Self::Unlisted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_ascend_and_every_entry_is_complete() {
        for pair in Code::ALL.windows(2) {
            assert!(
                pair[0].id() < pair[1].id(),
                "{} before {}",
                pair[0],
                pair[1]
            );
        }
        for code in Code::ALL {
            let Entry {
                title,
                cause,
                example,
                fix,
            } = code.entry();
            assert!(Code::has_form(code.id()), "{code}");
            assert_ne!(code.subject(), "Other", "{code}");
            assert!(!title.ends_with('.'), "{code}: a title has no final period");
            assert!(cause.ends_with('.') && fix.ends_with('.'), "{code}");
            assert!(!example.is_empty(), "{code}");
        }
    }

    #[test]
    fn a_code_is_found_by_its_id_in_any_case() {
        assert_eq!("asya230".parse(), Ok(Code::FlavorConflict));
        assert_eq!(
            "ASYA299".parse::<Code>(),
            Err(UnknownCode("ASYA299".to_owned()))
        );
        assert!(Code::near("ASYA299").contains(&Code::FlavorConflict));
        for (text, expected) in [
            ("ASYA230", true),
            ("asya230", true),
            ("ASYA23", false),
            ("asya.yaml", false),
            ("ä", false),
        ] {
            assert_eq!(Code::has_form(text), expected, "{text}");
        }
    }
}
