//! Watched kinds, with only the fields that are read. Others, such as env, annotations and managed
//! fields, are dropped while an object is decoded.

use std::sync::Arc;

use actor::health::{
    ForeignScaler, Pod, PodMetadata, PodSpec, PodStatus, Revision, Scaler, Time, Workload,
    WorkloadReference,
};
use actor::labels;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{self as meta, ObjectMeta};
use kube::core::PartialObjectMeta;
use kube::{Resource, ResourceExt as _};
use serde::Deserialize;

use super::index::{Entry, IndexKey};

/// KEDA's kind that makes HPAs.
pub(in crate::controller) const SCALED_OBJECT: &str = "ScaledObject";

/// A watched kind.
pub(in crate::controller) trait View: Resource {
    /// Cached part of an object.
    type Value: PartialEq;

    /// The index entry of an object; none where it belongs to no actor or workload.
    fn into_entry(self) -> Option<Entry<Self::Value>>;
}

macro_rules! view {
    ($type:ident, $group:literal, $version:literal, $api_version:literal, $kind:literal, $plural:literal, {$($field:ident: $of:ty),*}) => {
        #[doc = concat!("A ", $kind, ".")]
        #[derive(Debug, Clone, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub(in crate::controller) struct $type {
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
pub(in crate::controller) struct WorkloadSpec {
    replicas: Option<u32>,
}

/// `status` of a workload.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::controller) struct WorkloadStatus {
    update_revision: Option<String>,
}

/// `spec` of a scaler.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::controller) struct ScalerSpec {
    scale_target_ref: ScaleTarget,
}

/// Target of a scaler. For KEDA no kind means Deployment.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ScaleTarget {
    kind: Option<String>,
    name: String,
}

/// `status` of an HPA.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::controller) struct ScalerStatus {
    current_replicas: Option<u32>,
    desired_replicas: Option<u32>,
}

/// `spec` of a claim.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::controller) struct ClaimSpec {
    pub(in crate::controller) storage_class_name: Option<String>,
}

/// `status` of a claim.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::controller) struct ClaimStatus {
    pub(in crate::controller) phase: Option<String>,
}

impl ClaimView {
    pub(in crate::controller) fn spec(&self) -> &ClaimSpec {
        &self.spec
    }

    pub(in crate::controller) fn status(&self) -> &ClaimStatus {
        &self.status
    }
}

impl View for PodView {
    type Value = Arc<Pod>;

    fn into_entry(self) -> Option<Entry<Arc<Pod>>> {
        let metadata = self.metadata;
        let time = |time: &meta::Time| Time::from_seconds(time.0.as_second());
        let pod = PodMetadata {
            name: metadata.name.clone()?,
            labels: metadata.labels.clone().unwrap_or_default(),
            creation_timestamp: metadata.creation_timestamp.as_ref().map(time),
            deletion_timestamp: metadata.deletion_timestamp.as_ref().map(time),
        };
        let actor = pod.labels.get(labels::ACTOR)?.clone();
        entry(&metadata, actor, |_| {
            Arc::new(Pod {
                metadata: pod,
                spec: self.spec,
                status: self.status,
            })
        })
    }
}

impl View for DeploymentView {
    type Value = Workload;

    fn into_entry(self) -> Option<Entry<Workload>> {
        let workload = self.read();
        let name = workload_name(Self::KIND, self.metadata.name.as_ref()?);
        entry(&self.metadata, name, |_| workload)
    }
}

impl View for StatefulSetView {
    type Value = Workload;

    fn into_entry(self) -> Option<Entry<Workload>> {
        let workload = self.read();
        let name = workload_name(Self::KIND, self.metadata.name.as_ref()?);
        entry(&self.metadata, name, |_| workload)
    }
}

impl DeploymentView {
    const KIND: &'static str = <Self as k8s_openapi::Resource>::KIND;

    /// Its cached part.
    pub(in crate::controller) fn read(&self) -> Workload {
        workload(&self.metadata, &self.spec, &self.status)
    }
}

impl StatefulSetView {
    const KIND: &'static str = <Self as k8s_openapi::Resource>::KIND;

    /// Its cached part.
    pub(in crate::controller) fn read(&self) -> Workload {
        workload(&self.metadata, &self.spec, &self.status)
    }
}

impl View for PartialObjectMeta<ReplicaSet> {
    type Value = Revision;

    fn into_entry(self) -> Option<Entry<Revision>> {
        let owners = self.owner_references().iter();
        let mut owners = owners.filter(|owner| owner.controller == Some(true));
        let owner = owners.find(|owner| owner.kind == DeploymentView::KIND)?;
        let revision = Revision::read(&owner.uid, self.labels(), self.annotations())?;
        let name = workload_name(&owner.kind, &owner.name);
        entry(&self.metadata, name, |_| revision)
    }
}

impl View for HpaView {
    type Value = Scaler;

    fn into_entry(self) -> Option<Entry<Scaler>> {
        let owners = self.metadata.owner_references.iter().flatten();
        let is_kedas = owners.into_iter().any(|owner| owner.kind == SCALED_OBJECT);
        let status = self.status;
        scaler::<Self>(&self.metadata, self.spec.scale_target_ref).map(|mut entry| {
            entry.value.is_kedas = is_kedas;
            entry.value.seen = status.current_replicas;
            entry.value.desired = status.desired_replicas;
            entry
        })
    }
}

impl View for ScaledObjectView {
    type Value = Scaler;

    fn into_entry(self) -> Option<Entry<Scaler>> {
        scaler::<Self>(&self.metadata, self.spec.scale_target_ref)
    }
}

/// Name of a workload in an [`IndexKey`].
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
) -> Option<Entry<Scaler>> {
    let kind = target
        .kind
        .unwrap_or_else(|| DeploymentView::KIND.to_owned());
    let name = workload_name(&kind, &target.name);
    let labels = metadata.labels.as_ref();
    entry(metadata, name, |own_name| Scaler {
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

fn entry<V>(
    metadata: &ObjectMeta,
    group: String,
    value: impl FnOnce(&str) -> V,
) -> Option<Entry<V>> {
    let namespace = metadata.namespace.clone()?;
    let name = metadata.name.clone()?;
    Some(Entry {
        key: IndexKey {
            namespace: namespace.clone(),
            name: group,
        },
        value: value(&name),
        object: (namespace, name),
    })
}
