//! Record of shared policies: who wrote them.
//!
//! A policy carries no owner tag, so the status of the ProviderConfig records which shared policies the
//! provider writes, before it does. A policy without a record is foreign, unless it is exactly what the provider
//! would write and the config has Queues from before records existed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actor::provider_config::{PolicyOrigin, SHARED_POLICIES_MAX, SharedPolicyRecord};

use super::RabbitMqExternal;
use super::shared_policy::SharedPolicy;

/// Virtual host and name of a policy.
type Key = (String, String);

/// Origins of shared policies that are newer than the cached ProviderConfig. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedRecords(Arc<Mutex<Records>>);

#[derive(Debug, Default)]
struct Records {
    recorded: BTreeMap<Key, PolicyOrigin>,
    proposed: BTreeMap<Key, PolicyOrigin>,
}

impl SharedRecords {
    fn lock(&self) -> MutexGuard<'_, Records> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RabbitMqExternal {
    /// Who wrote a shared policy, as it is recorded.
    pub(super) fn shared_origin(&self, shared: &SharedPolicy, name: &str) -> Option<PolicyOrigin> {
        let key = (self.vhost().to_owned(), name.to_owned());
        let newer = self.shared_records().lock().recorded.get(&key).copied();
        newer.or_else(|| shared.records.get(name).copied())
    }

    /// Keeps an origin until the caller has recorded it.
    pub(super) fn propose_record(&self, name: &str, origin: PolicyOrigin) {
        let key = (self.vhost().to_owned(), name.to_owned());
        let mut records = self.shared_records().lock();
        if records.proposed.len() < SHARED_POLICIES_MAX {
            records.proposed.insert(key, origin);
        }
    }

    /// Origins of this virtual host that must be recorded.
    pub(super) fn proposed_records(&self) -> Vec<SharedPolicyRecord> {
        let records = self.shared_records().lock();
        let of_vhost = records.proposed.iter();
        of_vhost
            .filter(|((vhost, _), _)| vhost == self.vhost())
            .map(|((vhost, name), origin)| SharedPolicyRecord {
                vhost: vhost.clone(),
                name: name.clone(),
                origin: *origin,
            })
            .collect()
    }

    /// Ends proposals: they are recorded as given.
    pub(super) fn set_recorded(&self, recorded: &[SharedPolicyRecord]) {
        let mut records = self.shared_records().lock();
        for record in recorded {
            let key = (record.vhost.clone(), record.name.clone());
            records.proposed.remove(&key);
            if records.recorded.len() < 2 * SHARED_POLICIES_MAX {
                records.recorded.insert(key, record.origin);
            }
        }
    }

    fn shared_records(&self) -> &SharedRecords {
        &self.broker.shared_policies.records
    }
}
