//! Decision tables.

use super::*;

const NAME: &str = "asya-cart";

fn owner_tag() -> OwnerTag {
    OwnerTag::new("east", "shop", "cart").unwrap()
}

fn policies(list: &[&str]) -> Policies {
    Policies::read(
        &list
            .iter()
            .map(|policy| (*policy).to_owned())
            .collect::<Vec<_>>(),
    )
    .unwrap()
}

/// A queue with this owner and this drift.
fn present(owner: Ownership, drift: &[Drift]) -> Observation {
    let observed = ObservedQueue {
        owner,
        drift: drift.to_vec(),
        held: Some(3),
        ..ObservedQueue::default()
    };
    Observation::Present(Box::new(observed))
}

fn ours() -> Ownership {
    Ownership::OwnedBy("east/shop/cart".to_owned())
}

fn theirs() -> Ownership {
    Ownership::OwnedBy("west/shop/cart".to_owned())
}

struct Case {
    observation: Observation,
    policies: &'static [&'static str],
    adoption: Adoption,
    is_new: bool,
    is_incomplete: bool,
    deletion: Option<Deletion>,
    since_update: Option<u64>,
}

impl Case {
    fn of(observation: Observation) -> Self {
        Self {
            observation,
            policies: &["*"],
            adoption: Adoption::NotRequested,
            is_new: false,
            is_incomplete: false,
            deletion: None,
            since_update: None,
        }
    }

    fn deleted(observation: Observation) -> Self {
        let deletion = Deletion {
            has_other_finalizers: false,
            scalers_remain: false,
            waits_for_empty: false,
        };
        Self {
            deletion: Some(deletion),
            ..Self::of(observation)
        }
    }

    fn deletion(mut self, change: impl FnOnce(&mut Deletion)) -> Self {
        self.deletion.iter_mut().for_each(change_once(change));
        self
    }

    fn step(&self) -> Step {
        self.with_input(decide)
    }

    fn with_input<T>(&self, question: impl FnOnce(&PlanInput) -> T) -> T {
        question(&PlanInput {
            name: NAME,
            observation: &self.observation,
            owner_tag: &owner_tag(),
            policies: &policies(self.policies),
            adoption: self.adoption,
            is_new: self.is_new,
            is_incomplete: self.is_incomplete,
            deletion: self.deletion,
            since_update: self.since_update.map(Duration::from_secs),
            settling: Duration::from_mins(1),
        })
    }
}

/// A closure that is called for the only item there is.
fn change_once<T>(change: impl FnOnce(&mut T)) -> impl FnMut(&mut T) {
    let mut change = Some(change);
    move |item| {
        if let Some(change) = change.take() {
            change(item);
        }
    }
}

fn check(cases: Vec<(&str, Case, Step)>) {
    for (reason, case, expected) in cases {
        assert_eq!(case.step(), expected, "{reason}");
    }
}

#[test]
fn a_missing_queue_is_created_where_policies_allow_it() {
    let missing = || Case::of(Observation::Missing);
    let nothing = || Step::Refuse(Refusal::NothingToObserve);
    check(vec![
        ("missing", missing(), Step::Create),
        (
            "created just now",
            Case {
                is_new: true,
                ..missing()
            },
            Step::Wait(Waiting::Visibility),
        ),
        (
            "observed only",
            Case {
                policies: &["Observe"],
                ..missing()
            },
            nothing(),
        ),
        (
            "never created",
            Case {
                policies: &["Observe", "Update"],
                ..missing()
            },
            nothing(),
        ),
        (
            "kept for ever",
            Case {
                policies: &["Observe", "Create"],
                ..missing()
            },
            Step::Create,
        ),
    ]);
}

#[test]
fn only_unowned_queues_are_adopted_and_only_on_request() {
    let unowned = |adoption| Case {
        adoption,
        ..Case::of(present(Ownership::Unowned, &[]))
    };
    let name = || NAME.to_owned();
    let adopt = Step::Update(vec![Drift::settable("owner", "none", "east/shop/cart")]);
    let foreign = Step::Refuse(Refusal::Foreign {
        name: name(),
        owner: "west/shop/cart".to_owned(),
    });
    check(vec![
        ("ours", Case::of(present(ours(), &[])), Step::NoOp),
        (
            "observed to be ours before",
            Case::of(present(Ownership::Unread, &[])),
            Step::NoOp,
        ),
        (
            "another owner's",
            Case::of(present(theirs(), &[])),
            foreign.clone(),
        ),
        (
            "another owner's, adoption requested",
            Case {
                adoption: Adoption::Allowed,
                ..Case::of(present(theirs(), &[]))
            },
            foreign,
        ),
        (
            "another owner's, observed only",
            Case {
                policies: &["Observe"],
                ..Case::of(present(theirs(), &[]))
            },
            Step::NoOp,
        ),
        (
            "unowned",
            unowned(Adoption::NotRequested),
            Step::Refuse(Refusal::Unowned { name: name() }),
        ),
        (
            "created just now, and its owner tag is not visible yet",
            Case {
                is_new: true,
                ..unowned(Adoption::NotRequested)
            },
            Step::Wait(Waiting::Visibility),
        ),
        (
            "unowned, adoption forbidden",
            unowned(Adoption::Forbidden),
            Step::Refuse(Refusal::AdoptionForbidden { name: name() }),
        ),
        (
            "unowned, adoption allowed",
            unowned(Adoption::Allowed),
            adopt,
        ),
    ]);
}

