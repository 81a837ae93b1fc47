//! Fixtures that the tests of a program share, since they take long to start.
//!
//! ```no_run
//! use test_cluster::cluster::Cluster;
//! use test_cluster::shared::Shared;
//!
//! static CLUSTER: Shared<Cluster> =
//!     Shared::new("clusters", || Box::pin(Cluster::start()));
//!
//! #[test]
//! fn a_new_cluster_has_no_pods() {
//!     CLUSTER.run(async |cluster| {
//!         let client = cluster.client().await;
//!         // …
//!     });
//! }
//! ```
//!
//! The first test that needs a fixture starts it, and it is kept for those that follow. Fixtures that
//! no test uses at the moment are stopped when another one starts, so that a program with many does
//! not have all of them at once. What is left when the program ends is stopped by
//! [`watchdog`](crate::watchdog).

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use tokio::runtime::{Builder, Runtime};

use crate::components;

/// One for all tests of a program: connections and tasks of a shared fixture outlive the test that
/// made them.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let runtime = Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime starts")
});

/// Every fixture of this program that was started once.
static ALL: Mutex<Vec<&'static (dyn StopIfIdle + Sync)>> = Mutex::new(Vec::new());

/// Runs a test that needs real components but shares none, unless such tests are skipped.
///
/// `what` names the subject of the test in the list of skipped ones.
pub fn run(what: &str, test: impl Future<Output = ()>) {
    if !components::is_skipped(what) {
        RUNTIME.block_on(test);
    }
}

/// A fixture in a `static`, which tests share.
pub struct Shared<T: 'static> {
    what: &'static str,
    start: fn() -> Starting<T>,
    state: tokio::sync::Mutex<State<T>>,
    /// Held for reading by each test, for writing by one that must be alone.
    users: tokio::sync::RwLock<()>,
}

/// Function that starts a fixture.
pub type Starting<T> = Pin<Box<dyn Future<Output = T> + Send>>;

enum State<T> {
    Stopped,
    /// Or it is being started: then nobody else can see this.
    Failed,
    Running(Arc<T>),
}

impl<T: Send + Sync> Shared<T> {
    /// A fixture that `start` starts when it is first needed. `what` names the subject of its tests in
    /// the list of skipped ones.
    pub const fn new(what: &'static str, start: fn() -> Starting<T>) -> Self {
        Self {
            what,
            start,
            state: tokio::sync::Mutex::const_new(State::Stopped),
            users: tokio::sync::RwLock::const_new(()),
        }
    }

    /// Runs a test with the fixture, unless tests of real components are skipped.
    ///
    /// # Panics
    /// If the fixture does not start, or did not start for an earlier test; and with the test.
    pub fn run(&'static self, test: impl AsyncFnOnce(&T)) {
        run(self.what, async {
            let _user = self.users.read().await;
            let fixture = self.get().await;
            test(&fixture).await;
        });
    }

    /// Like [`run`](Self::run), while no other test uses the fixture: for tests that count all its
    /// calls, or break it for a while.
    ///
    /// # Panics
    /// Like [`run`](Self::run).
    pub fn run_alone(&'static self, test: impl AsyncFnOnce(&T)) {
        run(self.what, async {
            let _user = self.users.write().await;
            let fixture = self.get().await;
            test(&fixture).await;
        });
    }

    async fn get(&'static self) -> Arc<T> {
        let mut state = self.state.lock().await;
        match &*state {
            State::Running(fixture) => return fixture.clone(),
            State::Failed => panic!(
                "the fixture for {} did not start: the first test that failed has the reason",
                self.what
            ),
            State::Stopped => {}
        }
        stop_idle_ones(self);
        *state = State::Failed;
        let fixture = Arc::new((self.start)().await);
        *state = State::Running(fixture.clone());
        fixture
    }
}

/// Stops all fixtures that no test uses, and adds the one that starts to the list.
fn stop_idle_ones(starting: &'static (dyn StopIfIdle + Sync)) {
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    for other in all.iter() {
        other.stop_if_idle();
    }
    if !all.iter().any(|other| std::ptr::addr_eq(*other, starting)) {
        all.push(starting);
    }
}

trait StopIfIdle {
    fn stop_if_idle(&self);
}

impl<T: Send + Sync> StopIfIdle for Shared<T> {
    fn stop_if_idle(&self) {
        // Whoever holds the lock is about to use the fixture.
        let Ok(mut state) = self.state.try_lock() else {
            return;
        };
        if let State::Running(fixture) = &*state
            && Arc::strong_count(fixture) == 1
        {
            *state = State::Stopped;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    static STARTED: AtomicUsize = AtomicUsize::new(0);
    static STOPPED: AtomicUsize = AtomicUsize::new(0);

    struct Counted;

    impl Counted {
        fn new() -> Self {
            STARTED.fetch_add(1, Ordering::SeqCst);
            Self
        }
    }

    impl Drop for Counted {
        fn drop(&mut self) {
            STOPPED.fetch_add(1, Ordering::SeqCst);
        }
    }

    static COUNTED: Shared<Counted> = Shared::new("counts", || Box::pin(async { Counted::new() }));
    static OTHER: Shared<()> = Shared::new("others", || Box::pin(async {}));
    static BROKEN: Shared<()> = Shared::new("failures", || Box::pin(async { panic!("broken") }));

    #[test]
    fn a_fixture_is_started_once_and_stopped_when_another_starts_while_it_is_idle() {
        let counts = || {
            (
                STARTED.load(Ordering::SeqCst),
                STOPPED.load(Ordering::SeqCst),
            )
        };
        // Not through `run`, which skips tests where real components are left out.
        RUNTIME.block_on(async {
            drop(COUNTED.get().await);
            let in_use = COUNTED.get().await;
            assert_eq!(counts(), (1, 0));
            stop_idle_ones(&OTHER);
            assert_eq!(counts(), (1, 0), "it is in use");
            drop(in_use);
            OTHER.get().await;
            assert_eq!(counts(), (1, 1));
            drop(COUNTED.get().await);
            assert_eq!(counts(), (2, 1));
        });
    }

    #[test]
    fn tests_of_a_fixture_that_does_not_start_fail_at_once() {
        let error = |_| {
            let result = panic::catch_unwind(|| RUNTIME.block_on(BROKEN.get()));
            let panic = result.unwrap_err();
            let text = panic.downcast_ref::<String>().cloned();
            text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        };
        let [first, second] = [0, 1].map(error).map(Option::unwrap);
        assert_eq!(first, "broken");
        assert!(second.contains("failures did not start"), "{second}");
    }
}
