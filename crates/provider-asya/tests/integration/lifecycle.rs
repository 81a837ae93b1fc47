//! Deletion, management policies and limits of configs of Queue objects, on a real API server with KEDA's
//! kinds and a real broker.

use crate::rig::{self, Shared};
use std::time::Duration;

use crate::rig::provider_fixture::{self, PROVIDER_NAMESPACE, ProviderFixture, Queues};
use crate::rig::rabbitmq::RabbitMq;
use actor::managed::{READY, SYNCED};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt as _};
use provider_asya::kinds::{ClusterProviderConfig, ProviderConfig};
use provider_asya::timings::Timings;
use serde_json::{Value, json};

const NAMESPACE: &str = "shop";

static FIXTURE: Shared<Fixture> =
    Shared::new("lifecycles of Queue objects", || Box::pin(Fixture::start()));

/// The advice in the message of an object that cannot be deleted; the policies follow.
const ADVICE: &str =
    "; to delete this object and keep its queue, set `spec.managementPolicies` to ";

struct Fixture {
    provider: ProviderFixture,
    queues: Queues,
    rabbitmq: RabbitMq,
}

impl Fixture {
    async fn start() -> Self {
        let timings = Timings {
            credentials: Duration::from_millis(100),
            // Long enough to be seen on a machine with much else to do.
            scalers: Duration::from_secs(15),
            ..provider_fixture::timings()
        };
        let (provider, rabbitmq) = tokio::join!(ProviderFixture::start(timings), RabbitMq::start());
        provider.cluster.install_keda().await;
        for namespace in [NAMESPACE, PROVIDER_NAMESPACE] {
            provider.make_namespace(namespace).await;
        }
        let fixture = Self {
            queues: provider.queues(NAMESPACE),
            provider,
            rabbitmq,
        };
        for config in ["rabbitmq", "lost"] {
            fixture.make_config(config, provider_fixture::LOGIN).await;
        }
        fixture
    }

    /// A ProviderConfig with this Secret.
    async fn make_config(&self, name: &str, secret: &str) {
        let mut connection = provider_fixture::rabbitmq_connection(&self.rabbitmq.endpoint, None);
        for key in ["usernameSecretRef", "passwordSecretRef"] {
            connection["credentials"][key]["name"] = json!(secret);
        }
        let spec = json!({"rabbitmq": connection, "countersInterval": "1s"});
        let configs = self.provider.namespaced::<ProviderConfig>(NAMESPACE);
        provider_fixture::apply(&configs, json!({"metadata": {"name": name}, "spec": spec})).await;
    }

    async fn make_cluster_config(&self, name: &str, limits: Value) {
        let mut spec = limits;
        spec["rabbitmq"] = provider_fixture::rabbitmq_connection(
            &self.rabbitmq.endpoint,
            Some(PROVIDER_NAMESPACE),
        );
        let configs: Api<ClusterProviderConfig> = Api::all(self.provider.client.clone());
        provider_fixture::apply(&configs, json!({"metadata": {"name": name}, "spec": spec})).await;
    }

    /// A Queue for `asya-<name>`, of the actor of that name; the change is made to the object before it is applied.
    async fn make(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let rabbitmq = json!({"host": "rabbitmq", "routingKeys": [name], "queueType": "classic",
            "deadLetter": {"enabled": false}});
        let mut object = json!({
            "metadata": {"name": name, "labels": {"asya.sh/actor": name},
                "annotations": {"crossplane.io/external-name": format!("asya-{name}")}},
            "spec": {"forProvider": {"rabbitmq": rabbitmq},
                "providerConfigRef": {"kind": "ProviderConfig", "name": "rabbitmq"}},
        });
        change(&mut object);
        provider_fixture::apply(&self.queues.0, object).await;
    }

    async fn has(&self, name: &str) -> bool {
        let queue = format!("asya-{name}");
        self.rabbitmq.has(&["queues", "/", &queue]).await
    }

    /// A queue that nobody owns.
    async fn make_at_broker(&self, name: &str) {
        let body = json!({"durable": true, "auto_delete": false,
            "arguments": {"x-queue-type": "classic"}});
        let queue = format!("asya-{name}");
        let path = ["queues", "/", &queue];
        self.rabbitmq.api.put(&path, &body).await.unwrap();
    }

