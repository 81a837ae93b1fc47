//! Server-side apply to workloads, as the actor's own field manager and never forced.

use actor::binding::{ObjectReference, targets};
use actor::labels::BOUND_TO;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{GroupVersionKind, PartialObjectMeta};
use kube::{Api, Client, Error, Resource};
use serde_json::{Value, json};

use super::bound_workloads::{BoundWorkload, KINDS};
use crate::binding::intent;
use crate::binding::refusal::{self, Refusal, Rejection};

/// Applies changes to workloads of one actor.
pub(super) struct Applier<'a> {
    pub(super) client: &'a Client,
    pub(super) namespace: &'a str,
    /// The actor's field manager.
    pub(super) manager: &'a str,
}

/// Error of a change of a workload.
#[derive(Debug)]
pub(super) enum ApplyError {
    /// The API server rejected it.
    Rejected(Rejection),
    /// The API server failed.
    Kube(Error),
}

impl Applier<'_> {
    /// Applies an intent; returns the changed workload.
    pub(super) async fn apply(
        &self,
        workload: &ObjectReference,
        intent: &Value,
    ) -> Result<Value, ApplyError> {
        let parameters = PatchParams::apply(self.manager);
        let patch = Patch::Apply(intent);
        self.patch(workload, &parameters, &patch).await
    }

    /// Removes what was injected into a workload; succeeds where the workload is missing.
    pub(super) async fn remove_injected(&self, bound: &BoundWorkload) -> Result<(), ApplyError> {
        let empty = intent::empty(&bound.workload, &bound.uid);
        unless_replaced(self.apply(&bound.workload, &empty).await)
    }

    /// Leaves what was injected to the owner of the workload, and removes label and annotation.
    pub(super) async fn orphan_injected(&self, bound: &BoundWorkload) -> Result<(), ApplyError> {
        let parameters = PatchParams {
            field_manager: Some(self.manager.to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(intent::remove_labels(&bound.uid));
        unless_replaced(self.patch(&bound.workload, &parameters, &patch).await)
    }

    async fn patch(
        &self,
        workload: &ObjectReference,
        parameters: &PatchParams,
        patch: &Patch<impl serde::Serialize + std::fmt::Debug>,
    ) -> Result<Value, ApplyError> {
        let group = targets::group_of(&workload.api_version);
        let version = workload.api_version.rsplit('/').next().unwrap_or_default();
        let kind = GroupVersionKind::gvk(group, version, &workload.kind);
        let resource = ApiResource::from_gvk(&kind);
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), self.namespace, &resource);
        match api.patch(&workload.name, parameters, patch).await {
            Ok(changed) => Ok(json!(changed)),
            Err(Error::Api(status)) => {
                Err(match refusal::read(&status, workload, self.namespace) {
                    Some(answer) => ApplyError::Rejected(answer),
                    None => ApplyError::Kube(Error::Api(status)),
                })
            }
            Err(error) => Err(ApplyError::Kube(error)),
        }
    }

    /// Reads the workloads of an actor: those with its label, and the last one that it was bound to,
    /// which may have lost the label.
    pub(super) async fn bound_workloads(
        &self,
        actor: &str,
        last: Option<&ObjectReference>,
    ) -> Result<Vec<BoundWorkload>, ApplyError> {
        let [deployment, stateful_set] = KINDS;
        let mut bound = self.list::<Deployment>(actor, deployment).await?;
        bound.extend(self.list::<StatefulSet>(actor, stateful_set).await?);
        if let Some(last) = last
            && !bound
                .iter()
                .any(|other| other.workload.is_same_object(last))
        {
            bound.extend(self.read_last(last, actor).await?);
        }
        Ok(bound)
    }

    /// Reads the last workload of an actor, labelled or not; none where it is missing.
    async fn read_last(
        &self,
        workload: &ObjectReference,
        actor: &str,
    ) -> Result<Option<BoundWorkload>, ApplyError> {
        let [deployment, stateful_set] = KINDS;
        let name = workload.name.as_str();
        match workload.kind.as_str() {
            kind if kind == deployment => self.get::<Deployment>(actor, deployment, name).await,
            kind if kind == stateful_set => {
                self.get::<StatefulSet>(actor, stateful_set, name).await
            }
            _ => Ok(None),
        }
    }

    async fn get<K>(
        &self,
        actor: &str,
        kind: &str,
        name: &str,
    ) -> Result<Option<BoundWorkload>, ApplyError>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + serde::de::DeserializeOwned + std::fmt::Debug,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), self.namespace);
        match api.get_metadata_opt(name).await {
            Ok(found) => Ok(found.and_then(|found| BoundWorkload::read_for(actor, kind, &found))),
            Err(error) => Err(self.unread(error, "get", kind)),
        }
    }

    async fn list<K>(&self, actor: &str, kind: &str) -> Result<Vec<BoundWorkload>, ApplyError>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + serde::de::DeserializeOwned + std::fmt::Debug,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), self.namespace);
        let labelled = ListParams::default().labels(&format!("{BOUND_TO}={actor}"));
        match api.list_metadata(&labelled).await {
            Ok(list) => {
                let read = |object: &PartialObjectMeta<K>| BoundWorkload::read(kind, object);
                Ok(list.items.iter().filter_map(read).collect())
            }
            Err(error) => Err(self.unread(error, "list", kind)),
        }
    }

    fn unread(&self, error: Error, verb: &str, kind: &str) -> ApplyError {
        match error {
            Error::Api(status) if status.is_forbidden() => {
                let refusal = Refusal::forbidden(verb, "apps", kind, self.namespace);
                ApplyError::Rejected(refusal.into())
            }
            error => ApplyError::Kube(error),
        }
    }
}

/// Success where the workload is missing or was replaced: nothing is injected there.
fn unless_replaced(changed: Result<Value, ApplyError>) -> Result<(), ApplyError> {
    match changed {
        Ok(_) | Err(ApplyError::Rejected(Rejection::Replaced)) => Ok(()),
        Err(failure) => Err(failure),
    }
}
