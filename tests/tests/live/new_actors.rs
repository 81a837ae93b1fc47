//! New actors that cannot live.

use tests::stack::Stack;

use crate::data::{cases, reason, status};
use tests::live_actor::Live;

/// Checks that no objects are created for a new actor with a mistake in it, also if another one has its
/// name; the objects of the other stay as they are.
pub(crate) async fn check_all(stack: &Stack, other: &Live<'_>) {
    let before = other.objects().await;
    for (index, case) in cases("new_actors.yaml").iter().enumerate() {
        let reason = reason(case);
        let name = format!("newcomer-{index}");
        stack.apply(&stack.actor(&name, &case["spec"])).await;
        let newcomer = Live::of(stack, &name).await;
        let reports = |actor: &_| Live::reports(actor, case);
        newcomer.until(reason, reports).await;
        let shown = newcomer.shows(status(case)).await;
        shown.unwrap_or_else(|error| panic!("{reason}: {error}"));
        let made = newcomer.objects().await;
        assert!(made.is_empty(), "{reason}: {made:#?}");
        newcomer.delete().await;
        assert_eq!(other.objects().await, before, "{reason}");
    }
}
