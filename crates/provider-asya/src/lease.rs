//! The Lease by which one of several replicas works while the others stand by.
//!
//! Clocks of different machines are never compared: a lease is over when its
//! record has not changed for as long as the record itself says, by the clock
//! of whoever looks. The crates that do this for `kube` compare the times that
//! replicas write, so that a clock that is wrong makes two of them work.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::time::{Instant, sleep, timeout};

/// How long a lease lasts, and how it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// How long others wait for a holder that is silent.
    pub duration: Duration,
    /// How long a holder that cannot renew goes on; less than `duration`, so that it has
    /// ended before another begins.
    pub renewal: Duration,
    /// Time between two tries to take or renew.
    pub retry: Duration,
}

impl Terms {
    /// Terms for a lease of this duration, in the proportions of other controllers.
    pub fn lasting(duration: Duration) -> Self {
        Self {
            duration,
            renewal: duration * 5 / 6,
            retry: duration / 12,
        }
    }
}

/// One replica's claim to a lease.
pub struct Claim {
    api: Api<Lease>,
    name: String,
    replica: String,
    terms: Terms,
    seen: Option<Sighting>,
}

/// Why a lease is not held any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// Another replica holds it.
    #[error(
        "lease {lease:?} is held by {holder:?} now: this replica ends, to stand by when it is started again"
    )]
    Taken {
        /// The lease.
        lease: String,
        /// Who holds it.
        holder: String,
    },
    /// It could not be renewed.
    #[error(
        "lease {lease:?} could not be renewed for {} s: this replica ends before another takes over",
        silence.as_secs()
    )]
    NotRenewed {
        /// The lease.
        lease: String,
        /// For how long.
        silence: Duration,
    },
}

/// How a try to take or renew the lease ended.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Try {
    /// It is ours.
    Ours,
    /// Somebody else holds it.
    Theirs(String),
    /// Somebody else wrote at the same time.
    Contended,
}

/// What the record said when it last changed, and when that was by our own clock.
struct Sighting {
    record: LeaseSpec,
    at: Instant,
}

impl Claim {
    /// A claim of `replica`, whose name no other process has, to the lease `name` in `namespace`.
    pub fn new(client: Client, namespace: &str, name: &str, replica: &str, terms: Terms) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            name: name.to_owned(),
            replica: replica.to_owned(),
            terms,
            seen: None,
        }
    }

    /// Waits until the lease is ours.
    pub async fn acquire(&mut self) {
        let mut told = None;
        loop {
            match timeout(self.terms.renewal, self.attempt(false)).await {
                Ok(Ok(Try::Ours)) => {
                    tracing::info!(
                        lease = self.name,
                        replica = self.replica,
                        "this replica works"
                    );
                    return;
                }
                Ok(Ok(Try::Theirs(holder))) if told.as_ref() != Some(&holder) => {
                    tracing::info!(lease = self.name, holder, "this replica stands by");
                    told = Some(holder);
                }
                Ok(Ok(_)) => {}
                Ok(Err(error)) => {
                    tracing::warn!(%error, lease = self.name, "cannot take the lease");
                }
                Err(_) => tracing::warn!(lease = self.name, "no answer about the lease"),
            }
            sleep(self.terms.retry).await;
        }
    }

    /// Renews the lease, for as long as that works.
    pub async fn keep(&mut self) -> Lost {
        let mut renewed = Instant::now();
        loop {
            sleep(self.terms.retry).await;
            let begun = Instant::now();
            let left = self.terms.renewal.saturating_sub(renewed.elapsed());
            match timeout(left, self.attempt(true)).await {
                Ok(Ok(Try::Ours)) => renewed = begun,
                Ok(Ok(Try::Theirs(holder))) => {
                    let lease = self.name.clone();
                    return Lost::Taken { lease, holder };
                }
                Ok(Ok(Try::Contended)) | Err(_) => {}
                Ok(Err(error)) => {
                    tracing::warn!(%error, lease = self.name, "cannot renew the lease");
                }
            }
            if renewed.elapsed() >= self.terms.renewal {
                return Lost::NotRenewed {
                    lease: self.name.clone(),
                    silence: self.terms.renewal,
                };
            }
        }
    }

    /// Gives the lease up, so that nobody has to wait until it is over.
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
        match timeout(self.terms.retry, released).await {
            Ok(Ok(())) => tracing::info!(lease = self.name, "the lease is given up"),
            Ok(Err(error)) => tracing::warn!(%error, lease = self.name, "cannot give the lease up"),
            Err(_) => tracing::warn!(lease = self.name, "no answer about the lease"),
        }
    }

    /// Takes the lease, or renews it. One who holds it already does not take it from another who
    /// has taken it meanwhile, even when that one is gone: what it knows is out of date.
    async fn attempt(&mut self, is_holder: bool) -> kube::Result<Try> {
        let Some(found) = self.api.get_opt(&self.name).await? else {
            return self.create().await;
        };
        let record = found.spec.unwrap_or_default();
        let holder = record.holder_identity.clone().unwrap_or_default();
        let is_ours = holder == self.replica;
        let is_free = self.is_free(&record, Instant::now());
        if !is_ours && (is_holder || !is_free) {
            return Ok(Try::Theirs(holder));
        }
        let now = MicroTime(Timestamp::now());
        let record = LeaseSpec {
            holder_identity: Some(self.replica.clone()),
            lease_duration_seconds: Some(whole_seconds(self.terms.duration)),
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

    /// Whether nobody holds the lease, as far as this replica has watched it.
    fn is_free(&mut self, record: &LeaseSpec, now: Instant) -> bool {
        let since = match &self.seen {
            Some(seen) if seen.record == *record => seen.at,
            _ => {
                let record = record.clone();
                self.seen = Some(Sighting { record, at: now });
                now
            }
        };
        let seconds = record.lease_duration_seconds.map(u64::try_from);
        let lasts = seconds.map_or(self.terms.duration, |seconds| {
            Duration::from_secs(seconds.unwrap_or(0))
        });
        let is_held = record
            .holder_identity
            .as_ref()
            .is_some_and(|holder| !holder.is_empty());
        !is_held || now.duration_since(since) >= lasts
    }

    async fn create(&self) -> kube::Result<Try> {
        let now = MicroTime(Timestamp::now());
        let lease = Lease {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec {
                holder_identity: Some(self.replica.clone()),
                lease_duration_seconds: Some(whole_seconds(self.terms.duration)),
                acquire_time: Some(now.clone()),
                renew_time: Some(now),
                lease_transitions: Some(0),
                ..LeaseSpec::default()
            }),
        };
        contended(self.api.create(&PostParams::default(), &lease).await)
    }

    /// Writes the record, unless somebody has written since `metadata` was read.
    async fn replace(&self, metadata: ObjectMeta, record: LeaseSpec) -> kube::Result<Try> {
        let spec = Some(record);
        let lease = Lease { metadata, spec };
        let parameters = PostParams::default();
        contended(self.api.replace(&self.name, &parameters, &lease).await)
    }
}

