//! Leader election by a Lease: one replica reconciles, the others stand by.
//!
//! Clocks of different machines are never compared: a lease has expired when its record has not
//! changed for the duration in the record, by the observer's clock. Crates that do this for `kube`
//! compare times that replicas write, so a wrong clock makes two of them leaders.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::time::{Instant, sleep, timeout};

/// Configuration of a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseConfig {
    /// Lease duration: others wait this long for a holder that does not renew.
    pub duration: Duration,
    /// Renew deadline: a holder that cannot renew for this long ends. Less than `duration`, so
    /// that it has ended before another starts.
    pub renew_deadline: Duration,
    /// Interval between two attempts to renew.
    pub retry: Duration,
    /// Interval between two attempts to acquire: bounds how long a released lease has no holder.
    pub acquire_interval: Duration,
}

/// Longest [`LeaseConfig::acquire_interval`]: one read every 2 s for each replica that stands by.
const LONGEST_ACQUIRE_INTERVAL: Duration = Duration::from_secs(2);

impl LeaseConfig {
    /// Configuration of a lease of this duration, in client-go's proportions.
    pub fn with_duration(duration: Duration) -> Self {
        Self {
            duration,
            renew_deadline: duration * 5 / 6,
            retry: duration / 12,
            acquire_interval: (duration / 12).min(LONGEST_ACQUIRE_INTERVAL),
        }
    }
}

/// Leader election of one replica.
pub struct LeaderElection {
    api: Api<Lease>,
    name: String,
    replica: String,
    config: LeaseConfig,
    observed: Option<ObservedLease>,
}

/// Reason for which a lease is no longer held.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeaseLost {
    /// Another replica holds it.
    #[error(
        "lease {lease:?} is held by {holder:?} now: this replica ends and stands by after its restart"
    )]
    Taken {
        /// The lease.
        lease: String,
        /// Its new holder.
        holder: String,
    },
    /// It could not be renewed.
    #[error(
        "lease {lease:?} could not be renewed for {} s: this replica ends before another becomes the leader",
        silence.as_secs()
    )]
    NotRenewed {
        /// The lease.
        lease: String,
        /// Time since the last renewal.
        silence: Duration,
    },
}

/// Result of an attempt to acquire or renew the lease.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Acquire {
    /// This replica holds it.
    Acquired,
    /// Another replica holds it.
    HeldBy(String),
    /// Another replica wrote at the same time.
    Contended,
}

/// The record when it last changed, and when that was by this replica's clock.
struct ObservedLease {
    record: LeaseSpec,
    at: Instant,
}

impl LeaderElection {
    /// Election of `replica`, whose name is unique, for the lease `name` in `namespace`.
    pub fn new(
        client: Client,
        namespace: &str,
        name: &str,
        replica: &str,
        config: LeaseConfig,
    ) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            name: name.to_owned(),
            replica: replica.to_owned(),
            config,
            observed: None,
        }
    }

    /// Waits until this replica holds the lease.
    pub async fn acquire(&mut self) {
        let mut logged = None;
        loop {
            match timeout(self.config.renew_deadline, self.attempt(false)).await {
                Ok(Ok(Acquire::Acquired)) => {
                    tracing::info!(
                        lease = self.name,
                        replica = self.replica,
                        "this replica is the leader"
                    );
                    return;
                }
                Ok(Ok(Acquire::HeldBy(holder))) if logged.as_ref() != Some(&holder) => {
                    tracing::info!(
                        lease = self.name,
                        holder,
                        "another replica is the leader: standing by"
                    );
                    logged = Some(holder);
                }
                Ok(Ok(_)) => {}
                Ok(Err(error)) => {
                    tracing::warn!(%error, lease = self.name, "cannot acquire the lease");
                }
                Err(_) => tracing::warn!(lease = self.name, "no answer about the lease"),
            }
            sleep(self.config.acquire_interval).await;
        }
    }

    /// Renews the lease until that fails.
    pub async fn renew(&mut self) -> LeaseLost {
        let mut renewed = Instant::now();
        loop {
            sleep(self.config.retry).await;
            let begun = Instant::now();
            let left = self.config.renew_deadline.saturating_sub(renewed.elapsed());
            match timeout(left, self.attempt(true)).await {
                Ok(Ok(Acquire::Acquired)) => renewed = begun,
                Ok(Ok(Acquire::HeldBy(holder))) => {
                    let lease = self.name.clone();
                    return LeaseLost::Taken { lease, holder };
                }
                Ok(Ok(Acquire::Contended)) | Err(_) => {}
                Ok(Err(error)) => {
                    tracing::warn!(%error, lease = self.name, "cannot renew the lease");
                }
            }
            if renewed.elapsed() >= self.config.renew_deadline {
                return LeaseLost::NotRenewed {
                    lease: self.name.clone(),
                    silence: self.config.renew_deadline,
                };
            }
        }
    }

    /// Releases the lease, so that no replica waits until it expires.
    pub async fn release(&mut self) {
        let released = async {
            let found = self.api.get(&self.name).await?;
            let record = found.spec.unwrap_or_default();
            if record.holder_identity.as_ref() != Some(&self.replica) {
                return Ok(());
            }
            let record = LeaseSpec {
                holder_identity: None,
                renew_time: Some(MicroTime(Timestamp::now())),
                ..record
            };
            self.replace(found.metadata, record).await.map(drop)
        };
        match timeout(self.config.retry, released).await {
            Ok(Ok(())) => tracing::info!(lease = self.name, "released the lease"),
            Ok(Err(error)) => tracing::warn!(%error, lease = self.name, "cannot release the lease"),
            Err(_) => tracing::warn!(lease = self.name, "no answer about the lease"),
        }
    }

    /// Acquires or renews the lease. A former holder does not take it back from another replica, even
    /// after that one's lease has expired: its caches are outdated.
    async fn attempt(&mut self, is_holder: bool) -> kube::Result<Acquire> {
        let Some(found) = self.api.get_opt(&self.name).await? else {
            return self.create().await;
        };
        let record = found.spec.unwrap_or_default();
        let holder = record.holder_identity.clone().unwrap_or_default();
        let is_ours = holder == self.replica;
        let is_free = self.is_free(&record, Instant::now());
        if !is_ours && (is_holder || !is_free) {
            return Ok(Acquire::HeldBy(holder));
        }
        let now = MicroTime(Timestamp::now());
        let record = LeaseSpec {
            holder_identity: Some(self.replica.clone()),
            lease_duration_seconds: Some(whole_seconds(self.config.duration)),
            renew_time: Some(now.clone()),
            acquire_time: if is_ours {
                record.acquire_time
            } else {
                Some(now)
            },
            lease_transitions: Some(record.lease_transitions.unwrap_or(0) + i32::from(!is_ours)),
            ..record
        };
        self.replace(found.metadata, record).await
    }

    /// Returns whether the lease is free or has expired, as far as this replica has observed it.
    fn is_free(&mut self, record: &LeaseSpec, now: Instant) -> bool {
        let since = match &self.observed {
            Some(observed) if observed.record == *record => observed.at,
            _ => {
                let record = record.clone();
                self.observed = Some(ObservedLease { record, at: now });
                now
            }
        };
        let seconds = record.lease_duration_seconds.map(u64::try_from);
        let lasts = seconds.map_or(self.config.duration, |seconds| {
            Duration::from_secs(seconds.unwrap_or(0))
        });
        let is_held = record
            .holder_identity
            .as_ref()
            .is_some_and(|holder| !holder.is_empty());
        !is_held || now.duration_since(since) >= lasts
    }

    async fn create(&self) -> kube::Result<Acquire> {
        let now = MicroTime(Timestamp::now());
        let lease = Lease {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec {
                holder_identity: Some(self.replica.clone()),
                lease_duration_seconds: Some(whole_seconds(self.config.duration)),
                acquire_time: Some(now.clone()),
                renew_time: Some(now),
                lease_transitions: Some(0),
                ..LeaseSpec::default()
            }),
        };
        contended(self.api.create(&PostParams::default(), &lease).await)
    }

    /// Writes the record, unless the lease has changed since `metadata` was read.
    async fn replace(&self, metadata: ObjectMeta, record: LeaseSpec) -> kube::Result<Acquire> {
        let spec = Some(record);
        let lease = Lease { metadata, spec };
        let parameters = PostParams::default();
        contended(self.api.replace(&self.name, &parameters, &lease).await)
    }
}

