//! Roles of composed objects.

use actor::status::ConditionType;
use actor::{binding, health, queue};

/// Role of a composed object. Objects of other functions in the same pipeline are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The queue.
    Queue,
    /// The workload whose pods do the work.
    Workload,
    /// KEDA's `ScaledObject`.
    Scaler,
    /// KEDA's `ScaledObject` of the target of a bound actor.
    TargetScaler,
    /// Object by which KEDA gets access to the queue.
    ScalerAccess,
    /// The binding to another owner's workload.
    Binding,
    /// Objects that the workload needs: script, `ServiceAccount`, `ActorHealth`.
    Support,
}

impl Part {
    /// The part that the composition-resource name stands for.
    pub(crate) fn of(name: &str) -> Option<Self> {
        Some(match name {
            queue::RESOURCE_NAME => Self::Queue,
            "scaled-object" => Self::Scaler,
            "trigger-authentication" | "trigger-parameters" => Self::ScalerAccess,
            "scaled-object-target" => Self::TargetScaler,
            binding::RESOURCE_NAME => Self::Binding,
            health::RESOURCE_NAME | "service-account" => Self::Support,
            _ if WORKLOADS.contains(&name) => Self::Workload,
            _ if name.starts_with("runtime-script-") => Self::Support,
            _ => return None,
        })
    }

    /// The condition that is False where the part is missing.
    pub(crate) fn condition(self) -> ConditionType {
        match self {
            Self::Queue => ConditionType::TransportReady,
            Self::Scaler | Self::TargetScaler | Self::ScalerAccess => ConditionType::ScalingReady,
            Self::Workload | Self::Binding | Self::Support => ConditionType::WorkloadReady,
        }
    }
}

/// Composition-resource names of workloads; an actor has one of them.
pub(crate) const WORKLOADS: [&str; 3] =
    ["deployment", "statefulset", binding::ADAPTER_RESOURCE_NAME];

#[cfg(test)]
mod tests {
    use super::*;
    use actor::spec::WorkloadKind;

    #[test]
    fn every_kind_of_workload_is_one() {
        for kind in [WorkloadKind::Deployment, WorkloadKind::StatefulSet] {
            assert_eq!(Part::of(kind.resource_name()), Some(Part::Workload));
        }
    }
}
