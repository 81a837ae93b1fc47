//! The kinds that are watched, as far as they are read. What is not named here, such as
//! env, annotations and managed fields, is dropped while an object is decoded.

use std::sync::Arc;

use actor::health::{
    ForeignScaler, Pod, PodMetadata, PodSpec, PodStatus, Revision, Scaler, Time, Workload,
    WorkloadReference,
};
use actor::labels;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::PartialObjectMeta;
use kube::{Resource, ResourceExt as _};
use serde::Deserialize;

use crate::controller::grouped::{Kept, Key};

/// KEDA's kind that makes HPAs.
pub(super) const SCALED_OBJECT: &str = "ScaledObject";

/// A kind of which views are kept.
pub(super) trait View: Resource {
    /// What is kept of an object.
    type Kept: PartialEq;

    /// What is kept of this one; none where it concerns nobody.
    fn keep(self) -> Option<Kept<Self::Kept>>;
}

macro_rules! view {
    ($type:ident, $group:literal, $version:literal, $api_version:literal, $kind:literal, $plural:literal, {$($field:ident: $of:ty),*}) => {
        #[doc = concat!("A ", $kind, ".")]
        #[derive(Debug, Clone, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub(super) struct $type {
            metadata: ObjectMeta,
            $(#[serde(default)] $field: $of,)*
        }

        impl k8s_openapi::Resource for $type {
            const API_VERSION: &'static str = $api_version;
            const GROUP: &'static str = $group;
            const KIND: &'static str = $kind;
            const VERSION: &'static str = $version;
            const URL_PATH_SEGMENT: &'static str = $plural;
            type Scope = NamespaceResourceScope;
        }

        impl k8s_openapi::Metadata for $type {
            type Ty = ObjectMeta;

            fn metadata(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn metadata_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

view!(PodView, "", "v1", "v1", "Pod", "pods", {spec: PodSpec, status: PodStatus});
view!(DeploymentView, "apps", "v1", "apps/v1", "Deployment", "deployments", {spec: WorkloadSpec, status: WorkloadStatus});
view!(StatefulSetView, "apps", "v1", "apps/v1", "StatefulSet", "statefulsets", {spec: WorkloadSpec, status: WorkloadStatus});
view!(HpaView, "autoscaling", "v2", "autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", {spec: ScalerSpec, status: ScalerStatus});
view!(ScaledObjectView, "keda.sh", "v1alpha1", "keda.sh/v1alpha1", "ScaledObject", "scaledobjects", {spec: ScalerSpec});
view!(ClaimView, "", "v1", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", {spec: ClaimSpec, status: ClaimStatus});

/// `spec` of a workload.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WorkloadSpec {
    replicas: Option<u32>,
}

/// `status` of a workload.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WorkloadStatus {
    update_revision: Option<String>,
}

/// `spec` of a scaler.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ScalerSpec {
    scale_target_ref: ScaleTarget,
}

/// What a scaler scales. KEDA takes no kind for a Deployment.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ScaleTarget {
    kind: Option<String>,
    name: String,
}

/// `status` of an HPA.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ScalerStatus {
    current_replicas: Option<u32>,
    desired_replicas: Option<u32>,
}

/// `spec` of a claim.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ClaimSpec {
    pub(super) storage_class_name: Option<String>,
}

/// `status` of a claim.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ClaimStatus {
    pub(super) phase: Option<String>,
}

impl ClaimView {
    pub(super) fn spec(&self) -> &ClaimSpec {
        &self.spec
    }

    pub(super) fn status(&self) -> &ClaimStatus {
        &self.status
    }
}

impl View for PodView {
    type Kept = Arc<Pod>;

    fn keep(self) -> Option<Kept<Arc<Pod>>> {
        let metadata = self.metadata;
        let deleted = metadata.deletion_timestamp.as_ref();
        let pod = PodMetadata {
            name: metadata.name.clone()?,
            labels: metadata.labels.clone().unwrap_or_default(),
            deletion_timestamp: deleted.map(|time| Time::from_seconds(time.0.as_second())),
        };
        let actor = pod.labels.get(labels::ACTOR)?.clone();
        kept(&metadata, actor, |_| {
            Arc::new(Pod {
                metadata: pod,
                spec: self.spec,
                status: self.status,
            })
        })
    }
}

