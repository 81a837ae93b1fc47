//! Asking Crossplane for objects and schemas.
//!
//! A requirement has three answers: *not fetched yet* (the key is absent from
//! the request), *does not exist* (the key holds nothing) and the object.
//! Requirements are restated on every call; Crossplane calls again until they
//! stand still.

use std::collections::HashMap;

use function_proto::v1::{
    Requirements, ResourceSelector, Resources, Schema, SchemaSelector, resource_selector::Match,
};
use pbjson_types::Struct;

/// Crossplane's answer about the schema of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaAnswer {
    /// Crossplane has not fetched it yet.
    NotFetched,
    /// There is none: the kind is not served, or this Crossplane does not report schemas.
    Absent,
    /// The kind is served.
    Served,
}

/// Objects that Crossplane has fetched so far, and requirements of this step.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    pub(crate) resources: HashMap<String, Resources>,
    pub(crate) extra_resources: HashMap<String, Resources>,
    pub(crate) schemas: HashMap<String, Schema>,
    /// True if the caller announces its capabilities. Crossplane 1.17 to 2.1 does not,
    /// and may know required resources by their older name alone.
    pub(crate) announces: bool,
    pub(crate) asked: Requirements,
}

impl Requests {
    /// States the requirement and answers what was fetched: none when nothing
    /// was yet, an empty list when there is no such object.
    pub(crate) fn resource(
        &mut self,
        key: &str,
        (api_version, kind): (&str, &str),
        name: &str,
        namespace: Option<&str>,
    ) -> Option<Vec<&Struct>> {
        let selector = ResourceSelector {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.map(str::to_owned),
            r#match: Some(Match::MatchName(name.to_owned())),
        };
        if !self.announces {
            self.asked
                .extra_resources
                .insert(key.to_owned(), selector.clone());
        }
        self.asked.resources.insert(key.to_owned(), selector);
        self.fetched(key)
    }

    /// Objects under `key`, whichever step required them.
    pub(crate) fn fetched(&self, key: &str) -> Option<Vec<&Struct>> {
        let fetched = self
            .resources
            .get(key)
            .or_else(|| self.extra_resources.get(key))?;
        Some(
            fetched
                .items
                .iter()
                .filter_map(|item| item.resource.as_ref())
                .collect(),
        )
    }

    /// States the requirement and answers what was fetched.
    pub(crate) fn schema(&mut self, key: &str, api_version: &str, kind: &str) -> SchemaAnswer {
        let selector = SchemaSelector {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        };
        self.asked.schemas.insert(key.to_owned(), selector);
        match self.schemas.get(key).map(|schema| &schema.openapi_v3) {
            None => SchemaAnswer::NotFetched,
            Some(Some(schema)) if !schema.fields.is_empty() => SchemaAnswer::Served,
            Some(_) => SchemaAnswer::Absent,
        }
    }

    /// The requirements of the response: none rather than an empty set, which
    /// would cost Crossplane another call.
    pub(crate) fn into_requirements(self) -> Option<Requirements> {
        (self.asked != Requirements::default()).then_some(self.asked)
    }
}
