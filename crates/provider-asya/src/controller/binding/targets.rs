//! Reads objects for [`resolve`](crate::resolve), of kinds that the cluster may not serve.
//!
//! Kinds of a dozen projects are identified by group and kind, since versions change with releases. The
//! version is discovered, cached, and discovered again when it is no longer served. That a kind is not
//! served is never cached: its operator may be installed at any time.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroup, APIResourceList};
use kube::api::{ApiResource, DynamicObject, GetParams, ListParams};
use kube::core::Request;
use kube::{Client, Error, Resource as _};
use serde_json::{Value, json};

use crate::resolve::{Query, QueryResult};

/// Reads objects of kinds that the cluster may not serve.
pub struct Targets {
    client: Client,
    /// Discovered kinds, by group and kind.
    served: Mutex<BTreeMap<(String, String), ApiResource>>,
}

impl Targets {
    /// A reader with an empty cache.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            served: Mutex::default(),
        }
    }

    /// Result of one query of the objects of a namespace.
    ///
    /// # Errors
    /// The API server fails or refuses; [`is_forbidden`] identifies a missing right.
    pub async fn read(&self, namespace: &str, query: &Query) -> kube::Result<QueryResult> {
        let (group, kind) = match query {
            Query::Object { group, kind, .. } | Query::Labelled { group, kind, .. } => {
                (group, kind)
            }
        };
        if let Some(resource) = self.cached(group, kind) {
            match self.get(namespace, &resource, query).await {
                // The version or the kind is no longer served.
                Err(error) if is_unknown_path(&error) => self.forget(group, kind),
                answer => return answer.map(QueryResult::Objects),
            }
        }
        let Some(resource) = self.served(group, kind).await? else {
            return Ok(QueryResult::NotServed);
        };
        match self.get(namespace, &resource, query).await {
            // It was removed between the two requests.
            Err(error) if is_unknown_path(&error) => {
                self.forget(group, kind);
                Ok(QueryResult::NotServed)
            }
            answer => answer.map(QueryResult::Objects),
        }
    }

    /// The namespaced kind in the preferred of the versions that have it; none where it is not served.
    ///
    /// # Errors
    /// The API server fails or refuses.
    pub async fn served(&self, group: &str, kind: &str) -> kube::Result<Option<ApiResource>> {
        if let Some(resource) = self.cached(group, kind) {
            return Ok(Some(resource));
        }
        for version in self.versions(group).await? {
            let list = if group.is_empty() {
                self.client.list_core_api_resources(&version).await
            } else {
                self.client.list_api_group_resources(&version).await
            };
            let Some(list) = unless_unknown_path(list)? else {
                continue;
            };
            if let Some(resource) = namespaced(&list, kind) {
                self.cache()
                    .insert((group.to_owned(), kind.to_owned()), resource.clone());
                return Ok(Some(resource));
            }
        }
        Ok(None)
    }

    /// The versions of a group as `group/version`, the preferred one first.
    async fn versions(&self, group: &str) -> kube::Result<Vec<String>> {
        if group.is_empty() {
            return Ok(vec!["v1".to_owned()]);
        }
        let request = http::Request::get(format!("/apis/{group}"))
            .body(Vec::new())
            .map_err(Error::HttpError)?;
        let answer = self.client.request::<APIGroup>(request).await;
        let Some(found) = unless_unknown_path(answer)? else {
            return Ok(Vec::new());
        };
        let preferred = found.preferred_version.map(|version| version.group_version);
        let all = found.versions.into_iter();
        let mut versions: Vec<String> = all.map(|version| version.group_version).collect();
        // A stable sort: the others stay in the API server's order, newest first.
        versions.sort_by_key(|version| Some(version) != preferred.as_ref());
        Ok(versions)
    }

    async fn get(
        &self,
        namespace: &str,
        resource: &ApiResource,
        query: &Query,
    ) -> kube::Result<Vec<Value>> {
        let path = Request::new(DynamicObject::url_path(resource, Some(namespace)));
        match query {
            Query::Object { name, .. } => {
                let request = path.get(name, &GetParams::default());
                let request = request.map_err(Error::BuildRequest)?;
                match self.client.request(request).await {
                    Ok(object) => Ok(vec![object]),
                    Err(Error::Api(status)) if status.reason == NOT_FOUND => Ok(Vec::new()),
                    Err(error) => Err(error),
                }
            }
            Query::Labelled { labels, .. } => {
                let labels: Vec<String> = labels
                    .iter()
                    .map(|(key, value)| format!("{key}={value}"))
                    .collect();
                let parameters = ListParams::default().labels(&labels.join(","));
                let request = path.list(&parameters).map_err(Error::BuildRequest)?;
                let mut list: Value = self.client.request(request).await?;
                let Value::Array(mut objects) = list["items"].take() else {
                    return Ok(Vec::new());
                };
                for object in &mut objects {
                    // Items of Kubernetes' own lists have neither apiVersion nor kind.
                    object["apiVersion"] = json!(resource.api_version);
                    object["kind"] = json!(resource.kind);
                }
                objects.sort_by(|a, b| name_of(a).cmp(&name_of(b)));
                Ok(objects)
            }
        }
    }

    fn cached(&self, group: &str, kind: &str) -> Option<ApiResource> {
        let key = (group.to_owned(), kind.to_owned());
        self.cache().get(&key).cloned()
    }

    fn forget(&self, group: &str, kind: &str) {
        self.cache().remove(&(group.to_owned(), kind.to_owned()));
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, BTreeMap<(String, String), ApiResource>> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether the provider lacks a right, which the API server's message names.
pub fn is_forbidden(error: &Error) -> bool {
    matches!(error, Error::Api(status) if status.code == 403)
}

/// Reason of a missing object.
const NOT_FOUND: &str = "NotFound";

/// Returns whether the API server does not know the path. It answers in plain text then, without the reason
/// that it gives for a missing object.
fn is_unknown_path(error: &Error) -> bool {
    matches!(error, Error::Api(status) if status.code == 404 && status.reason != NOT_FOUND)
}

fn unless_unknown_path<T>(answer: kube::Result<T>) -> kube::Result<Option<T>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if is_unknown_path(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The kind in the resource list of a version. Subresources have a `/` in their names, and their own
/// kind, such as `Scale`, or their parent's.
fn namespaced(list: &APIResourceList, kind: &str) -> Option<ApiResource> {
    let found = list.resources.iter().find(|resource| {
        resource.kind == kind && resource.namespaced && !resource.name.contains('/')
    })?;
    let (group, version) = list
        .group_version
        .split_once('/')
        .unwrap_or(("", &list.group_version));
    Some(ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: list.group_version.clone(),
        kind: kind.to_owned(),
        plural: found.name.clone(),
    })
}

fn name_of(object: &Value) -> Option<&str> {
    object["metadata"]["name"].as_str()
}
