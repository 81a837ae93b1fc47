//! How Queue objects end, and what management policies and configs let them do meanwhile, on a real API
//! server with KEDA's kinds and a real broker.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on panics"
)]

mod rig;

use std::time::Duration;

use actor::managed::{READY, SYNCED};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt as _};
use provider_asya::kinds::{ClusterProviderConfig, ProviderConfig};
use provider_asya::timings::Timings;
use rig::queue_stage::{self, PROVIDER_NAMESPACE, Queues, Stage};
use rig::rabbitmq::RabbitMq;
use serde_json::{Value, json};

const NAMESPACE: &str = "shop";

/// What an object says that cannot be deleted; the policies follow.
const ADVICE: &str =
    "to let this object go and leave its queue alone, set `spec.managementPolicies` to ";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_do_what_they_are_allowed_to_and_end_in_order() {
    if rig::is_skipped("lives of queue objects") {
        return;
    }
    let scene = Scene::set().await;
    tokio::join!(
        scalers_delay_a_deletion_until_they_are_gone(&scene),
        scalers_that_stay_delay_a_deletion_for_a_while_only(&scene),
        a_queue_goes_after_the_finalizers_of_others(&scene),
        an_object_without_its_config_says_how_to_go_on(&scene),
        an_object_without_its_secret_says_how_to_go_on(&scene),
        an_observer_changes_nothing(&scene),
        what_may_not_be_updated_stays_as_it_is(&scene),
        what_may_not_be_deleted_stays(&scene),
        an_empty_list_of_policies_is_a_pause(&scene),
        a_namespace_is_served_once_it_is_selected(&scene),
        adoption_needs_the_config_s_consent(&scene),
    );
}

struct Scene {
    stage: Stage,
    queues: Queues,
    rabbitmq: RabbitMq,
}

impl Scene {
    async fn set() -> Self {
        let timings = Timings {
            credentials: Duration::from_millis(100),
            // Long enough to be seen on a machine with much else to do.
            scalers: Duration::from_secs(15),
            ..queue_stage::timings()
        };
        let (stage, rabbitmq) = tokio::join!(Stage::start(timings), RabbitMq::start());
        stage.cluster.install_keda().await;
        for namespace in [NAMESPACE, PROVIDER_NAMESPACE] {
            stage.make_namespace(namespace).await;
        }
        let scene = Self {
            queues: stage.queues(NAMESPACE),
            stage,
            rabbitmq,
        };
        for config in ["rabbitmq", "lost"] {
            scene.make_config(config, queue_stage::LOGIN).await;
        }
        scene
    }

    /// A ProviderConfig with this Secret.
    async fn make_config(&self, name: &str, secret: &str) {
        let mut connection = queue_stage::rabbitmq_connection(&self.rabbitmq.endpoint, None);
        for key in ["usernameSecretRef", "passwordSecretRef"] {
            connection["credentials"][key]["name"] = json!(secret);
        }
        let spec = json!({"rabbitmq": connection, "countersInterval": "1s"});
        let configs = self.stage.namespaced::<ProviderConfig>(NAMESPACE);
        queue_stage::apply(&configs, json!({"metadata": {"name": name}, "spec": spec})).await;
    }

    async fn make_cluster_config(&self, name: &str, limits: Value) {
        let mut spec = limits;
        spec["rabbitmq"] =
            queue_stage::rabbitmq_connection(&self.rabbitmq.endpoint, Some(PROVIDER_NAMESPACE));
        let configs: Api<ClusterProviderConfig> = Api::all(self.stage.client.clone());
        queue_stage::apply(&configs, json!({"metadata": {"name": name}, "spec": spec})).await;
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
        queue_stage::apply(&self.queues.0, object).await;
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
        Api::namespaced_with(self.stage.client.clone(), NAMESPACE, &resource)
    }