fn contended(written: kube::Result<Lease>) -> kube::Result<Try> {
    match written {
        Ok(_) => Ok(Try::Ours),
        // Somebody else was quicker, or has deleted the lease.
        Err(kube::Error::Api(status))
            if status.is_conflict() || status.is_already_exists() || status.is_not_found() =>
        {
            Ok(Try::Contended)
        }
        Err(error) => Err(error),
    }
}

/// The record counts whole seconds, and a holder that promised less would lose the lease too early.
fn whole_seconds(duration: Duration) -> i32 {
    let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    i32::try_from(seconds.max(1)).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim() -> Claim {
        let service = tower::service_fn(|_: http::Request<kube::client::Body>| async {
            Err::<http::Response<kube::client::Body>, _>(std::io::Error::other("offline"))
        });
        let client = Client::new(service, "default");
        Claim::new(
            client,
            "default",
            "work",
            "a",
            Terms::lasting(Duration::from_mins(1)),
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
    async fn a_lease_is_over_when_its_record_has_not_changed_for_as_long_as_it_says() {
        // The time that the holder wrote is far in the past, or far in the future: its clock is
        // no business of ours.
        for clock in ["1999-01-01T00:00:00Z", "2099-01-01T00:00:00Z"] {
            let mut claim = claim();
            let start = Instant::now();
            let at = |seconds| start + Duration::from_secs(seconds);
            let held = record("b", clock, 15);
            assert!(!claim.is_free(&held, at(0)), "seen for the first time");
            assert!(!claim.is_free(&held, at(14)), "not yet");
            assert!(claim.is_free(&held, at(15)), "silent for long enough");
            let renewed = record("b", "2050-01-01T00:00:00Z", 15);
            assert!(!claim.is_free(&renewed, at(16)), "it was slow, and lives");
            assert!(
                !claim.is_free(&renewed, at(30)),
                "counted from when it was seen"
            );
            assert!(claim.is_free(&record("", clock, 15), at(31)), "given up");
        }
    }

    #[test]
    fn a_holder_ends_before_another_begins() {
        for seconds in [3, 15, 60] {
            let terms = Terms::lasting(Duration::from_secs(seconds));
            assert!(terms.renewal + terms.retry <= terms.duration, "{terms:?}");
        }
        for (duration, expected) in [(1, 1), (999, 1), (1000, 1), (1001, 2), (60_000, 60)] {
            assert_eq!(whole_seconds(Duration::from_millis(duration)), expected);
        }
    }
}
