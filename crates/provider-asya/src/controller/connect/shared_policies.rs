//! Shared policies of a ProviderConfig, and their record in its status.

use std::collections::BTreeMap;

use actor::provider_config::{
    CLUSTER_KIND, KIND, PolicyOrigin, SHARED_POLICIES_MAX, SharedPolicyRecord, SharedPolicySettings,
};
use kube::runtime::reflector::Store;
use kube::{Api, ResourceExt as _};
use serde_json::json;

use super::{Connector, ResolvedConfig, policy_record};
use crate::controller::config::Config;
use crate::controller::managed::writes;
use crate::kinds::{ClusterProviderConfig, ProviderConfig, Queue};
use crate::transport::rabbitmq::definition::PolicyRecord;
use crate::transport::rabbitmq::shared_policy::SharedPolicy;

/// Shared policies of a virtual host: for queues and for their dead-letter queues.
const SHARED_OF_VHOST: usize = 2;

/// Attempts to write a record, where others write the status of the config at the same time.
const ATTEMPTS: usize = 10;

impl Connector {
    /// The policies that the queues of a config share in a virtual host.
    pub(super) fn shared_policy(
        &self,
        config: &ResolvedConfig,
        settings: &SharedPolicySettings,
        vhost: &str,
    ) -> Option<SharedPolicy> {
        let records = config.shared_policies.iter();
        let of_vhost = records.filter(|record| record.vhost == vhost);
        let records: BTreeMap<_, _> = of_vhost
            .map(|record| (record.name.clone(), record.origin))
            .collect();
        settings.enabled.then(|| SharedPolicy {
            owner_id: config.owner_id().to_owned(),
            queue_names: settings.queue_names.clone(),
            max_receive_count: settings.max_receive_count,
            may_predate_records: records.len() < SHARED_OF_VHOST
                && self.has_older_queues(config, vhost),
            records,
        })
    }

    /// Returns whether a queue of a config was observed by a version that recorded no policies.
    fn has_older_queues(&self, config: &ResolvedConfig, vhost: &str) -> bool {
        let is_older = |queue: &Queue| {
            let is_within =
                config.cluster.is_some() || queue.namespace().as_ref() == Some(&config.namespace);
            let rabbitmq = queue.spec.for_provider.rabbitmq.as_ref();
            is_within
                && queue.spec.provider_config_ref == config.reference
                && rabbitmq.is_some_and(|rabbitmq| rabbitmq.vhost == vhost)
                && policy_record(&queue.status.at_provider) == PolicyRecord::Unrecorded
        };
        let queues = self.queues.get().map(Store::state).unwrap_or_default();
        queues.iter().any(|queue| is_older(queue))
    }

    /// Records shared policies in the config of a Queue, and returns what is recorded now.
    ///
    /// # Errors
    /// The API server failed, or refused.
    pub async fn record_shared_policies(
        &self,
        queue: &Queue,
        proposed: &[SharedPolicyRecord],
    ) -> kube::Result<Vec<SharedPolicyRecord>> {
        let reference = &queue.spec.provider_config_ref;
        let (client, name) = (self.client.clone(), reference.name.as_str());
        match reference.kind.as_str() {
            KIND => {
                let namespace = queue.namespace().unwrap_or_default();
                let api = Api::<ProviderConfig>::namespaced(client, &namespace);
                record(&api, name, proposed).await
            }
            CLUSTER_KIND => {
                record(&Api::<ClusterProviderConfig>::all(client), name, proposed).await
            }
            _ => Ok(Vec::new()),
        }
    }
}

async fn record<K: Config>(
    api: &Api<K>,
    name: &str,
    proposed: &[SharedPolicyRecord],
) -> kube::Result<Vec<SharedPolicyRecord>> {
    let mut attempt = 1;
    loop {
        let Some(config) = api.get_opt(name).await? else {
            return Ok(Vec::new());
        };
        let old = &config.status().shared_policies;
        let (new, recorded) = merge(old, proposed);
        if new == *old {
            return Ok(recorded);
        }
        let fields = json!({"sharedPolicies": new});
        match writes::early_status(api, &config, fields).await {
            Ok(_) => return Ok(recorded),
            Err(error) if writes::is_outdated(&error) && attempt < ATTEMPTS => attempt += 1,
            Err(error) => return Err(error),
        }
    }
}

/// The new record of a config, and the entries for what was proposed. What the provider wrote stays its own.
/// Without a place in the record, a policy counts as foreign.
fn merge(
    old: &[SharedPolicyRecord],
    proposed: &[SharedPolicyRecord],
) -> (Vec<SharedPolicyRecord>, Vec<SharedPolicyRecord>) {
    let mut new = old.to_vec();
    let mut recorded = Vec::new();
    for record in proposed {
        let is_same = |other: &&mut SharedPolicyRecord| {
            other.vhost == record.vhost && other.name == record.name
        };
        let mut entry = record.clone();
        let has_place = new.len() < SHARED_POLICIES_MAX;
        match new.iter_mut().find(is_same) {
            Some(found) if found.origin == PolicyOrigin::Provider => entry.origin = found.origin,
            Some(found) => found.origin = record.origin,
            None if has_place => new.push(record.clone()),
            None => entry.origin = PolicyOrigin::Foreign,
        }
        recorded.push(entry);
    }
    (new, recorded)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: PolicyOrigin = PolicyOrigin::Provider;
    const THEIRS: PolicyOrigin = PolicyOrigin::Foreign;

    fn record(vhost: &str, origin: PolicyOrigin) -> SharedPolicyRecord {
        SharedPolicyRecord {
            vhost: vhost.to_owned(),
            name: "asya:east:queues".to_owned(),
            origin,
        }
    }

    #[test]
    fn a_written_policy_stays_the_providers() {
        let cases = [
            ("unrecorded, ours", None, OURS, OURS),
            ("unrecorded, foreign", None, THEIRS, THEIRS),
            ("ours stays", Some(OURS), THEIRS, OURS),
            ("the foreign one was deleted", Some(THEIRS), OURS, OURS),
            ("foreign stays", Some(THEIRS), THEIRS, THEIRS),
        ];
        for (reason, old, proposed, expected) in cases {
            let others = record("other", THEIRS);
            let old: Vec<_> = old.map(|origin| record("/", origin)).into_iter().collect();
            let old = [vec![others.clone()], old].concat();
            let (new, recorded) = merge(&old, &[record("/", proposed)]);
            assert_eq!(recorded, [record("/", expected)], "{reason}");
            assert_eq!(new, [others, record("/", expected)], "{reason}");
        }
    }

    #[test]
    fn what_has_no_place_in_the_record_counts_as_foreign() {
        let old: Vec<_> = (0..SHARED_POLICIES_MAX)
            .map(|index| record(&index.to_string(), OURS))
            .collect();
        let (new, recorded) = merge(&old, &[record("/", OURS)]);
        assert_eq!(new, old);
        assert_eq!(recorded, [record("/", THEIRS)]);
    }
}
