//! Queues that were kept when their objects were deleted, and that new objects find.

use super::{BROKER, external, found, wanted};
use crate::rig;
use provider_asya::transport::rabbitmq::definition::PolicyRecord;
use provider_asya::transport::{Depth, ExternalQueue as _};
use serde_json::json;

#[test]
fn new_settings_apply_over_the_policy_of_the_former_object() {
    BROKER.run(async |broker| {
        let name = "asya-kept";
        let former = wanted(name, "east");
        external(broker, former.clone()).create().await.unwrap();
        let [preferred, other] = former.policy_names(name);
        let path = ["policies", "/", preferred.as_str()];
        let before = broker.read(&path).await;
        // The new object has no record, so the policy is foreign to it.
        let mut new = former;
        new.policies = PolicyRecord::New;
        new.queue.dead_letter.max_receive_count = 7;
        let queue = external(broker, new.clone());
        let names = queue.names_to_record().await.unwrap();
        assert_eq!(names, std::slice::from_ref(&other));
        queue.update().await.unwrap();
        assert_eq!(broker.read(&path).await, before, "it is not changed");
        let written = broker.read(&["policies", "/", other.as_str()]).await;
        assert_eq!(written["priority"], json!(1));
        rig::until("the new policy applies", || async {
            let queue = broker.read(&["queues", "/", name]).await;
            let limit = &queue["effective_policy_definition"]["delivery-limit"];
            (queue["policy"] == json!(other) && *limit == json!(7)).then_some(())
        })
        .await;
        new.policies = PolicyRecord::Recorded([other].into());
        let queue = external(broker, new);
        assert_eq!(found(&queue, Depth::Full).await.drift, []);
        queue.delete().await.unwrap();
        assert_eq!(broker.read(&path).await, before, "it is not deleted");
    });
}

#[test]
fn only_missing_policies_are_absent() {
    BROKER.run(async |broker| {
        let definition = wanted("asya-absent", "east");
        let queue = external(broker, definition.clone());
        queue.create().await.unwrap();
        let names = definition.policy_names("asya-absent");
        let absent = queue.absent_policies(names.to_vec()).await.unwrap();
        assert_eq!(absent, names[1..]);
    });
}
