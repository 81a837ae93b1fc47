//! Record of shared policies, in the status of the ProviderConfig.

use actor::provider_config::{
    CLUSTER_KIND, KIND, PolicyOrigin, SHARED_POLICIES_MAX, SharedPolicyRecord,
};
use kube::{Api, ResourceExt as _};
use serde_json::json;

use super::Connector;
use crate::controller::config::Config;
use crate::controller::managed::writes;
use crate::kinds::{ClusterProviderConfig, ProviderConfig, Queue};

/// Attempts to write a record, where others write the status of the config at the same time.
const ATTEMPTS: usize = 10;

impl Connector {
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
