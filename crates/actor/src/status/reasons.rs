//! The reasons of an actor's conditions, as one table: what each means, and what to do.
//!
//! The reasons of `ActorReady` are the statuses; see [`StatusReason`](super::StatusReason).

use super::ConditionType;

/// A reason that a condition may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reason {
    /// The condition's status: `True`, `False` or `Unknown`.
    pub status: &'static str,
    /// The reason.
    pub name: &'static str,
    /// Meaning.
    pub means: &'static str,
    /// Remedy; empty if there is nothing to do.
    pub cure: &'static str,
}

macro_rules! reasons {
    ($($status:ident $name:ident: $means:literal, $cure:literal;)*) => {
        &[$(Reason {
            status: stringify!($status),
            name: stringify!($name),
            means: $means,
            cure: $cure,
        }),*]
    };
}

macro_rules! conditions {
    ($($condition:ident { $($reasons:tt)* })*) => {
        &[$((ConditionType::$condition, reasons! { $($reasons)* })),*]
    };
}

/// The reasons of each condition, less those of [`ANYWHERE`].
pub const REASONS: &[(ConditionType, &[Reason])] = conditions! {
    FlavorsResolved {
        True Resolved: "the flavors are merged", "";
        True NoFlavors: "the actor names none", "";
        Unknown FetchingFlavors: "Crossplane has not fetched all of them yet and calls again", "";
        False WaitingForFlavors: "a flavor does not exist, or lacks the label that the platform requires", "create or label the EnvironmentConfig; no restart is needed";
        False FlavorConflict: "two flavors set the same leaf", "remove it from one of them, or set the top-level field in the actor";
        False InvalidFlavors: "the list is invalid (more than 8, one twice, an invalid name), or a flavor's data is", "follow the message";
    }
    TransportReady {
        True Available: "the queue accepts messages", "";
        False Creating: "the queue is being created", "wait; if it lasts, `kubectl describe` the Queue";
        False TransportError: "the transport is unknown, disabled, or another one than the live queue's", "correct `transport` or the platform settings; to move: drain, delete, create";
        False ConfigError: "settings of the queue or the transport are invalid", "follow the message";
        False PlatformMissing: "the EnvironmentConfig with the platform settings does not exist", "create it: `asya-platform`";
        False PlatformInvalid: "the platform settings are invalid", "follow the message; `asya lint` shows the line";
        False ReconcileError: "the provider's last reconcile of the queue failed", "the message begins with the operation; see docs/transports.md";
        False QueueNotOwned: "the queue exists and has no ownership tag", "use another name, or `queue.adopt`";
        False QueueOwnedByAnother: "the queue has another owner's tag", "use another name, or delete the owner that the message names";
        False QueueOwnerChanged: "the ProviderConfig has another ownerID than when the queue was created", "set the ownerID that the message names";
        False QueueLocationChanged: "config or name point to another place than the queue's", "point them back; to move: drain, delete, create";
        False QueueDeletedRecently: "SQS keeps the name of a deleted queue for 60 s", "wait; the provider retries after 65 s";
        False Unavailable: "the queue exists and cannot be used", "follow the message";
        False Deleting: "the Queue is being deleted", "the message names what it waits for";
    }
    WorkloadReady {
        True Available: "at least one pod is ready", "";
        True ScaledToZero: "no pod is desired", "";
        True Degraded: "some pods work, others fail", "see the status that the message names";
        False Creating: "the workload is being created", "";
        False Starting: "pods are starting, and none is ready yet", "wait; if it lasts, read the pods' events";
        False ConfigError: "the spec is invalid, or a ConfigMap or Secret is missing", "follow the message";
        False VolumeError: "a volume cannot be mounted", "create or bind what the message names";
        False ImagePullError: "an image cannot be pulled", "check name, registry and `imagePullSecrets`";
        False SidecarError: "the sidecar crashes, or messages wait for two minutes that no ready pod takes", "read its log; usually the transport's address or credentials are wrong";
        False RuntimeError: "the handler's container crashes", "read its log; usually an import fails";
        False PendingResources: "no node has room for a pod", "use smaller requests, other nodes, or a toleration";
        False WorkloadError: "another container crashes, or a pod has no sandbox", "read the log of the container that the message names";
        False ReplicaFailure: "pods cannot be created: quota, a webhook, a missing ServiceAccount", "follow the message";
        False ProgressDeadlineExceeded: "a rollout is stuck", "inspect the pods of the new revision";
        False Conflict: "another controller removed the injected containers; they are added again", "nothing, if it happens rarely";
        False GaveUp: "another controller removed the injected containers more than five times", "use `binding.strategy: Adapter`";
        False AlreadyBound: "another actor is bound to the target", "bind one of them to another target, or use Adapter for both";
        False FieldTaken: "the target has a container, volume or label of that name", "rename it there, or use Adapter";
        False Forbidden: "the provider may not patch the target", "apply `install/provider-asya/rbac-binding.yaml`, or use Adapter";
        False ReconcileError: "the provider could not reconcile the target", "follow the message";
        False TargetNotFound: "the target of a bound actor is missing", "create it again, or delete the actor";
        False KindNotServed: "the target's kind is no longer served", "install its CRD";
        False NoWorkload: "the target has no workload any more", "read the target's own status";
        Unknown TargetNotResolved: "the target is not found yet", "read `TargetResolved`";
        Unknown WatchForbidden: "the provider may not watch pods, workloads or scalers", "apply `install/provider-asya/rbac.yaml`";
    }
    ScalingReady {
        True Available: "KEDA scales the workload", "";
        True Paused: "an annotation `autoscaling.keda.sh/paused…` pauses KEDA", "remove it";
        False Creating: "the ScaledObject is being created, or KEDA has not reconciled it yet", "wait; if it lasts, check KEDA's operator";
        False WaitingForQueue: "the ScaledObject is created once the queue is ready", "";
        False Waiting: "KEDA waits for the queue or the workload", "";
        False ScalingDisabled: "`scaling.enabled` is false", "";
        False ConfigError: "KEDA would refuse this scaling", "follow the message";
        False KedaNotInstalled: "the cluster does not serve ScaledObject; the actor runs without scaling", "install KEDA, or `scaling.enabled: false`";
        False ForeignScaler: "an HPA or ScaledObject of another owner scales the workload", "delete it, or `scaling.enabled: false`";
        False NotScalable: "the number of the target's pods cannot be set; the actor works", "set `scaling.enabled: false` if this is intended";
        False ScaledObjectCheckFailed: "KEDA refuses the ScaledObject, or cannot read its queue", "follow the message: credentials, address, a second autoscaler";
        False TriggerError: "KEDA cannot read any trigger", "check the address and the Secret of the trigger";
        Unknown PartialTriggerError: "KEDA cannot read one of several triggers", "check the trigger that the message names";
        Unknown TargetNotResolved: "the target is not found yet", "read `TargetResolved`";
    }
    TargetResolved {
        True Resolved: "the workload behind `workloadRef` is found", "";
        False NotBound: "the actor has a workload of its own now", "";
        False TargetNotResolved: "the provider has not resolved the target yet", "wait; if it lasts, read the provider's log";
        False TargetNotFound: "no object of that kind and name exists in the namespace", "correct `workloadRef`";
        False KindNotServed: "the cluster does not serve the kind, or the provider cannot read it", "install its CRD, or grant the permission";
        False NoWorkload: "the target has not created its pods yet", "read the target's own status";
    }
};

