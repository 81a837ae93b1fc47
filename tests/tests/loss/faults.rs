//! Faults of actors while they handle messages.

use tests::mesh::{Flavor, Mesh};
use tests::pod::{RUNTIME, SIDECAR};

use crate::fleet::Fleet;

/// Actors whose pods are hit, in turn.
const STRUCK: [&str; 4] = ["first", "second", "third", "x-sink"];

/// One kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Nothing,
    KillRuntime,
    KillSidecar,
    ScaleIn,
    KillBroker,
    Reapply,
    ChangeFlavor,
}

impl Fault {
    pub(crate) const ALL: [Self; 7] = [
        Self::Nothing,
        Self::KillRuntime,
        Self::KillSidecar,
        Self::ScaleIn,
        Self::KillBroker,
        Self::Reapply,
        Self::ChangeFlavor,
    ];

    /// Its name on the command line and in ids.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::KillRuntime => "kill-runtime",
            Self::KillSidecar => "kill-sidecar",
            Self::ScaleIn => "scale-in",
            Self::KillBroker => "kill-broker",
            Self::Reapply => "reapply",
            Self::ChangeFlavor => "change-flavor",
        }
    }

    /// Description for the table.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Nothing => "none",
            Self::KillRuntime => "`kill -9` of a runtime",
            Self::KillSidecar => "`kill -9` of a sidecar",
            Self::ScaleIn => "scale-in: a pod gets SIGTERM",
            Self::KillBroker => "`kill -9` of the broker, and its restart",
            Self::Reapply => "everything rendered and applied again, and the provider restarted",
            Self::ChangeFlavor => "a changed flavor: policies rewritten, all pods replaced",
        }
    }

    /// After how many messages that have arrived it strikes again.
    pub(crate) fn every(self) -> usize {
        match self {
            Self::Nothing => usize::MAX,
            Self::KillRuntime | Self::KillSidecar => 50,
            Self::ScaleIn => 100,
            Self::KillBroker => 400,
            Self::Reapply | Self::ChangeFlavor => 1000,
        }
    }

    /// Strikes; `turn` counts from 0.
    pub(crate) async fn strike(self, mesh: &mut Mesh, fleet: &mut Fleet, turn: usize) {
        let actor = STRUCK[turn % STRUCK.len()];
        let replica = turn / STRUCK.len();
        match self {
            Self::Nothing => {}
            Self::KillRuntime => fleet.kill(actor, replica, RUNTIME),
            Self::KillSidecar => fleet.kill(actor, replica, SIDECAR),
            Self::ScaleIn => fleet.replace(mesh, actor).await,
            Self::KillBroker => mesh.broker.kill_and_restart().await,
            Self::Reapply => {
                mesh.restart_provider();
                let flavor = fleet.flavor().clone();
                let is_changed = fleet.apply(mesh, flavor).await;
                assert!(!is_changed, "the same input renders the same pods");
            }
            Self::ChangeFlavor => {
                // Another timeout: with it other queue settings, grace periods and sidecars.
                let round = fleet.flavor().round + 1;
                let timeout = if round.is_multiple_of(2) {
                    "30s"
                } else {
                    "40s"
                };
                let flavor = Flavor {
                    round,
                    timeout: timeout.to_owned(),
                };
                let is_changed = fleet.apply(mesh, flavor).await;
                assert!(is_changed, "another flavor renders other pods");
            }
        }
    }
}
