//! New actors that cannot live.

use tests::stack::Stack;

use crate::data::{cases, reason, status};
use tests::live_actor::Live;

/// Nothing is made for a new actor with a mistake in it, also where another one has its name;
/// what the other has stays as it is.
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
