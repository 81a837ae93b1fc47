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
pub(super) struct Applier<'a> {
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

impl Applier<'_> {
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

    /// The workloads on which an actor has left something, as they are now: those that carry
    /// its label, and the last one that it was bound to, which may have lost the label.
    pub(super) async fn marked(
        &self,
        actor: &str,
        last: Option<&ObjectReference>,
    ) -> Result<Vec<Mark>, Failure> {
        let [deployment, stateful_set] = KINDS;
        let mut marks = self.list::<Deployment>(actor, deployment).await?;
        marks.extend(self.list::<StatefulSet>(actor, stateful_set).await?);
        if let Some(last) = last
            && !marks.iter().any(|mark| mark.workload.is_same_object(last))
        {
            marks.extend(self.left_on(last, actor).await?);
        }
        Ok(marks)
    }

    /// What an actor has left on a workload, labelled or not; none where it is gone.
    async fn left_on(
        &self,
        workload: &ObjectReference,
        actor: &str,
    ) -> Result<Option<Mark>, Failure> {
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

    async fn get<K>(&self, actor: &str, kind: &str, name: &str) -> Result<Option<Mark>, Failure>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + serde::de::DeserializeOwned + std::fmt::Debug,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), self.namespace);
        match api.get_metadata_opt(name).await {
            Ok(found) => Ok(found.and_then(|found| Mark::of(actor, kind, &found))),
            Err(error) => Err(self.unread(error, "get", kind)),
        }
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
            Err(error) => Err(self.unread(error, "list", kind)),
        }
    }

    fn unread(&self, error: Error, verb: &str, kind: &str) -> Failure {
        match error {
            Error::Api(status) if status.is_forbidden() => {
                let refusal = Refusal::forbidden(verb, "apps", kind, self.namespace);
                Failure::Answer(refusal.into())
            }
            error => Failure::Kube(error),
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
