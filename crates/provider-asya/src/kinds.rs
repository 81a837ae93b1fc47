//! The provider's kinds as objects of a Kubernetes API.
//!
//! Spec and status are those of the crate `actor`, from which the
//! CustomResourceDefinitions are generated too.

use actor::binding::{BindingSpec, BindingStatus};
use actor::health::{HealthSpec, HealthStatus};
use actor::managed::Condition;
use actor::provider_config::{
    ClusterProviderConfigSpec, ProviderConfigSpec, ProviderConfigStatus, Usage,
};
use actor::queue::{QueueSpec, QueueStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use serde::{Deserialize, Serialize};

/// Group of the kinds.
pub const GROUP: &str = "provider.asya.sh";

/// A kind whose objects Crossplane manages: they are ready or not, and synced or not.
pub trait Managed: kube::Resource<DynamicType = ()> + k8s_openapi::Resource {
    /// What is said of the object.
    fn conditions(&self) -> &[Condition];
}

impl Managed for Queue {
    fn conditions(&self) -> &[Condition] {
        &self.status.conditions
    }
}

impl Managed for WorkloadBinding {
    fn conditions(&self) -> &[Condition] {
        &self.status.conditions
    }
}

macro_rules! kind {
    ($type:ident, $scope:ty, $plural:literal, $doc:literal, {$($(#[$attribute:meta])* $field:ident: $of:ty),*}) => {
        #[doc = $doc]
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $type {
            /// Name, namespace and the like.
            pub metadata: ObjectMeta,
            $($(#[$attribute])* pub $field: $of,)*
        }

        impl k8s_openapi::Resource for $type {
            const API_VERSION: &'static str = actor::PROVIDER_API_VERSION;
            const GROUP: &'static str = GROUP;
            const KIND: &'static str = stringify!($type);
            const VERSION: &'static str = actor::VERSION;
            const URL_PATH_SEGMENT: &'static str = $plural;
            type Scope = $scope;
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

kind!(Queue, NamespaceResourceScope, "queues", "One queue.", {
    /// What is wanted.
    spec: QueueSpec,
    /// What is seen.
    #[serde(default)]
    status: QueueStatus
});
kind!(ActorHealth, NamespaceResourceScope, "actorhealths", "What is seen of one actor's pods.", {
    /// What is watched.
    spec: HealthSpec,
    /// What is seen.
    #[serde(default)]
    status: HealthStatus
});
kind!(
    WorkloadBinding,
    NamespaceResourceScope,
    "workloadbindings",
    "An actor on a workload that another controller owns.",
    {
        /// What is wanted.
        spec: BindingSpec,
        /// What is seen.
        #[serde(default)]
        status: BindingStatus
    }
);
kind!(ProviderConfig, NamespaceResourceScope, "providerconfigs", "A connection for one namespace.", {
    /// The connection.
    spec: ProviderConfigSpec,
    /// Who uses it.
    #[serde(default)]
    status: ProviderConfigStatus
});
kind!(
    ClusterProviderConfig,
    ClusterResourceScope,
    "clusterproviderconfigs",
    "A connection for many namespaces.",
    {
        /// The connection, and what tenants may do with it.
        spec: ClusterProviderConfigSpec,
        /// Who uses it.
        #[serde(default)]
        status: ProviderConfigStatus
    }
);
kind!(
    ProviderConfigUsage,
    NamespaceResourceScope,
    "providerconfigusages",
    "The record that an object uses a config.",
    {
        /// The object and the config.
        #[serde(flatten)]
        usage: Usage
    }
);
