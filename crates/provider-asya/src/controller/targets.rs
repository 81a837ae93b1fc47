//! Reads what [`resolve`](crate::resolve) wants to know: objects of kinds that the
//! cluster may serve or not, in whichever version it prefers.
//!
//! The provider knows kinds of a dozen projects by group and kind alone, since their
//! versions come and go with their releases. So it asks the API server for the version,
//! remembers the answer, and asks again when that version is served no longer. That a
//! kind is not served is never remembered: its operator may be installed at any time.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroup, APIResourceList};
use kube::api::{ApiResource, DynamicObject, GetParams, ListParams};
use kube::core::Request;
use kube::{Client, Error, Resource as _};
use serde_json::{Value, json};

use crate::resolve::{Look, Seen};

/// Reads objects of kinds that the cluster may serve or not.
pub struct Targets {
    client: Client,
    /// What is served, by group and kind.
    served: Mutex<BTreeMap<(String, String), ApiResource>>,
}

impl Targets {
    /// Nothing is read yet.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            served: Mutex::default(),
        }
    }

    /// The answer to one question about the objects of a namespace.
    ///
    /// # Errors
    /// The API server does not answer, or refuses: [`is_forbidden`] tells the lack of a
    /// right from all else.
    pub async fn read(&self, namespace: &str, look: &Look) -> kube::Result<Seen> {
        let (group, kind) = match look {
            Look::Object { group, kind, .. } | Look::Labelled { group, kind, .. } => (group, kind),
        };
        if let Some(resource) = self.remembered(group, kind) {
            match self.get(namespace, &resource, look).await {
                // The version, or the kind, is served no longer.
                Err(error) if is_no_such_path(&error) => self.forget(group, kind),
                answer => return answer.map(Seen::Objects),
            }
        }
        let Some(resource) = self.served(group, kind).await? else {
            return Ok(Seen::NotServed);
        };
        match self.get(namespace, &resource, look).await {
            // It went between the two requests.
            Err(error) if is_no_such_path(&error) => {
                self.forget(group, kind);
                Ok(Seen::NotServed)
            }
            answer => answer.map(Seen::Objects),
        }
    }

    /// How the API server serves the namespaced kind, in the version that it prefers of
    /// those that have the kind; none where it does not.
    ///
    /// # Errors
    /// The API server does not answer, or refuses.
    pub async fn served(&self, group: &str, kind: &str) -> kube::Result<Option<ApiResource>> {
        if let Some(resource) = self.remembered(group, kind) {
            return Ok(Some(resource));
        }
        for version in self.versions(group).await? {
            let list = if group.is_empty() {
                self.client.list_core_api_resources(&version).await
            } else {
                self.client.list_api_group_resources(&version).await
            };
            let Some(list) = unless_no_such_path(list)? else {
                continue;
            };
            if let Some(resource) = namespaced(&list, kind) {
                self.memory()
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
        let Some(found) = unless_no_such_path(answer)? else {
            return Ok(Vec::new());
        };
        let preferred = found.preferred_version.map(|version| version.group_version);
        let all = found.versions.into_iter();
        let mut versions: Vec<String> = all.map(|version| version.group_version).collect();
        // Stable: the others stay in the API server's order, the newest first.
        versions.sort_by_key(|version| Some(version) != preferred.as_ref());
        Ok(versions)
    }

    async fn get(
        &self,
        namespace: &str,
        resource: &ApiResource,
        look: &Look,
    ) -> kube::Result<Vec<Value>> {
        let path = Request::new(DynamicObject::url_path(resource, Some(namespace)));
        match look {
            Look::Object { name, .. } => {
                let request = path.get(name, &GetParams::default());
                let request = request.map_err(Error::BuildRequest)?;
                match self.client.request(request).await {
                    Ok(object) => Ok(vec![object]),
                    Err(Error::Api(status)) if status.reason == NOT_FOUND => Ok(Vec::new()),
                    Err(error) => Err(error),
                }
            }
            Look::Labelled { labels, .. } => {
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
                    // Items of Kubernetes' own lists do not say what they are.
                    object["apiVersion"] = json!(resource.api_version);
                    object["kind"] = json!(resource.kind);
                }
                objects.sort_by(|a, b| name_of(a).cmp(&name_of(b)));
                Ok(objects)
            }
        }
    }

    fn remembered(&self, group: &str, kind: &str) -> Option<ApiResource> {
        let key = (group.to_owned(), kind.to_owned());
        self.memory().get(&key).cloned()
    }

    fn forget(&self, group: &str, kind: &str) {
        self.memory().remove(&(group.to_owned(), kind.to_owned()));
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, BTreeMap<(String, String), ApiResource>> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the provider lacks a right; the API server's message says which.
pub fn is_forbidden(error: &Error) -> bool {
    matches!(error, Error::Api(status) if status.code == 403)
}

/// Reason of a missing object.
const NOT_FOUND: &str = "NotFound";

/// Whether the API server knows no such path. It says so in plain text, unlike of an
/// object that is missing, so that there is no reason.
fn is_no_such_path(error: &Error) -> bool {
    matches!(error, Error::Api(status) if status.code == 404 && status.reason != NOT_FOUND)
}

fn unless_no_such_path<T>(answer: kube::Result<T>) -> kube::Result<Option<T>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if is_no_such_path(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The kind as the list of a group's version has it. Subresources have a `/` in their
/// names and kinds of their own, such as `Scale`, or their parent's.
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
