//! The reasons of an actor's conditions, as one table: what each means, and what to do.
//!
//! The reasons of `ActorReady` are the words; see [`StatusReason`](super::StatusReason).

use super::ConditionType;

/// A reason that a condition may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reason {
    /// The condition's status: `True`, `False` or `Unknown`.
    pub status: &'static str,
    /// The reason.
    pub name: &'static str,
    /// What it means.
    pub means: &'static str,
    /// What to do; empty where there is nothing to be done.
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
        False WaitingForFlavors: "a flavor does not exist, or lacks the label that the platform asks for", "create or label the EnvironmentConfig; nothing needs to be started again";
        False FlavorConflict: "two flavors set the same leaf", "take it out of one of them, or set the top-level field in the actor";
        False InvalidFlavors: "the list is invalid (more than 8, one twice, a bad name), or a flavor's data is", "what the message says";
    }
    TransportReady {
        True Available: "the queue takes messages", "";
        False Creating: "the queue is being made", "wait; where it lasts, `kubectl describe` of the Queue";
        False TransportError: "the transport is unknown, disabled, or another one than the live queue's", "correct `transport` or the platform's settings; to move: drain, delete, create";
        False ConfigError: "settings of the queue or the transport are invalid", "what the message says";
        False PlatformMissing: "there is no EnvironmentConfig with the platform's settings", "create it: `asya-platform`";
        False PlatformInvalid: "the platform's settings cannot be used", "what the message says; `asya lint` shows the line";
        False ReconcileError: "the provider's last pass over the queue failed", "the message begins with what failed; see docs/transports.md";
        False QueueNotOwned: "the queue exists and carries no mark of an owner", "another name, or `queue.adopt`";
        False QueueOwnedByAnother: "the queue carries another owner's mark", "another name, or delete the owner, which the message names";
        False QueueLocationChanged: "config or name lead to another place than where the queue is", "point them back; to move: drain, delete, create";
        False QueueDeletedRecently: "SQS keeps the name of a deleted queue for 60 s", "wait; it is tried again after 65 s";
        False Unavailable: "the queue exists and cannot be used", "what the message says";
        False Deleting: "the Queue is being deleted", "the message says what it waits for";
    }
    WorkloadReady {
        True Available: "at least one pod is ready", "";
        True ScaledToZero: "no pod is asked for", "";
        True Degraded: "some pods work, others fail", "the message names the fault: do as for that word";
        False Creating: "the workload is being made", "";
        False Starting: "pods start, and none is ready yet", "wait; where it lasts, the pods' events";
        False ConfigError: "the spec is invalid, or a ConfigMap or Secret is missing", "what the message says";
        False VolumeError: "a volume cannot be mounted", "create or bind what the message names";
        False ImagePullError: "an image cannot be pulled", "its name, its registry, `imagePullSecrets`";
        False SidecarError: "the sidecar crashes", "its log; most often the transport's address or credentials";
        False RuntimeError: "the handler's container crashes", "its log; most often an import that fails";
        False PendingResources: "no node has room for a pod", "fewer resources, other nodes, or a toleration";
        False WorkloadError: "another container crashes, or a pod has no sandbox", "the log of the container that the message names";
        False ReplicaFailure: "pods cannot be created: quota, a webhook, a missing ServiceAccount", "what the message says";
        False ProgressDeadlineExceeded: "a rollout is stuck", "the pods of the new revision";
        False Conflict: "another controller removed what was injected; it is put back", "nothing, if it happens now and then";
        False GaveUp: "another controller removed it more than five times", "`binding.strategy: Adapter`";
        False AlreadyBound: "another actor is bound to the target", "bind one of them elsewhere, or both as Adapter";
        False FieldTaken: "the target has a container, volume or label of that name", "rename it there, or Adapter";
        False Forbidden: "the provider may not patch the target", "`install/provider-asya/rbac-binding.yaml`, or Adapter";
        False ReconcileError: "the provider could not do its work on the target", "what the message says";
        False TargetNotFound: "the target of a bound actor is gone", "create it again, or delete the actor";
        False KindNotServed: "the target's kind is no longer served", "install its CRD";
        False NoWorkload: "the target has no workload any more", "the target's own status";
        Unknown TargetNotResolved: "the target is not found yet", "read `TargetResolved`";
    }
    ScalingReady {
        True Available: "KEDA scales the workload", "";
        True Paused: "an annotation `autoscaling.keda.sh/paused…` stops KEDA", "remove it";
        False Creating: "the ScaledObject is being made, or KEDA has not looked at it", "wait; where it lasts, KEDA's operator";
        False Waiting: "KEDA waits for the queue or the workload", "";
        False ScalingDisabled: "`scaling.enabled` is false", "";
        False ConfigError: "the scaling is one that KEDA would refuse", "what the message says";
        False KedaNotInstalled: "the cluster does not serve ScaledObject; the actor runs without scaling", "install KEDA, or `scaling.enabled: false`";
        False ForeignScaler: "an HPA or ScaledObject of somebody else's scales the workload", "delete it, or `scaling.enabled: false`";
        False NotScalable: "nothing can set the number of the target's pods; the actor works", "`scaling.enabled: false` says that this is meant";
        False ScaledObjectCheckFailed: "KEDA refuses the ScaledObject, or cannot read its queue", "what the message says: credentials, address, a second scaler";
        False TriggerError: "KEDA cannot read any trigger", "the address and the Secret that the trigger uses";
        Unknown PartialTriggerError: "KEDA cannot read one of several triggers", "the trigger that the message names";
        Unknown TargetNotResolved: "the target is not found yet", "read `TargetResolved`";
    }
    TargetResolved {
        True Resolved: "the workload behind `workloadRef` is found", "";
        False NotBound: "the actor has a workload of its own now", "";
        False TargetNotResolved: "the provider has not looked yet", "wait; where it lasts, the provider's log";
        False TargetNotFound: "there is no object of that kind and name in the namespace", "correct `workloadRef`";
        False KindNotServed: "the cluster does not serve the kind, or the provider may not read it", "install its CRD, or grant the right";
        False NoWorkload: "the target has not made its pods yet", "the target's own status";
    }
};

/// Reasons that any condition may have.
pub const ANYWHERE: &[Reason] = reasons! {
    Unknown NotChecked: "an earlier step ended the pass", "read `ActorReady`: it has the cause";
    Unknown NotRendered: "no step of this Composition renders that part", "add the step, or leave it so";
    Unknown FatalError: "Crossplane's own: a pass ended before the step could speak", "read `Synced`";
    False PredecessorDeleting: "objects of a deleted actor of the same name are still being deleted", "wait; if it lasts, kubectl describe the object that the message names: a finalizer holds it";
    False NameTaken: "another actor of the namespace has the same name", "rename one of them; the message names the owner";
    False OwnedByAnother: "an object of that name belongs to another controller", "delete or rename that one";
    False Refused: "the API server refuses an object, or what is to be added to a target", "`kubectl describe` of the actor has the API server's words in its events";
    False NotApplied: "Crossplane could not apply the objects of this pass", "what the message, which is that of `Synced`, says";
    False Gone: "an object that was there is gone", "nothing: it is made again";
};

/// Whether the condition may have that status with that reason.
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

    /// Faults that pass by themselves, or that the user has asked for.
    const NOTHING_TO_DO: [&str; 4] = ["Creating", "NotBound", "ScalingDisabled", "Waiting"];

    #[test]
    fn no_reason_is_listed_twice_and_every_fault_has_a_cure() {
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