    async fn make_scaler(&self, kind: &str, actor: &str, spec: Value) {
        let object = json!({"apiVersion": "keda.sh/v1alpha1", "kind": kind,
            "metadata": {"name": actor, "labels": {"asya.sh/actor": actor}}, "spec": spec});
        let (parameters, patch) = (PatchParams::apply("tests"), Patch::Apply(object));
        let api = self.scalers(kind);
        api.patch(actor, &parameters, &patch).await.unwrap();
    }

    /// Waits until passes that began from now on have ended.
    async fn passes(&self, name: &str, token: &str) {
        for number in 1..=2 {
            let token = format!("{token}{number}");
            self.queues.until_looked_at(name, &token).await;
        }
    }

    /// Waits until the object says this and how to go on, does so, and sees it go without its queue.
    async fn follow_the_advice(&self, name: &str, said: &str) {
        let queue = self.queues.until_says(name, SYNCED, "False", ADVICE).await;
        let mut conditions = queue.status.conditions.iter();
        let synced = conditions.find(|condition| condition.type_ == SYNCED);
        let message = synced.unwrap().message.clone().unwrap();
        let (trouble, advice) = message.split_once(ADVICE).unwrap();
        assert!(trouble.starts_with(said), "{message}");
        let policies: Value = serde_json::from_str(advice).unwrap();
        let change = json!({"spec": {"managementPolicies": policies}});
        self.queues.change(name, change).await;
        self.queues.until_gone(name).await;
        assert!(self.has(name).await, "{name}: its queue is left");
    }
}

async fn scalers_delay_a_deletion_until_they_are_gone(scene: &Scene) {
    let target = json!({"scaleTargetRef": {"name": "scaled"}, "triggers": [{"type": "cpu", "metadata": {"value": "50"}}]});
    scene.make_scaler("ScaledObject", "scaled", target).await;
    scene.make("scaled", |_| {}).await;
    scene.queues.until_ready("scaled").await;
    scene.queues.delete("scaled").await;
    let text = "waits until the actor's scalers are gone";
    scene
        .queues
        .until_says("scaled", READY, "False", text)
        .await;
    assert!(scene.has("scaled").await);
    let scalers = scene.scalers("ScaledObject");
    let parameters = DeleteParams::default();
    scalers.delete("scaled", &parameters).await.unwrap();
    scene.queues.until_gone("scaled").await;
    assert!(!scene.has("scaled").await);
}

async fn scalers_that_stay_delay_a_deletion_for_a_while_only(scene: &Scene) {
    let secrets = json!({"secretTargetRef": []});
    let kind = "TriggerAuthentication";
    scene.make_scaler(kind, "stuck", secrets).await;
    scene.make("stuck", |_| {}).await;
    scene.queues.until_ready("stuck").await;
    scene.queues.delete("stuck").await;
    let text = "waits until the actor's scalers are gone";
    scene.queues.until_says("stuck", READY, "False", text).await;
    scene.queues.until_gone("stuck").await;
    assert!(!scene.has("stuck").await);
    let scaler = scene.scalers(kind).get_opt("stuck").await.unwrap();
    assert!(scaler.is_some(), "it was not waited for to the end");
}

async fn a_queue_goes_after_the_finalizers_of_others(scene: &Scene) {
    let other = "example.com/backup";
    let hold = |object: &mut Value| object["metadata"]["finalizers"] = json!([other]);
    scene.make("held", hold).await;
    scene.queues.until_ready("held").await;
    scene.queues.delete("held").await;
    let text = "waits until other finalizers are removed";
    let waiting = scene.queues.until_says("held", READY, "False", text).await;
    assert!(scene.has("held").await);
    let mut left = waiting.metadata.finalizers.unwrap();
    left.retain(|finalizer| finalizer != other);
    let change = json!({"metadata": {"finalizers": left}});
    scene.queues.change("held", change).await;
    scene.queues.until_gone("held").await;
    assert!(!scene.has("held").await);
}