impl View for DeploymentView {
    type Kept = Workload;

    fn keep(self) -> Option<Kept<Workload>> {
        let workload = self.read();
        let name = workload_name(Self::KIND, self.metadata.name.as_ref()?);
        kept(&self.metadata, name, |_| workload)
    }
}

impl View for StatefulSetView {
    type Kept = Workload;

    fn keep(self) -> Option<Kept<Workload>> {
        let workload = self.read();
        let name = workload_name(Self::KIND, self.metadata.name.as_ref()?);
        kept(&self.metadata, name, |_| workload)
    }
}

impl DeploymentView {
    const KIND: &'static str = <Self as k8s_openapi::Resource>::KIND;

    /// What is kept of it.
    pub(super) fn read(&self) -> Workload {
        workload(&self.metadata, &self.spec, &self.status)
    }
}

impl StatefulSetView {
    const KIND: &'static str = <Self as k8s_openapi::Resource>::KIND;

    /// What is kept of it.
    pub(super) fn read(&self) -> Workload {
        workload(&self.metadata, &self.spec, &self.status)
    }
}

impl View for PartialObjectMeta<ReplicaSet> {
    type Kept = Revision;

    fn keep(self) -> Option<Kept<Revision>> {
        let owners = self.owner_references().iter();
        let mut owners = owners.filter(|owner| owner.controller == Some(true));
        let owner = owners.find(|owner| owner.kind == DeploymentView::KIND)?;
        let revision = Revision::read(&owner.uid, self.labels(), self.annotations())?;
        let name = workload_name(&owner.kind, &owner.name);
        kept(&self.metadata, name, |_| revision)
    }
}

impl View for HpaView {
    type Kept = Scaler;

    fn keep(self) -> Option<Kept<Scaler>> {
        let owners = self.metadata.owner_references.iter().flatten();
        let is_kedas = owners.into_iter().any(|owner| owner.kind == SCALED_OBJECT);
        let status = self.status;
        scaler::<Self>(&self.metadata, self.spec.scale_target_ref).map(|mut kept| {
            kept.view.is_kedas = is_kedas;
            kept.view.seen = status.current_replicas;
            kept.view.desired = status.desired_replicas;
            kept
        })
    }
}

impl View for ScaledObjectView {
    type Kept = Scaler;

    fn keep(self) -> Option<Kept<Scaler>> {
        scaler::<Self>(&self.metadata, self.spec.scale_target_ref)
    }
}

/// What a workload is called in a [`Key`].
pub(in crate::controller) fn workload_name(kind: &str, name: &str) -> String {
    format!("{kind}/{name}")
}

fn workload(metadata: &ObjectMeta, spec: &WorkloadSpec, status: &WorkloadStatus) -> Workload {
    Workload {
        uid: metadata.uid.clone().unwrap_or_default(),
        replicas: spec.replicas,
        update_revision: status.update_revision.clone(),
    }
}

fn scaler<K: k8s_openapi::Resource>(
    metadata: &ObjectMeta,
    target: ScaleTarget,
) -> Option<Kept<Scaler>> {
    let kind = target
        .kind
        .unwrap_or_else(|| DeploymentView::KIND.to_owned());
    let name = workload_name(&kind, &target.name);
    let labels = metadata.labels.as_ref();
    kept(metadata, name, |own_name| Scaler {
        itself: ForeignScaler {
            api_version: K::API_VERSION.to_owned(),
            kind: K::KIND.to_owned(),
            name: own_name.to_owned(),
        },
        target: WorkloadReference {
            kind,
            name: target.name,
        },
        actor: labels.and_then(|labels| labels.get(Scaler::ACTOR).cloned()),
        is_kedas: false,
        seen: None,
        desired: None,
    })
}

fn kept<V>(metadata: &ObjectMeta, group: String, view: impl FnOnce(&str) -> V) -> Option<Kept<V>> {
    let namespace = metadata.namespace.clone()?;
    let name = metadata.name.clone()?;
    Some(Kept {
        key: Key {
            namespace: namespace.clone(),
            name: group,
        },
        view: view(&name),
        itself: (namespace, name),
    })
}