/// Reasons that any condition may have.
pub const ANYWHERE: &[Reason] = reasons! {
    Unknown NotChecked: "an earlier step ended the reconcile", "read `ActorReady`: it contains the cause";
    Unknown NotRendered: "no step of this Composition renders that part", "add the step, or nothing if that is intended";
    Unknown FatalError: "set by Crossplane: a reconcile failed before the step could answer", "read `Synced`";
    False PredecessorDeleting: "objects of a deleted actor of the same name are still being deleted", "wait; if it lasts, kubectl describe the object that the message names: a finalizer holds it";
    False NameTaken: "another actor of the namespace has the same name", "rename one of them; the message names the owner";
    False OwnedByAnother: "an object of that name belongs to another controller", "delete or rename that one";
    False Refused: "the API server refuses an object, or an addition to a target", "`kubectl describe` the actor: its events contain the API server's error";
    False NotApplied: "Crossplane could not apply the objects", "follow the message, which is that of `Synced`";
    False Deleted: "somebody deleted an object", "nothing: it is created again";
};

/// Returns whether the condition may have that status with that reason.
pub fn is_known(condition: ConditionType, status: &str, name: &str) -> bool {
    let of_condition = REASONS.iter().filter(|(of, _)| *of == condition);
    let mut reasons = of_condition
        .flat_map(|(_, reasons)| *reasons)
        .chain(ANYWHERE);
    reasons.any(|reason| (reason.status, reason.name) == (status, name))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Problems that end without a change by the user, or that the user has asked for.
    const NOTHING_TO_DO: [&str; 5] = [
        "Creating",
        "NotBound",
        "ScalingDisabled",
        "Waiting",
        "WaitingForQueue",
    ];

    #[test]
    fn each_reason_is_listed_once_and_every_error_has_a_remedy() {
        for (condition, reasons) in REASONS {
            let mut seen = BTreeSet::new();
            for reason in reasons.iter().chain(ANYWHERE) {
                let is_new = seen.insert((reason.status, reason.name));
                assert!(is_new, "{condition}: {reason:?} is listed twice");
                let has_cure = reason.status != "False"
                    || !reason.cure.is_empty()
                    || NOTHING_TO_DO.contains(&reason.name);
                assert!(has_cure, "{condition}: {reason:?} does not say what to do");
            }
        }
    }

    #[test]
    fn a_reason_is_known_by_condition_and_status() {
        let known = [
            (ConditionType::FlavorsResolved, "True", "Resolved", true),
            (ConditionType::FlavorsResolved, "False", "Resolved", false),
            (ConditionType::TransportReady, "True", "Resolved", false),
            (ConditionType::TransportReady, "Unknown", "NotChecked", true),
        ];
        for (condition, status, name, expected) in known {
            assert_eq!(
                is_known(condition, status, name),
                expected,
                "{condition} {status} {name}"
            );
        }
    }
}