async fn an_object_without_its_config_says_how_to_go_on(scene: &Scene) {
    scene
        .make("astray", |object| {
            object["spec"]["providerConfigRef"]["name"] = json!("lost");
        })
        .await;
    scene.queues.until_ready("astray").await;
    // A config in use stays; somebody insists.
    let configs = scene.stage.namespaced::<ProviderConfig>(NAMESPACE);
    let parameters = DeleteParams::default();
    configs.delete("lost", &parameters).await.unwrap();
    let bare = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    let parameters = PatchParams::default();
    rig::until("the config is gone", || async {
        drop(configs.patch("lost", &parameters, &bare).await);
        configs
            .get_opt("lost")
            .await
            .unwrap()
            .is_none()
            .then_some(())
    })
    .await;
    scene.queues.delete("astray").await;
    let text = "connect failed: ProviderConfig \"lost\" does not exist in namespace \"shop\"";
    scene.follow_the_advice("astray", text).await;
}

async fn an_object_without_its_secret_says_how_to_go_on(scene: &Scene) {
    let secrets = scene.stage.namespaced::<Secret>(NAMESPACE);
    let data = json!({"user": "guest", "password": "guest"});
    let secret = json!({"metadata": {"name": "brief"}, "stringData": data});
    queue_stage::apply(&secrets, secret).await;
    scene.make_config("brief", "brief").await;
    scene
        .make("bare", |object| {
            object["spec"]["providerConfigRef"]["name"] = json!("brief");
        })
        .await;
    scene.queues.until_ready("bare").await;
    let parameters = DeleteParams::default();
    secrets.delete("brief", &parameters).await.unwrap();
    let text =
        "connect failed: Secret \"brief\", which ProviderConfig \"brief\" names, does not exist";
    scene.queues.until_says("bare", SYNCED, "False", text).await;
    scene.queues.delete("bare").await;
    scene.follow_the_advice("bare", text).await;
}

fn policies(object: &mut Value, policies: &[&str]) {
    object["spec"]["managementPolicies"] = json!(policies);
}

async fn an_observer_changes_nothing(scene: &Scene) {
    scene
        .make("seen", |object| policies(object, &["Observe"]))
        .await;
    let text = "external resource does not exist";
    scene.queues.until_says("seen", SYNCED, "False", text).await;
    assert!(!scene.has("seen").await);
    scene.make_at_broker("seen").await;
    let before = scene.rabbitmq.read(&["queues", "/", "asya-seen"]).await;
    scene.queues.until_ready("seen").await;
    let after = scene.rabbitmq.read(&["queues", "/", "asya-seen"]).await;
    for key in ["arguments", "policy", "durable"] {
        assert_eq!(before[key], after[key], "{key}");
    }
    let bindings = ["queues", "/", "asya-seen", "bindings"];
    let bindings = scene.rabbitmq.read(&bindings).await;
    assert_eq!(bindings.as_array().unwrap().len(), 1, "{bindings}");
    scene.queues.delete("seen").await;
    scene.queues.until_gone("seen").await;
    assert!(scene.has("seen").await);
}

async fn what_may_not_be_updated_stays_as_it_is(scene: &Scene) {
    let each = ["Observe", "Create", "Delete", "LateInitialize"];
    scene.make("fixed", |object| policies(object, &each)).await;
    scene.queues.until_ready("fixed").await;
    let change = json!({"spec": {"forProvider": {"rabbitmq": {"deadLetter": {"enabled": true}}}}});
    scene.queues.change("fixed", change).await;
    scene.passes("fixed", "fixed").await;
    scene.queues.until_ready("fixed").await;
    assert!(!scene.has("fixed-dlq").await, "nothing was written");
    let change = json!({"spec": {"managementPolicies": ["*"]}});
    scene.queues.change("fixed", change).await;
    rig::until("what was asked for is written", || async {
        scene.has("fixed-dlq").await.then_some(())
    })
    .await;
    scene.queues.delete("fixed").await;
    scene.queues.until_gone("fixed").await;
    assert!(!scene.has("fixed").await && !scene.has("fixed-dlq").await);
}

