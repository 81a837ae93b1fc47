//! Queries of the API server, and their results.

use std::collections::BTreeMap;

use serde_json::Value;

/// One query of the namespace of the binding, in the version that the API server prefers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Query {
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
        /// All of these labels.
        labels: BTreeMap<String, String>,
    },
}

/// Result of a query.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryResult {
    /// The cluster does not serve the kind.
    NotServed,
    /// The objects, ordered by name: at most one for [`Query::Object`].
    Objects(Vec<Value>),
}

/// Results of all queries so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueryResults {
    results: BTreeMap<Query, QueryResult>,
}

impl QueryResults {
    /// Stores a result.
    pub fn put(&mut self, query: Query, result: QueryResult) {
        self.results.insert(query, result);
    }

    /// Result of a query of one object.
    ///
    /// # Errors
    /// The query, where it has no result yet.
    pub fn object(&self, group: &str, kind: &str, name: &str) -> Result<&QueryResult, Query> {
        self.result(Query::Object {
            group: group.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
        })
    }

    /// Result of a query of objects with these labels.
    ///
    /// # Errors
    /// The query, where it has no result yet.
    pub fn labelled(
        &self,
        group: &str,
        kind: &str,
        labels: &[(&str, &str)],
    ) -> Result<&QueryResult, Query> {
        let labels = labels.iter();
        self.result(Query::Labelled {
            group: group.to_owned(),
            kind: kind.to_owned(),
            labels: labels
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
        })
    }

    fn result(&self, query: Query) -> Result<&QueryResult, Query> {
        self.results.get(&query).ok_or(query)
    }
}