fn contended(written: kube::Result<Lease>) -> kube::Result<Acquire> {
    match written {
        Ok(_) => Ok(Acquire::Acquired),
        // Another replica was faster, or the lease was deleted.
        Err(kube::Error::Api(status))
            if status.is_conflict() || status.is_already_exists() || status.is_not_found() =>
        {
            Ok(Acquire::Contended)
        }
        Err(error) => Err(error),
    }
}

/// The record contains whole seconds, rounded up: a shorter lease would be lost too early.
fn whole_seconds(duration: Duration) -> i32 {
    let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    i32::try_from(seconds.max(1)).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn election() -> LeaderElection {
        let service = tower::service_fn(|_: http::Request<kube::client::Body>| async {
            Err::<http::Response<kube::client::Body>, _>(std::io::Error::other("offline"))
        });
        let client = Client::new(service, "default");
        LeaderElection::new(
            client,
            "default",
            "work",
            "a",
            LeaseConfig::with_duration(Duration::from_mins(1)),
        )
    }

    fn record(holder: &str, renewed: &str, seconds: i32) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            renew_time: Some(MicroTime(renewed.parse().unwrap())),
            lease_duration_seconds: Some(seconds),
            ..LeaseSpec::default()
        }
    }

    #[tokio::test]
    async fn a_lease_expires_when_its_record_has_not_changed_for_its_duration() {
        // The holder's clock is wrong: the time that it wrote is far in the past or future.
        for clock in ["1999-01-01T00:00:00Z", "2099-01-01T00:00:00Z"] {
            let mut election = election();
            let start = Instant::now();
            let at = |seconds| start + Duration::from_secs(seconds);
            let held = record("b", clock, 15);
            assert!(
                !election.is_free(&held, at(0)),
                "observed for the first time"
            );
            assert!(!election.is_free(&held, at(14)), "not yet");
            assert!(
                election.is_free(&held, at(15)),
                "not renewed for its duration"
            );
            let renewed = record("b", "2050-01-01T00:00:00Z", 15);
            assert!(!election.is_free(&renewed, at(16)), "renewed late");
            assert!(
                !election.is_free(&renewed, at(30)),
                "counted from the observation"
            );
            assert!(election.is_free(&record("", clock, 15), at(31)), "released");
        }
    }

    #[test]
    fn a_holder_ends_before_another_starts() {
        for seconds in [3, 15, 60] {
            let config = LeaseConfig::with_duration(Duration::from_secs(seconds));
            assert!(
                config.renew_deadline + config.retry <= config.duration,
                "{config:?}"
            );
            assert!(
                config.acquire_interval <= Duration::from_secs(2),
                "a released lease is acquired soon: {config:?}"
            );
        }
        for (duration, expected) in [(1, 1), (999, 1), (1000, 1), (1001, 2), (60_000, 60)] {
            assert_eq!(whole_seconds(Duration::from_millis(duration)), expected);
        }
    }
}