async fn what_may_not_be_deleted_stays(scene: &Scene) {
    let each = ["Observe", "Create", "Update"];
    scene.make("kept", |object| policies(object, &each)).await;
    scene.queues.until_ready("kept").await;
    scene.queues.delete("kept").await;
    scene.queues.until_gone("kept").await;
    assert!(scene.has("kept").await);
}

async fn an_empty_list_of_policies_is_a_pause(scene: &Scene) {
    scene.make("asleep", |object| policies(object, &[])).await;
    let text = "ReconcilePaused";
    scene
        .queues
        .until_says("asleep", SYNCED, "False", text)
        .await;
    assert!(!scene.has("asleep").await);
    let change = json!({"spec": {"managementPolicies": ["*"]}});
    scene.queues.change("asleep", change).await;
    scene.queues.until_ready("asleep").await;
    let change = json!({"spec": {"managementPolicies": []}});
    scene.queues.change("asleep", change).await;
    scene
        .queues
        .until_says("asleep", SYNCED, "False", text)
        .await;
    // What is paused is not even deleted.
    scene.queues.delete("asleep").await;
    scene
        .queues
        .until("asleep", "is marked for deletion", |queue| {
            queue.metadata.deletion_timestamp.is_some()
        })
        .await;
    assert!(scene.has("asleep").await);
    let change = json!({"spec": {"managementPolicies": ["*"]}});
    scene.queues.change("asleep", change).await;
    scene.queues.until_gone("asleep").await;
    assert!(!scene.has("asleep").await);
}

async fn a_namespace_is_served_once_it_is_selected(scene: &Scene) {
    let limits = json!({"allowedNamespaces": {"matchLabels": {"team": "payments"}}});
    scene.make_cluster_config("payments", limits).await;
    let reference = json!({"kind": "ClusterProviderConfig", "name": "payments"});
    let object = |object: &mut Value| object["spec"]["providerConfigRef"] = reference.clone();
    scene.make("paid", object).await;
    let text =
        "connect failed: ClusterProviderConfig \"payments\" does not serve namespace \"shop\"";
    scene.queues.until_says("paid", SYNCED, "False", text).await;
    assert!(!scene.has("paid").await);
    let namespaces: Api<Namespace> = Api::all(scene.stage.client.clone());
    let label = Patch::Merge(json!({"metadata": {"labels": {"team": "payments"}}}));
    let parameters = PatchParams::default();
    namespaces
        .patch(NAMESPACE, &parameters, &label)
        .await
        .unwrap();
    let queue = scene.queues.until_ready("paid").await;
    assert_eq!(queue.labels()["asya.sh/actor"], "paid");
}

async fn adoption_needs_the_config_s_consent(scene: &Scene) {
    scene.make_at_broker("old").await;
    scene.make_cluster_config("strict", json!({})).await;
    let reference = json!({"kind": "ClusterProviderConfig", "name": "strict"});
    scene
        .make("old", |object| {
            object["spec"]["providerConfigRef"] = reference.clone();
            object["spec"]["forProvider"]["adopt"] = json!(true);
        })
        .await;
    let text = "does not allow its adoption: set `allowAdopt: true` there";
    scene.queues.until_says("old", SYNCED, "False", text).await;
    let policy = ["policies", "/", "asya-asya-old"];
    assert!(!scene.rabbitmq.has(&policy).await, "nothing was written");
    scene
        .make_cluster_config("strict", json!({"allowAdopt": true}))
        .await;
    scene.queues.until_ready("old").await;
    scene.queues.delete("old").await;
    scene.queues.until_gone("old").await;
    assert!(!scene.has("old").await);
}
