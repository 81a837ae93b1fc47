//! Tables of decisions.

use super::*;

const NAME: &str = "asya-cart";

fn mark() -> OwnerMark {
    OwnerMark::new("east", "shop", "cart").unwrap()
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

/// A queue with this mark and these differences.
fn present(mark: Mark, drift: &[Drift]) -> Observation {
    let found = Found {
        mark,
        drift: drift.to_vec(),
        held: Some(3),
        ..Found::default()
    };
    Observation::Present(Box::new(found))
}

fn ours() -> Mark {
    Mark::Of("east/shop/cart".to_owned())
}

fn theirs() -> Mark {
    Mark::Of("west/shop/cart".to_owned())
}

struct Case {
    observation: Observation,
    policies: &'static [&'static str],
    adoption: Adoption,
    is_new: bool,
    is_in_doubt: bool,
    deletion: Option<Deletion>,
    since_update: Option<u64>,
}

impl Case {
    fn of(observation: Observation) -> Self {
        Self {
            observation,
            policies: &["*"],
            adoption: Adoption::NotAsked,
            is_new: false,
            is_in_doubt: false,
            deletion: None,
            since_update: None,
        }
    }

    fn deleted(observation: Observation) -> Self {
        let deletion = Deletion {
            others_hold_it: false,
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
        self.ask(decide)
    }

    fn ask<T>(&self, question: impl FnOnce(&Facts) -> T) -> T {
        question(&Facts {
            name: NAME,
            observation: &self.observation,
            mark: &mark(),
            policies: &policies(self.policies),
            adoption: self.adoption,
            is_new: self.is_new,
            is_in_doubt: self.is_in_doubt,
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
fn an_absent_queue_is_made_where_that_is_allowed() {
    let absent = || Case::of(Observation::Absent);
    let nothing = || Step::Refuse(Refusal::NothingToObserve);
    check(vec![
        ("absent", absent(), Step::Create),
        (
            "made just now",
            Case {
                is_new: true,
                ..absent()
            },
            Step::Wait(Waiting::Visibility),
        ),
        (
            "observed only",
            Case {
                policies: &["Observe"],
                ..absent()
            },
            nothing(),
        ),
        (
            "never created",
            Case {
                policies: &["Observe", "Update"],
                ..absent()
            },
            nothing(),
        ),
        (
            "kept for ever",
            Case {
                policies: &["Observe", "Create"],
                ..absent()
            },
            Step::Create,
        ),
    ]);
}

#[test]
fn nobody_takes_a_queue_by_accident() {
    let unmarked = |adoption| Case {
        adoption,
        ..Case::of(present(Mark::None, &[]))
    };
    let name = || NAME.to_owned();
    let claim = Step::Update(vec![Drift::settable("owner", "nobody", "east/shop/cart")]);
    let foreign = Step::Refuse(Refusal::Foreign {
        name: name(),
        owner: "west/shop/cart".to_owned(),
    });
    check(vec![
        ("ours", Case::of(present(ours(), &[])), Step::Rest),
        (
            "seen to be ours before",
            Case::of(present(Mark::Unread, &[])),
            Step::Rest,
        ),
        (
            "another owner's",
            Case::of(present(theirs(), &[])),
            foreign.clone(),
        ),
        (
            "another owner's, adoption asked for",
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
            Step::Rest,
        ),
        (
            "nobody's",
            unmarked(Adoption::NotAsked),
            Step::Refuse(Refusal::Unmarked { name: name() }),
        ),
        (
            "made just now, and its mark does not show yet",
            Case {
                is_new: true,
                ..unmarked(Adoption::NotAsked)
            },
            Step::Wait(Waiting::Visibility),
        ),
        (
            "nobody's, adoption forbidden",
            unmarked(Adoption::Forbidden),
            Step::Refuse(Refusal::AdoptionForbidden { name: name() }),
        ),
        (
            "nobody's, adoption allowed",
            unmarked(Adoption::Allowed),
            claim,
        ),
    ]);
}

#[test]
fn a_creation_that_was_cut_off_is_finished() {
    let doubt = |mark: Mark| Case {
        is_in_doubt: true,
        ..Case::of(present(mark, &[]))
    };
    check(vec![
        ("done", Case::of(present(ours(), &[])), Step::Rest),
        ("cut off", doubt(ours()), Step::Create),
        (
            "cut off, and nothing may be made any more",
            Case {
                policies: &["Observe", "Update"],
                ..doubt(ours())
            },
            Step::Rest,
        ),
        (
            "another owner's",
            doubt(theirs()),
            Step::Refuse(Refusal::Foreign {
                name: NAME.to_owned(),
                owner: "west/shop/cart".to_owned(),
            }),
        ),
    ]);
}

#[test]
fn glances_will_do_only_after_a_whole_look_found_nothing_to_do() {
    let wait = || Drift::settable("receiveWaitTimeSeconds", 0, 20);
    let at_rest = || Case::of(present(ours(), &[]));
    for (reason, case, expected) in [
        ("all is well", at_rest(), true),
        (
            "what differs may not be written",
            Case {
                policies: &["Observe"],
                ..Case::of(present(ours(), &[wait()]))
            },
            true,
        ),
        ("refused", Case::of(present(Mark::None, &[])), false),
        ("to be made", Case::of(Observation::Absent), false),
        ("to be written", Case::of(present(ours(), &[wait()])), false),
        (
            "written just now",
            Case {
                since_update: Some(10),
                ..at_rest()
            },
            false,
        ),
        (
            "in doubt",
            Case {
                is_in_doubt: true,
                policies: &["Observe", "Update"],
                ..at_rest()
            },
            false,
        ),
    ] {
        let settles = case.ask(|facts| facts.settles(&decide(facts)));
        assert_eq!(settles, expected, "{reason}");
    }
}

#[test]
fn only_settable_differences_are_written_and_not_in_a_loop() {
    let wait = || Drift::settable("receiveWaitTimeSeconds", 0, 20);
    let kept = || Drift::withheld("messageRetentionSeconds", 1000, 60);
    let kind = || Drift::fixed("queueType", "classic", "quorum");
    let drifted = || Case::of(present(ours(), &[wait(), kept(), kind()]));
    check(vec![
        ("one of three", drifted(), Step::Update(vec![wait()])),
        (
            "none",
            Case::of(present(ours(), &[kept(), kind()])),
            Step::Rest,
        ),
        (
            "not allowed",
            Case {
                policies: &["Observe", "Create"],
                ..drifted()
            },
            Step::Rest,
        ),
        (
            "written just now",
            Case {
                since_update: Some(10),
                ..drifted()
            },
            Step::Rest,
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
fn a_queue_is_deleted_when_it_is_ours_and_nothing_needs_it() {
    let deleted = || Case::deleted(present(ours(), &[]));
    check(vec![
        ("ours", deleted(), Step::Delete),
        ("absent", Case::deleted(Observation::Absent), Step::Release),
        (
            "not visible yet",
            Case {
                is_new: true,
                ..Case::deleted(Observation::Absent)
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
            Case::deleted(present(Mark::None, &[])),
            Step::Release,
        ),
        (
            "made just now, and its mark does not show yet",
            Case {
                is_new: true,
                ..Case::deleted(present(Mark::None, &[]))
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
            "held by others",
            deleted().deletion(|deletion| deletion.others_hold_it = true),
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
fn a_queue_that_would_be_looked_for_elsewhere_has_moved() {
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
            "from AWS to somewhere else",
            at(None, Some("us-east-1")),
            at(Some("http://moto"), Some("us-east-1")),
            Some("endpoint \"AWS's own\" is now \"http://moto\""),
        ),
        (
            "from somewhere else to AWS",
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
