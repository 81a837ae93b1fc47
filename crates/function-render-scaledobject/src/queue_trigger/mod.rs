//! Trigger by which KEDA counts an actor's messages, and its credentials.

mod rabbitmq;
mod sqs;

use std::collections::BTreeMap;

use actor::transport::{Config, SecretKeyRef, Transport, TriggerAuthenticationRef};

/// Name of the queue's trigger, which formulas use.
pub(crate) const NAME: &str = "queue";

/// KEDA's trigger on the actor's queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueueTrigger {
    /// KEDA's name of the scaler.
    pub(crate) r#type: &'static str,
    /// Metadata of the scaler; KEDA takes texts only.
    pub(crate) metadata: BTreeMap<&'static str, String>,
    /// Credentials, which never stand in the ScaledObject.
    pub(crate) access: Access,
    /// The object of the platform team that supplies the credentials in place of `access`.
    pub(crate) platform_authentication: Option<TriggerAuthenticationRef>,
    /// The container whose environment metadata refers to, if any does.
    pub(crate) environment_of: Option<&'static str>,
    /// True if messages in work are known to be left out of the count.
    pub(crate) leaves_out_work: bool,
}

/// Credentials with which KEDA counts messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Access {
    /// The identity provider of KEDA's own pod, in place of Secrets.
    pub(crate) pod_identity: Option<&'static str>,
    /// Parameters that Secrets give, in the order in which they are written.
    pub(crate) secrets: Vec<(&'static str, SecretKeyRef)>,
    /// Parameters that are no secrets, but that KEDA takes from no metadata.
    pub(crate) parameters: BTreeMap<&'static str, String>,
}

/// A queue of an actor.
pub(crate) struct Queue<'a> {
    /// Its name at the broker.
    pub(crate) name: &'a str,
    /// Its URL, where the provider has reported it.
    pub(crate) url: Option<&'a str>,
    /// Messages per replica.
    pub(crate) length: u32,
}

impl QueueTrigger {
    /// The trigger on `queue`. `has_sidecar`: whether KEDA can read the environment
    /// of the sidecar in all that it scales.
    pub(crate) fn of(transport: &Transport, queue: &Queue<'_>, has_sidecar: bool) -> Self {
        let mut trigger = match &transport.config {
            Config::Sqs(sqs) => sqs::trigger(sqs, queue),
            Config::RabbitMq(rabbitmq) => rabbitmq::trigger(rabbitmq, queue, has_sidecar),
        };
        trigger
            .platform_authentication
            .clone_from(&transport.trigger_authentication_ref);
        trigger
    }
}