#[test]
fn an_incomplete_creation_is_finished() {
    let incomplete = |owner: Ownership| Case {
        is_incomplete: true,
        ..Case::of(present(owner, &[]))
    };
    check(vec![
        ("done", Case::of(present(ours(), &[])), Step::NoOp),
        ("cut off", incomplete(ours()), Step::Create),
        (
            "cut off, and creation is no longer allowed",
            Case {
                policies: &["Observe", "Update"],
                ..incomplete(ours())
            },
            Step::NoOp,
        ),
        (
            "another owner's",
            incomplete(theirs()),
            Step::Refuse(Refusal::Foreign {
                name: NAME.to_owned(),
                owner: "west/shop/cart".to_owned(),
            }),
        ),
    ]);
}

#[test]
fn quick_observations_suffice_only_after_a_full_one_found_nothing_to_do() {
    let wait = || Drift::settable("receiveWaitTimeSeconds", 0, 20);
    let in_sync = || Case::of(present(ours(), &[]));
    for (reason, case, expected) in [
        ("in sync", in_sync(), true),
        (
            "what differs may not be written",
            Case {
                policies: &["Observe"],
                ..Case::of(present(ours(), &[wait()]))
            },
            true,
        ),
        ("refused", Case::of(present(Ownership::Unowned, &[])), false),
        ("to be created", Case::of(Observation::Missing), false),
        ("to be written", Case::of(present(ours(), &[wait()])), false),
        (
            "written just now",
            Case {
                since_update: Some(10),
                ..in_sync()
            },
            false,
        ),
        (
            "creation incomplete",
            Case {
                is_incomplete: true,
                policies: &["Observe", "Update"],
                ..in_sync()
            },
            false,
        ),
    ] {
        let settles = case.with_input(|input| input.settles(&decide(input)));
        assert_eq!(settles, expected, "{reason}");
    }
}

#[test]
fn only_settable_drift_is_corrected_and_not_in_a_loop() {
    let wait = || Drift::settable("receiveWaitTimeSeconds", 0, 20);
    let kept = || Drift::withheld("messageRetentionSeconds", 1000, 60);
    let kind = || Drift::fixed("queueType", "classic", "quorum");
    let drifted = || Case::of(present(ours(), &[wait(), kept(), kind()]));
    check(vec![
        ("one of three", drifted(), Step::Update(vec![wait()])),
        (
            "none",
            Case::of(present(ours(), &[kept(), kind()])),
            Step::NoOp,
        ),
        (
            "not allowed",
            Case {
                policies: &["Observe", "Create"],
                ..drifted()
            },
            Step::NoOp,
        ),
        (
            "written just now",
            Case {
                since_update: Some(10),
                ..drifted()
            },
            Step::NoOp,
        ),
        (
            "written a while ago",
            Case {
                since_update: Some(61),
                ..drifted()
            },
            Step::Update(vec![wait()]),
        ),
    ]);
}

#[test]
fn a_queue_is_deleted_when_it_is_ours_and_unused() {
    let deleted = || Case::deleted(present(ours(), &[]));
    check(vec![
        ("ours", deleted(), Step::Delete),
        (
            "missing",
            Case::deleted(Observation::Missing),
            Step::Release,
        ),
        (
            "not visible yet",
            Case {
                is_new: true,
                ..Case::deleted(Observation::Missing)
            },
            Step::Wait(Waiting::Visibility),
        ),
        (
            "another owner's",
            Case::deleted(present(theirs(), &[])),
            Step::Release,
        ),
        (
            "never adopted",
            Case::deleted(present(Ownership::Unowned, &[])),
            Step::Release,
        ),
        (
            "created just now, and its owner tag is not visible yet",
            Case {
                is_new: true,
                ..Case::deleted(present(Ownership::Unowned, &[]))
            },
            Step::Wait(Waiting::Visibility),
        ),
        (
            "to be kept",
            Case {
                policies: &["Observe", "Create", "Update"],
                is_new: true,
                ..deleted()
            },
            Step::Release,
        ),
        (
            "other finalizers",
            deleted().deletion(|deletion| deletion.has_other_finalizers = true),
            Step::Wait(Waiting::OtherFinalizers),
        ),
        (
            "scalers read it",
            deleted().deletion(|deletion| deletion.scalers_remain = true),
            Step::Wait(Waiting::Scalers),
        ),
        (
            "holds messages",
            deleted().deletion(|deletion| deletion.waits_for_empty = true),
            Step::Wait(Waiting::Empty(Some(3))),
        ),
    ]);
}

#[test]
fn a_changed_location_is_reported() {
    let at = |endpoint: Option<&str>, region: Option<&str>| Location {
        endpoint: endpoint.map(str::to_owned),
        region: region.map(str::to_owned),
        ..Location::default()
    };
    let cases = [
        (
            "the same",
            at(Some("http://a"), None),
            at(Some("http://a"), None),
            None,
        ),
        (
            "never recorded",
            at(None, None),
            at(Some("http://a"), Some("eu-west-1")),
            None,
        ),
        (
            "another region",
            at(None, Some("us-east-1")),
            at(None, Some("eu-west-1")),
            Some("region \"us-east-1\" is now \"eu-west-1\""),
        ),
        (
            "from AWS to another service",
            at(None, Some("us-east-1")),
            at(Some("http://moto"), Some("us-east-1")),
            Some("endpoint \"AWS's own\" is now \"http://moto\""),
        ),
        (
            "from another service to AWS",
            at(Some("http://moto"), Some("us-east-1")),
            at(None, Some("us-east-1")),
            Some("endpoint \"http://moto\" is now \"AWS's own\""),
        ),
        (
            "AWS as before",
            at(None, Some("us-east-1")),
            at(None, Some("us-east-1")),
            None,
        ),
    ];
    for (reason, recorded, now, expected) in cases {
        assert_eq!(moved(&recorded, &now).as_deref(), expected, "{reason}");
    }
}
