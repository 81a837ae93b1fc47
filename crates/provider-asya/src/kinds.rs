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

/// A managed resource: its objects have the conditions `Ready` and `Synced`.
pub trait Managed: kube::Resource<DynamicType = ()> + k8s_openapi::Resource {
    /// Its status.
    type Status: Clone + Serialize;

    /// The status of an object.
    fn status(&self) -> &Self::Status;
    /// The conditions in a status.
    fn conditions_in(status: &Self::Status) -> &[Condition];
    /// The conditions in a status, to change them.
    fn conditions_mut(status: &mut Self::Status) -> &mut Vec<Condition>;

    /// The conditions of an object.
    fn conditions(&self) -> &[Condition] {
        Self::conditions_in(self.status())
    }
}

macro_rules! managed {
    ($type:ident, $status:ty) => {
        impl Managed for $type {
            type Status = $status;

            fn status(&self) -> &$status {
                &self.status
            }

            fn conditions_in(status: &$status) -> &[Condition] {
                &status.conditions
            }

            fn conditions_mut(status: &mut $status) -> &mut Vec<Condition> {
                &mut status.conditions
            }
        }
    };
}

managed!(Queue, QueueStatus);
managed!(WorkloadBinding, BindingStatus);
managed!(ActorHealth, HealthStatus);

macro_rules! kind {
    ($type:ident, $scope:ty, $plural:literal, $doc:literal, {$($(#[$attribute:meta])* $field:ident: $of:ty),*}) => {
        #[doc = $doc]
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $type {
            /// Metadata of the object.
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

kind!(Queue, NamespaceResourceScope, "queues", "A queue of RabbitMQ or SQS.", {
    /// Desired state.
    spec: QueueSpec,
    /// Observed state.
    #[serde(default)]
    status: QueueStatus
});
kind!(ActorHealth, NamespaceResourceScope, "actorhealths", "The health of one actor's pods.", {
    /// Kind to watch.
    spec: HealthSpec,
    /// Observed state.
    #[serde(default)]
    status: HealthStatus
});
kind!(
    WorkloadBinding,
    NamespaceResourceScope,
    "workloadbindings",
    "An actor on a workload that another controller owns.",
    {
        /// Desired state.
        spec: BindingSpec,
        /// Observed state.
        #[serde(default)]
        status: BindingStatus
    }
);
kind!(ProviderConfig, NamespaceResourceScope, "providerconfigs", "A connection to a broker or service, for one namespace.", {
    /// The connection.
    spec: ProviderConfigSpec,
    /// Number of users, and conditions.
    #[serde(default)]
    status: ProviderConfigStatus
});
kind!(
    ClusterProviderConfig,
    ClusterResourceScope,
    "clusterproviderconfigs",
    "A connection to a broker or service, for many namespaces.",
    {
        /// The connection, and what namespaces may do with it.
        spec: ClusterProviderConfigSpec,
        /// Number of users, and conditions.
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
