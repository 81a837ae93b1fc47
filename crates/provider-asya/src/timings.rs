//! Every duration of the provider, in one place: tests scale them down.

use std::time::Duration;

use actor::binding::QUIET_SECONDS;
use actor::health::HealthTimeouts;

use crate::heartbeat::Limits;

/// Every timeout, interval and backoff of the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timings {
    /// Timeout of all calls to a broker or service in one reconcile (default 60s).
    pub external_calls: Duration,
    /// The same for an endpoint that was not called yet, or did not answer (default 20s).
    pub untried_calls: Duration,
    /// Timeout of one call to a broker or service (default 15s).
    pub external_call: Duration,
    /// Interval between two polls of a queue (default 10m).
    pub poll: Duration,
    /// Shortest poll interval with which queues on RabbitMQ are read from lists (default 30s).
    pub list_poll: Duration,
    /// Shortest poll interval that an object's annotation can set (default 5s).
    pub shortest_poll: Duration,
    /// Random jitter of a poll interval, in percent, in both directions (default 10).
    pub jitter_percent: u32,
    /// First backoff after an error; each further one doubles it (default 1s).
    pub first_backoff: Duration,
    /// Longest backoff (default 60s).
    pub longest_backoff: Duration,
    /// Time in which a created queue may not be visible yet (default 30s).
    pub creation_grace: Duration,
    /// Time in which a broker counts the messages of every queue that works: several of its
    /// own intervals of 5 s (default 20s).
    pub counting: Duration,
    /// Retry interval while SQS refuses a name that was deleted less than 60 s ago (default 65s).
    pub deleted_recently: Duration,
    /// Interval between two full observations of a queue, owner tag and bindings included
    /// (default 1h).
    pub resync_interval: Duration,
    /// Time that settings have to take effect before they are written again (default 60s).
    pub settling: Duration,
    /// Shortest interval between two writes of counters, where the ProviderConfig sets none
    /// (default 60s).
    pub counters: Duration,
    /// Interval between two counts of a queue's dead letters, which take one more call
    /// (default 5m).
    pub dead_letters: Duration,
    /// Time for which messages wait without a consumer, though pods are ready, before the condition
    /// `NoConsumer` is set (default 2m).
    pub unconsumed_for: Duration,
    /// Poll interval of a queue whose messages wait without a consumer (default 15s).
    pub unconsumed_poll: Duration,
    /// Time for which a queue must be observed empty before it counts as empty (default 60s).
    pub empty_for: Duration,
    /// Longest wait for the deletion of an actor's scalers before its queue is deleted, or its target
    /// restored (default 2m).
    pub scalers: Duration,
    /// Interval after which a Secret with credentials is read again (default 60s).
    pub credentials: Duration,
    /// Interval between two computations of the gauges over all objects (default 5s).
    pub state_metrics: Duration,
    /// Retry interval of the controllers of ProviderConfigs (default 30s).
    pub config_retry: Duration,
    /// Shortest interval between two counts of a ProviderConfig's users (default 1s).
    pub config_interval: Duration,
    /// Leader-election lease duration (default 60s).
    pub lease: Duration,
    /// Retry interval while the API server does not answer at start (default 1s).
    pub start_retry: Duration,
    /// Shortest interval between two status writes of one ActorHealth (default 2s).
    pub health_interval: Duration,
    /// Longest wait of a new ActorHealth for its workload before its first status is written
    /// (default 5s).
    pub health_grace: Duration,
    /// Shortest interval between two announcements of changed EnvironmentConfigs (default 50ms: 1,000
    /// actors in 50 s).
    pub announcement_interval: Duration,
    /// Longest time for each phase of a pod's start before it counts as a problem.
    pub timeouts: HealthTimeouts,
    /// Interval at which an ActorHealth is reconciled while the watch caches are not synced
    /// (default 1s).
    pub cache_sync_retry: Duration,
    /// Poll interval of workloads that are not watched, and of targets that nothing can be
    /// injected into (default 30s).
    pub target_poll_interval: Duration,
    /// Poll interval of a bound workload during its rollout (default 10s).
    pub rollout_poll_interval: Duration,
    /// First wait before removed containers are injected again; each conflict doubles it
    /// (default 10s).
    pub conflict_backoff: Duration,
    /// Time without a conflict after which conflicts are counted from 0 (default 1h).
    pub conflict_quiet: Duration,
    /// Interval between two garbage collections of what deleted bindings injected (default 5m).
    pub garbage_collect_interval: Duration,
    /// Interval at which a kind that is not served, such as KEDA's, is looked up (default 60s).
    pub missing_kind_retry: Duration,
    /// When `/healthz` reports that a controller is stuck (default: no sign of life for 60s, of which
    /// there is one each 5s, or a reconcile that takes 15m).
    pub stuck: Limits,
    /// Longest time that a watch of the objects of actors is open before it is opened again, at most
    /// 295s (default 60s). A right that was removed is noticed then.
    pub watch_renewal: Duration,
    /// Time that running reconciles have to end after SIGTERM (default 20s).
    pub shutdown: Duration,
}

impl Default for Timings {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            external_calls: seconds(60),
            untried_calls: seconds(20),
            external_call: seconds(15),
            poll: seconds(600),
            list_poll: seconds(30),
            shortest_poll: seconds(5),
            jitter_percent: 10,
            first_backoff: seconds(1),
            longest_backoff: seconds(60),
            creation_grace: seconds(30),
            counting: seconds(20),
            deleted_recently: seconds(65),
            resync_interval: seconds(3600),
            settling: seconds(60),
            counters: seconds(60),
            dead_letters: seconds(300),
            unconsumed_for: seconds(120),
            unconsumed_poll: seconds(15),
            empty_for: seconds(60),
            scalers: seconds(120),
            credentials: seconds(60),
            state_metrics: seconds(5),
            config_retry: seconds(30),
            config_interval: seconds(1),
            lease: seconds(60),
            start_retry: seconds(1),
            health_interval: seconds(2),
            health_grace: seconds(5),
            announcement_interval: Duration::from_millis(50),
            timeouts: HealthTimeouts::default(),
            cache_sync_retry: seconds(1),
            target_poll_interval: seconds(30),
            rollout_poll_interval: seconds(10),
            conflict_backoff: seconds(10),
            conflict_quiet: seconds(QUIET_SECONDS),
            garbage_collect_interval: seconds(300),
            missing_kind_retry: seconds(60),
            stuck: Limits {
                interval: seconds(5),
                silence: seconds(60),
                reconcile: seconds(900),
            },
            watch_renewal: seconds(60),
            shutdown: seconds(20),
        }
    }
}
