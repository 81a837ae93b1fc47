//! What was read of a target and of what is behind it.

use std::collections::BTreeMap;

use serde_json::Value;

/// One question to the API server, about the namespace of the binding. The version is
/// the one that the server prefers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Look {
    /// One object.
    Object {
        /// Its group; empty for Kubernetes' core.
        group: String,
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
    },
    /// All objects of a kind that carry these labels.
    Labelled {
        /// Their group; empty for Kubernetes' core.
        group: String,
        /// Their kind.
        kind: String,
        /// Each of these.
        labels: BTreeMap<String, String>,
    },
}

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    /// The cluster does not serve the kind.
    NotServed,
    /// What there is, ordered by name: none or one for [`Look::Object`].
    Objects(Vec<Value>),
}

/// Everything that was asked so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct View {
    seen: BTreeMap<Look, Seen>,
}

impl View {
    /// Takes an answer.
    pub fn put(&mut self, look: Look, seen: Seen) {
        self.seen.insert(look, seen);
    }

    /// The answer to a question about one object.
    ///
    /// # Errors
    /// The question, if it was not asked yet.
    pub fn object(&self, group: &str, kind: &str, name: &str) -> Result<&Seen, Look> {
        self.answer(Look::Object {
            group: group.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
        })
    }

    /// The answer to a question about objects with these labels.
    ///
    /// # Errors
    /// The question, if it was not asked yet.
    pub fn labelled(
        &self,
        group: &str,
        kind: &str,
        labels: &[(&str, &str)],
    ) -> Result<&Seen, Look> {
        let labels = labels.iter();
        self.answer(Look::Labelled {
            group: group.to_owned(),
            kind: kind.to_owned(),
            labels: labels
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
        })
    }

    fn answer(&self, look: Look) -> Result<&Seen, Look> {
        self.seen.get(&look).ok_or(look)
    }
}