    /// The objects of one of KEDA's kinds.
    fn scalers(&self, kind: &str) -> Api<DynamicObject> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("keda.sh", "v1alpha1", kind));
        Api::namespaced_with(self.provider.client.clone(), NAMESPACE, &resource)
    }

    async fn make_scaler(&self, kind: &str, actor: &str, spec: Value) {
        let object = json!({"apiVersion": "keda.sh/v1alpha1", "kind": kind,
            "metadata": {"name": actor, "labels": {"asya.sh/actor": actor}}, "spec": spec});
        let (parameters, patch) = (PatchParams::apply("tests"), Patch::Apply(object));
        let api = self.scalers(kind);
        api.patch(actor, &parameters, &patch).await.unwrap();
    }

    /// Waits until two reconciliations that begin from now on have ended.
    async fn reconcile_twice(&self, name: &str, token: &str) {
        for number in 1..=2 {
            let token = format!("{token}{number}");
            self.queues.until_reconciled(name, &token).await;
        }
    }

    /// Waits until the object reports this problem with the advice, follows that, and waits until the object
    /// is deleted without its queue.
    async fn follow_the_advice(&self, name: &str, expected: &str) {
        let queue = self
            .queues
            .until_condition(name, SYNCED, "False", ADVICE)
            .await;
        let mut conditions = queue.status.conditions.iter();
        let synced = conditions.find(|condition| condition.type_ == SYNCED);
        let message = synced.unwrap().message.clone().unwrap();
        let (problem, advice) = message.split_once(ADVICE).unwrap();
        assert!(problem.starts_with(expected), "{message}");
        let policies: Value = serde_json::from_str(advice).unwrap();
        let change = json!({"spec": {"managementPolicies": policies}});
        self.queues.change(name, change).await;
        self.queues.until_deleted(name).await;
        assert!(self.has(name).await, "{name}: its queue is left");
    }
}

#[test]
fn a_queue_is_deleted_after_the_scalers_of_its_actor() {
    FIXTURE.run(async |fixture| {
    let target = json!({"scaleTargetRef": {"name": "scaled"}, "triggers": [{"type": "cpu", "metadata": {"value": "50"}}]});
    fixture.make_scaler("ScaledObject", "scaled", target).await;
    fixture.make("scaled", |_| {}).await;
    fixture.queues.until_ready("scaled").await;
    fixture.queues.delete("scaled").await;
    let text = "waits until the actor's scalers are deleted";
    fixture
        .queues
        .until_condition("scaled", READY, "False", text)
        .await;
    assert!(fixture.has("scaled").await);
    let scalers = fixture.scalers("ScaledObject");
    let parameters = DeleteParams::default();
    scalers.delete("scaled", &parameters).await.unwrap();
    fixture.queues.until_deleted("scaled").await;
    assert!(!fixture.has("scaled").await);
    });
}

#[test]
fn a_queue_is_deleted_at_the_deadline_if_scalers_of_its_actor_stay() {
    FIXTURE.run(async |fixture| {
        let secrets = json!({"secretTargetRef": []});
        let kind = "TriggerAuthentication";
        fixture.make_scaler(kind, "stuck", secrets).await;
        fixture.make("stuck", |_| {}).await;
        fixture.queues.until_ready("stuck").await;
        fixture.queues.delete("stuck").await;
        let text = "waits until the actor's scalers are deleted";
        fixture
            .queues
            .until_condition("stuck", READY, "False", text)
            .await;
        fixture.queues.until_deleted("stuck").await;
        assert!(!fixture.has("stuck").await);
        let scaler = fixture.scalers(kind).get_opt("stuck").await.unwrap();
        assert!(scaler.is_some(), "it was not waited for to the end");
    });
}

#[test]
fn a_queue_is_deleted_after_foreign_finalizers_are_removed() {
    FIXTURE.run(async |fixture| {
        let other = "example.com/backup";
        let hold = |object: &mut Value| object["metadata"]["finalizers"] = json!([other]);
        fixture.make("held", hold).await;
        fixture.queues.until_ready("held").await;
        fixture.queues.delete("held").await;
        let text = "waits until other finalizers are removed";
        let waiting = fixture
            .queues
            .until_condition("held", READY, "False", text)
            .await;
        assert!(fixture.has("held").await);
        let mut left = waiting.metadata.finalizers.unwrap();
        left.retain(|finalizer| finalizer != other);
        let change = json!({"metadata": {"finalizers": left}});
        fixture.queues.change("held", change).await;
        fixture.queues.until_deleted("held").await;
        assert!(!fixture.has("held").await);
    });
}

