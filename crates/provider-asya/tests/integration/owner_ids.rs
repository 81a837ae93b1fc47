//! Changes of a ProviderConfig's `ownerID`: its queues are neither left behind nor taken over.

use provider_asya::kinds::ProviderConfig;
use serde_json::json;

use crate::rig::provider_fixture::{ProviderFixture, Queues, apply, rabbitmq_connection, timings};
use crate::rig::rabbitmq::RabbitMq;
use crate::rig::{self, Shared};

static FIXTURE: Shared<Fixture> = Shared::new("owners of queues", || Box::pin(Fixture::start()));

struct Fixture {
    provider: ProviderFixture,
    rabbitmq: RabbitMq,
}

impl Fixture {
    async fn start() -> Self {
        let (provider, rabbitmq) =
            tokio::join!(ProviderFixture::start(timings()), RabbitMq::start());
        Self { provider, rabbitmq }
    }

    /// Gives the config of a namespace this `ownerID`.
    async fn set_owner(&self, namespace: &str, owner: Option<&str>) {
        let configs = self.provider.namespaced::<ProviderConfig>(namespace);
        let mut spec = json!({"rabbitmq": rabbitmq_connection(&self.rabbitmq.endpoint, None)});
        if let Some(owner) = owner {
            spec["ownerID"] = json!(owner);
        }
        let config = json!({"metadata": {"name": "broker"}, "spec": spec});
        apply(&configs, config).await;
    }

    /// A queue of a config with this `ownerID`.
    async fn made(&self, namespace: &str, owner: Option<&str>) -> Queues {
        self.provider.make_namespace(namespace).await;
        self.set_owner(namespace, owner).await;
        let queues = self.provider.queues(namespace);
        queues.make_classic("cart", namespace, namespace).await;
        queues.until_ready("cart").await;
        queues
    }

    async fn has_queue(&self, name: &str) -> bool {
        self.rabbitmq.has(&["queues", "/", name]).await
    }
}

#[test]
fn a_changed_owner_stops_the_queue_until_it_is_changed_back() {
    FIXTURE.run(async |fixture| {
        let queues = fixture.made("changed", Some("east")).await;
        fixture.set_owner("changed", Some("west")).await;
        queues
            .until_condition("cart", "Synced", "False", "QueueOwnerChanged")
            .await;
        queues
            .until_condition("cart", "Synced", "False", "set `ownerID: east` there")
            .await;
        queues.delete("cart").await;
        let stuck = queues
            .until_condition("cart", "Synced", "False", "managementPolicies")
            .await;
        assert_eq!(stuck.metadata.finalizers.unwrap_or_default().len(), 1);
        assert!(fixture.has_queue("changed").await, "it is not left behind");
        fixture.set_owner("changed", Some("east")).await;
        queues.until_deleted("cart").await;
        rig::until("the queue is deleted", || async {
            (!fixture.has_queue("changed").await).then_some(())
        })
        .await;
    });
}

/// The uid of the config, which is the owner by default, is another one then.
#[test]
fn a_recreated_config_without_an_owner_names_the_former_one() {
    FIXTURE.run(async |fixture| {
        let queues = fixture.made("recreated", None).await;
        let configs = fixture.provider.namespaced::<ProviderConfig>("recreated");
        let former = configs.get("broker").await.unwrap().metadata.uid.unwrap();
        let patch = kube::api::Patch::Merge(json!({"metadata": {"finalizers": null}}));
        let parameters = kube::api::PatchParams::default();
        let now = kube::api::DeleteParams::default();
        rig::until("the config is deleted", || async {
            drop(configs.delete("broker", &now).await);
            drop(configs.patch("broker", &parameters, &patch).await);
            configs
                .get_opt("broker")
                .await
                .unwrap()
                .is_none()
                .then_some(())
        })
        .await;
        fixture.set_owner("recreated", None).await;
        let text = format!("set `ownerID: {former}` there");
        queues
            .until_condition("cart", "Synced", "False", &text)
            .await;
        fixture.set_owner("recreated", Some(&former)).await;
        queues.until_condition("cart", "Synced", "True", "").await;
    });
}
