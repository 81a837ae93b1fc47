//! Changes of workloads: server-side apply as an actor's own field manager, never forced.

use actor::binding::{ObjectReference, targets};
use actor::labels::BOUND_TO;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{GroupVersionKind, PartialObjectMeta};
use kube::{Api, Client, Error, Resource};
use serde_json::{Value, json};

use super::marks::{KINDS, Mark};
use crate::binding::intent;
use crate::binding::refusal::{self, Answer, Refusal};

/// What changes the workloads of one actor.
pub(super) struct Hands<'a> {
    pub(super) client: &'a Client,
    pub(super) namespace: &'a str,
    /// The actor's field manager.
    pub(super) manager: &'a str,
}

/// Why a workload was not changed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The API server has judged it.
    Answer(Answer),
    /// Something went wrong.
    Kube(Error),
}

impl Hands<'_> {
    /// Applies an intent, and returns the workload as it is then.
    pub(super) async fn apply(
        &self,
        workload: &ObjectReference,
        intent: &Value,
    ) -> Result<Value, Failure> {
        let parameters = PatchParams::apply(self.manager);
        let patch = Patch::Apply(intent);
        self.patch(workload, &parameters, &patch).await
    }

    /// Takes away what was added to a workload; nothing, where it is gone.
    pub(super) async fn take_away(&self, mark: &Mark) -> Result<(), Failure> {
        let nothing = intent::nothing(&mark.workload, &mark.uid);
        gone(self.apply(&mark.workload, &nothing).await)
    }

    /// Leaves what was added to a workload to its owner.
    pub(super) async fn renounce(&self, mark: &Mark) -> Result<(), Failure> {
        let parameters = PatchParams {
            field_manager: Some(self.manager.to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(intent::without_marks(&mark.uid));
        gone(self.patch(&mark.workload, &parameters, &patch).await)
    }

    async fn patch(
        &self,
        workload: &ObjectReference,
        parameters: &PatchParams,
        patch: &Patch<impl serde::Serialize + std::fmt::Debug>,
    ) -> Result<Value, Failure> {
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
                    Some(answer) => Failure::Answer(answer),
                    None => Failure::Kube(Error::Api(status)),
                })
            }
            Err(error) => Err(Failure::Kube(error)),
        }
    }

    /// The workloads that carry the label of an actor, as they are now.
    pub(super) async fn labelled(&self, actor: &str) -> Result<Vec<Mark>, Failure> {
        let [deployment, stateful_set] = KINDS;
        let mut marks = self.list::<Deployment>(actor, deployment).await?;
        marks.extend(self.list::<StatefulSet>(actor, stateful_set).await?);
        Ok(marks)
    }

    async fn list<K>(&self, actor: &str, kind: &str) -> Result<Vec<Mark>, Failure>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + serde::de::DeserializeOwned + std::fmt::Debug,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), self.namespace);
        let labelled = ListParams::default().labels(&format!("{BOUND_TO}={actor}"));
        match api.list_metadata(&labelled).await {
            Ok(list) => {
                let read = |object: &PartialObjectMeta<K>| Mark::read(kind, object);
                Ok(list.items.iter().filter_map(read).collect())
            }
            Err(Error::Api(status)) if status.is_forbidden() => {
                let refusal = Refusal::forbidden("list", "apps", kind, self.namespace);
                Err(Failure::Answer(refusal.into()))
            }
            Err(error) => Err(Failure::Kube(error)),
        }
    }
}

/// A workload that is gone has nothing left that was added to it.
fn gone(changed: Result<Value, Failure>) -> Result<(), Failure> {
    match changed {
        Ok(_) | Err(Failure::Answer(Answer::Replaced)) => Ok(()),
        Err(failure) => Err(failure),
    }
}