#[test]
fn deletion_without_the_config_names_the_policies_that_release_the_object() {
    FIXTURE.run(async |fixture| {
        fixture
            .make("astray", |object| {
                object["spec"]["providerConfigRef"]["name"] = json!("lost");
            })
            .await;
        fixture.queues.until_ready("astray").await;
        // A config in use stays; somebody insists.
        let configs = fixture.provider.namespaced::<ProviderConfig>(NAMESPACE);
        let parameters = DeleteParams::default();
        configs.delete("lost", &parameters).await.unwrap();
        let bare = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        let parameters = PatchParams::default();
        rig::until("the config is deleted", || async {
            drop(configs.patch("lost", &parameters, &bare).await);
            configs
                .get_opt("lost")
                .await
                .unwrap()
                .is_none()
                .then_some(())
        })
        .await;
        fixture.queues.delete("astray").await;
        let text = "connect failed: ProviderConfig \"lost\" does not exist in namespace \"shop\"";
        fixture.follow_the_advice("astray", text).await;
    });
}

#[test]
fn deletion_without_the_secret_names_the_policies_that_release_the_object() {
    FIXTURE.run(async |fixture| {
    let secrets = fixture.provider.namespaced::<Secret>(NAMESPACE);
    let data = json!({"user": "guest", "password": "guest"});
    let secret = json!({"metadata": {"name": "brief"}, "stringData": data});
    provider_fixture::apply(&secrets, secret).await;
    fixture.make_config("brief", "brief").await;
    fixture
        .make("bare", |object| {
            object["spec"]["providerConfigRef"]["name"] = json!("brief");
        })
        .await;
    fixture.queues.until_ready("bare").await;
    let parameters = DeleteParams::default();
    secrets.delete("brief", &parameters).await.unwrap();
    let text =
        "connect failed: Secret \"brief\", which ProviderConfig \"brief\" names, does not exist";
    fixture
        .queues
        .until_condition("bare", SYNCED, "False", text)
        .await;
    fixture.queues.delete("bare").await;
    fixture.follow_the_advice("bare", text).await;
    });
}

fn policies(object: &mut Value, policies: &[&str]) {
    object["spec"]["managementPolicies"] = json!(policies);
}

#[test]
fn an_object_with_policy_observe_changes_nothing() {
    FIXTURE.run(async |fixture| {
        fixture
            .make("seen", |object| policies(object, &["Observe"]))
            .await;
        let text = "external resource does not exist";
        fixture
            .queues
            .until_condition("seen", SYNCED, "False", text)
            .await;
        assert!(!fixture.has("seen").await);
        fixture.make_at_broker("seen").await;
        let before = fixture.rabbitmq.read(&["queues", "/", "asya-seen"]).await;
        fixture.queues.until_ready("seen").await;
        let after = fixture.rabbitmq.read(&["queues", "/", "asya-seen"]).await;
        for key in ["arguments", "policy", "durable"] {
            assert_eq!(before[key], after[key], "{key}");
        }
        let bindings = ["queues", "/", "asya-seen", "bindings"];
        let bindings = fixture.rabbitmq.read(&bindings).await;
        assert_eq!(bindings.as_array().unwrap().len(), 1, "{bindings}");
        fixture.queues.delete("seen").await;
        fixture.queues.until_deleted("seen").await;
        assert!(fixture.has("seen").await);
    });
}

#[test]
fn a_queue_without_policy_update_keeps_its_settings() {
    FIXTURE.run(async |fixture| {
        let each = ["Observe", "Create", "Delete", "LateInitialize"];
        fixture
            .make("fixed", |object| policies(object, &each))
            .await;
        fixture.queues.until_ready("fixed").await;
        let change =
            json!({"spec": {"forProvider": {"rabbitmq": {"deadLetter": {"enabled": true}}}}});
        fixture.queues.change("fixed", change).await;
        fixture.reconcile_twice("fixed", "fixed").await;
        fixture.queues.until_ready("fixed").await;
        assert!(!fixture.has("fixed-dlq").await, "nothing was written");
        let change = json!({"spec": {"managementPolicies": ["*"]}});
        fixture.queues.change("fixed", change).await;
        rig::until("what was asked for is written", || async {
            fixture.has("fixed-dlq").await.then_some(())
        })
        .await;
        fixture.queues.delete("fixed").await;
        fixture.queues.until_deleted("fixed").await;
        assert!(!fixture.has("fixed").await && !fixture.has("fixed-dlq").await);
    });
}

