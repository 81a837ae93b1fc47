//! Every duration of the provider, in one place: tests scale them down.

use std::time::Duration;

use actor::binding::QUIET_SECONDS;
use actor::health::Patience;

/// How long the provider waits for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timings {
    /// Time limit of one pass's calls to a broker or service.
    pub external_calls: Duration,
    /// Time limit of one such call.
    pub external_call: Duration,
    /// Longest time between two looks at a queue.
    pub poll: Duration,
    /// Shortest poll that an object's own annotation may ask for.
    pub shortest_poll: Duration,
    /// Part of a poll by which it is moved at random, in percent, in both directions.
    pub jitter_percent: u32,
    /// First wait after a failure; it doubles with each further one.
    pub first_backoff: Duration,
    /// Longest wait after failures.
    pub longest_backoff: Duration,
    /// Time that a new queue has to become visible.
    pub creation_grace: Duration,
    /// Time in which a broker counts the messages of every queue that works: several of
    /// its own intervals, which are 5 s.
    pub counting: Duration,
    /// Wait after SQS refused a name that was deleted less than a minute ago.
    pub deleted_recently: Duration,
    /// Time between two whole looks at a queue, its mark and bindings included.
    pub whole_look: Duration,
    /// Time that settings have to take effect before they are written again.
    pub settling: Duration,
    /// Counters are written at most this often, where the ProviderConfig does not say.
    pub counters: Duration,
    /// Time between two counts of a queue's dead letters, which take a call of their own.
    pub dead_letters: Duration,
    /// Time for which a queue must be seen empty before it counts as empty.
    pub empty_for: Duration,
    /// Longest wait for an actor's scalers to go before its queue does.
    pub scalers: Duration,
    /// How long credentials are used before the Secret is read again.
    pub credentials: Duration,
    /// Time between two computations of the gauges over all objects.
    pub state_metrics: Duration,
    /// Wait before a config's controller tries again after a failure of the API server.
    pub config_retry: Duration,
    /// Shortest time between two counts of a config's users.
    pub config_interval: Duration,
    /// How long a replica that is gone keeps the others from working.
    pub lease: Duration,
    /// Wait before the API server is asked again whether it is there.
    pub start_retry: Duration,
    /// Shortest time between two writes of one ActorHealth.
    pub health_interval: Duration,
    /// How long pods are given before something counts as wrong with them.
    pub patience: Patience,
    /// Wait before an ActorHealth is looked at again while pods are not watched yet.
    pub sight_retry: Duration,
    /// Time between two looks at a workload of somebody else's, which is not watched, and
    /// at a target that nothing can be added to.
    pub bound_look: Duration,
    /// Time between two looks at a bound workload while its pods are replaced.
    pub rollout_look: Duration,
    /// Wait before what another controller removed is put back; it doubles with each time.
    pub conflict_backoff: Duration,
    /// Time without a conflict after which conflicts are counted anew.
    pub conflict_quiet: Duration,
    /// Time between two looks for what bindings have left that are gone.
    pub leftovers: Duration,
    /// Shortest time between two looks whether KEDA, or another kind to watch, is there.
    pub absent_retry: Duration,
    /// Time that running passes have to end after SIGTERM.
    pub shutdown: Duration,
}

impl Default for Timings {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            external_calls: seconds(60),
            external_call: seconds(15),
            poll: seconds(600),
            shortest_poll: seconds(5),
            jitter_percent: 10,
            first_backoff: seconds(1),
            longest_backoff: seconds(60),
            creation_grace: seconds(30),
            counting: seconds(20),
            deleted_recently: seconds(65),
            whole_look: seconds(3600),
            settling: seconds(60),
            counters: seconds(60),
            dead_letters: seconds(300),
            empty_for: seconds(60),
            scalers: seconds(120),
            credentials: seconds(60),
            state_metrics: seconds(5),
            config_retry: seconds(30),
            config_interval: seconds(1),
            lease: seconds(60),
            start_retry: seconds(1),
            health_interval: seconds(2),
            patience: Patience::default(),
            sight_retry: seconds(1),
            bound_look: seconds(30),
            rollout_look: seconds(10),
            conflict_backoff: seconds(10),
            conflict_quiet: seconds(QUIET_SECONDS),
            leftovers: seconds(300),
            absent_retry: seconds(60),
            shutdown: seconds(20),
        }
    }
}