#[test]
fn a_queue_without_policy_delete_outlives_its_object() {
    FIXTURE.run(async |fixture| {
        let each = ["Observe", "Create", "Update"];
        fixture.make("kept", |object| policies(object, &each)).await;
        fixture.queues.until_ready("kept").await;
        fixture.queues.delete("kept").await;
        fixture.queues.until_deleted("kept").await;
        assert!(fixture.has("kept").await);
    });
}

#[test]
fn an_empty_list_of_policies_pauses_the_object() {
    FIXTURE.run(async |fixture| {
        fixture.make("asleep", |object| policies(object, &[])).await;
        let text = "ReconcilePaused";
        fixture
            .queues
            .until_condition("asleep", SYNCED, "False", text)
            .await;
        assert!(!fixture.has("asleep").await);
        let change = json!({"spec": {"managementPolicies": ["*"]}});
        fixture.queues.change("asleep", change).await;
        fixture.queues.until_ready("asleep").await;
        let change = json!({"spec": {"managementPolicies": []}});
        fixture.queues.change("asleep", change).await;
        fixture
            .queues
            .until_condition("asleep", SYNCED, "False", text)
            .await;
        // What is paused is not even deleted.
        fixture.queues.delete("asleep").await;
        fixture
            .queues
            .until("asleep", "is marked for deletion", |queue| {
                queue.metadata.deletion_timestamp.is_some()
            })
            .await;
        assert!(fixture.has("asleep").await);
        let change = json!({"spec": {"managementPolicies": ["*"]}});
        fixture.queues.change("asleep", change).await;
        fixture.queues.until_deleted("asleep").await;
        assert!(!fixture.has("asleep").await);
    });
}

#[test]
fn a_namespace_is_served_once_its_labels_match_the_config() {
    FIXTURE.run(async |fixture| {
        let limits = json!({"allowedNamespaces": {"matchLabels": {"team": "payments"}}});
        fixture.make_cluster_config("payments", limits).await;
        let reference = json!({"kind": "ClusterProviderConfig", "name": "payments"});
        let object = |object: &mut Value| object["spec"]["providerConfigRef"] = reference.clone();
        fixture.make("paid", object).await;
        let text =
            "connect failed: ClusterProviderConfig \"payments\" does not serve namespace \"shop\"";
        fixture
            .queues
            .until_condition("paid", SYNCED, "False", text)
            .await;
        assert!(!fixture.has("paid").await);
        let namespaces: Api<Namespace> = Api::all(fixture.provider.client.clone());
        let label = Patch::Merge(json!({"metadata": {"labels": {"team": "payments"}}}));
        let parameters = PatchParams::default();
        namespaces
            .patch(NAMESPACE, &parameters, &label)
            .await
            .unwrap();
        let queue = fixture.queues.until_ready("paid").await;
        assert_eq!(queue.labels()["asya.sh/actor"], "paid");
    });
}

#[test]
fn adoption_through_a_cluster_config_takes_its_allow_adopt() {
    FIXTURE.run(async |fixture| {
        fixture.make_at_broker("old").await;
        fixture.make_cluster_config("strict", json!({})).await;
        let reference = json!({"kind": "ClusterProviderConfig", "name": "strict"});
        fixture
            .make("old", |object| {
                object["spec"]["providerConfigRef"] = reference.clone();
                object["spec"]["forProvider"]["adopt"] = json!(true);
            })
            .await;
        let text = "does not allow its adoption: set `allowAdopt: true` there";
        fixture
            .queues
            .until_condition("old", SYNCED, "False", text)
            .await;
        let policy = ["policies", "/", "asya-asya-old"];
        assert!(!fixture.rabbitmq.has(&policy).await, "nothing was written");
        fixture
            .make_cluster_config("strict", json!({"allowAdopt": true}))
            .await;
        fixture.queues.until_ready("old").await;
        fixture.queues.delete("old").await;
        fixture.queues.until_deleted("old").await;
        assert!(!fixture.has("old").await);
    });
}
