//! Changed flavors are announced to the actors that use them, with only the rights of `install/`.

use std::time::Duration;

use crate::rig::binding_fixture::BindingFixture;
use crate::rig::{self, shared};
use actor::health::{ENVIRONMENT_WATCHED, UsedEnvironmentConfig};
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt as _};
use provider_asya::controller::environment::ANNOTATION;
use provider_asya::kinds::ActorHealth;
use provider_asya::timings::Timings;
use serde_json::{Value, json};

const NAMESPACE: &str = "shop";

struct Site {
    fixture: BindingFixture,
}

impl Site {
    /// The API server with the kinds, and a provider.
    async fn start() -> Self {
        let timings = Timings {
            cache_sync_retry: Duration::from_millis(100),
            health_interval: Duration::from_millis(100),
            health_grace: Duration::ZERO,
            missing_kind_retry: Duration::from_millis(500),
            ..Timings::default()
        };
        let mut fixture = BindingFixture::start(timings).await;
        let kinds = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/crds/environment.yaml");
        fixture.cluster.install(kinds.as_ref()).await;
        fixture.make_namespace(NAMESPACE).await;
        fixture.provide().await;
        Self { fixture }
    }

    fn api(&self, group: &str, version: &str, kind: &str) -> Api<DynamicObject> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let client = self.fixture.client.clone();
        if kind == "EnvironmentConfig" {
            Api::all_with(client, &resource)
        } else {
            Api::namespaced_with(client, NAMESPACE, &resource)
        }
    }

    fn flavors(&self) -> Api<DynamicObject> {
        self.api(
            "apiextensions.crossplane.io",
            "v1beta1",
            "EnvironmentConfig",
        )
    }

    fn actors(&self) -> Api<DynamicObject> {
        self.api("asya.sh", "v1alpha1", "AsyncActor")
    }

    fn jobs(&self) -> Api<DynamicObject> {
        self.api("platform.example.org", "v1", "Job")
    }

    fn health(&self) -> Api<ActorHealth> {
        Api::namespaced(self.fixture.client.clone(), NAMESPACE)
    }

    /// Writes a flavor; its version.
    async fn write_flavor(&self, name: &str, image: &str) -> UsedEnvironmentConfig {
        let flavor = json!({"apiVersion": "apiextensions.crossplane.io/v1beta1", "kind": "EnvironmentConfig",
            "metadata": {"name": name}, "data": {"image": image}});
        let manager = PatchParams::apply("platform-team").force();
        let (flavors, flavor) = (self.flavors(), Patch::Apply(flavor));
        let written = flavors.patch(name, &manager, &flavor).await.unwrap();
        let generation = written.metadata.generation;
        UsedEnvironmentConfig::new(name, written.uid().as_deref(), generation)
    }

    /// Makes a composite resource as GitOps tools do.
    async fn make_composite(
        &self,
        api: &Api<DynamicObject>,
        types: Value,
        name: &str,
    ) -> DynamicObject {
        let mut object = types;
        object["metadata"] = json!({"name": name, "namespace": NAMESPACE});
        object["spec"] = json!({"image": "app:1", "handler": "app.run"});
        let object = serde_json::from_value(object).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap()
    }

    async fn make_actor(&self, name: &str) -> DynamicObject {
        let types = json!({"apiVersion": "asya.sh/v1alpha1", "kind": "AsyncActor"});
        self.make_composite(&self.actors(), types, name).await
    }

    /// Applies the ActorHealth of a composite resource as Crossplane does after a reconcile.
    async fn apply_health(&self, owner: &DynamicObject, used: &[&UsedEnvironmentConfig]) {
        let types = owner.types.as_ref().unwrap();
        let name = owner.name_any();
        let health = json!({
            "apiVersion": "provider.asya.sh/v1alpha1", "kind": "ActorHealth",
            "metadata": {"name": name, "namespace": NAMESPACE, "ownerReferences": [{
                "apiVersion": types.api_version, "kind": types.kind, "name": name, "uid": owner.uid(),
                "controller": true}]},
            "spec": {"forProvider": {"actor": name, "workload": {"kind": "Deployment", "name": name},
                "podSelector": {"asya.sh/actor": name}, "environmentConfigs": used}},
        });
        let manager = PatchParams::apply("crossplane").force();
        let (api, health) = (self.health(), Patch::Apply(health));
        api.patch(&name, &manager, &health).await.unwrap();
    }

    /// Waits until the ActorHealth reports that changes are announced, or not.
    async fn until_watched(&self, name: &str, status: &str, reason: &str) {
        rig::until(&format!("{name} reports {status} {reason}"), || async {
            let health = self.health().get(name).await.unwrap();
            let mut conditions = health.status.conditions.iter();
            let found = conditions.find(|found| found.type_ == ENVIRONMENT_WATCHED)?;
            (found.status == status && found.reason == reason).then_some(())
        })
        .await;
    }

    /// Waits until the annotation of an actor differs from `before`, and returns it.
    async fn until_announced(&self, name: &str, before: Option<&str>) -> String {
        rig::until(&format!("a change is announced to {name}"), || async {
            let found = annotation(&self.actors().get(name).await.unwrap());
            found.filter(|found| Some(found.as_str()) != before)
        })
        .await
    }
}

fn annotation(object: &DynamicObject) -> Option<String> {
    object.annotations().get(ANNOTATION).cloned()
}

#[test]
fn changed_flavors_are_announced_to_the_actors_that_use_them() {
    shared::run("changed flavors", async {
        let mut site = Site::start().await;
        let platform = site.write_flavor("asya-platform", "").await;
        let gpu = site.write_flavor("gpu", "app:1").await;
        let cpu = site.write_flavor("cpu", "app:1").await;
        let mut owners = Vec::new();
        for (name, flavor) in [("a", &gpu), ("b", &gpu), ("c", &cpu)] {
            let owner = site.make_actor(name).await;
            site.apply_health(&owner, &[flavor, &platform]).await;
            owners.push(owner);
        }
        for name in ["a", "b", "c"] {
            site.until_watched(name, "True", "Watching").await;
        }

        // One flavor: only its actors, and of those only the annotation.
        let gpu = site.write_flavor("gpu", "app:2").await;
        for (name, before) in [("a", &owners[0]), ("b", &owners[1])] {
            site.until_announced(name, None).await;
            let found = site.actors().get(name).await.unwrap();
            assert_eq!(found.data["spec"], before.data["spec"]);
            assert_eq!(found.metadata.generation, before.metadata.generation);
            assert_eq!(found.annotations().len(), 1);
        }
        assert_eq!(annotation(&site.actors().get("c").await.unwrap()), None);

        // The platform's settings: all actors.
        let platform = site.write_flavor("asya-platform", "x").await;
        site.until_announced("c", None).await;
        for (owner, flavor) in owners.iter().zip([&gpu, &gpu, &cpu]) {
            site.apply_health(owner, &[flavor, &platform]).await;
        }

        // While no provider runs: the next one finds the change. A flavor that is deleted is one too.
        site.fixture.stop();
        let before = annotation(&site.actors().get("a").await.unwrap());
        site.write_flavor("gpu", "app:3").await;
        site.flavors()
            .delete("cpu", &kube::api::DeleteParams::default())
            .await
            .unwrap();
        let settled = annotation(&site.actors().get("c").await.unwrap());
        site.fixture.provide().await;
        site.until_announced("a", before.as_deref()).await;
        site.until_announced("c", settled.as_deref()).await;
    });
}

#[test]
fn other_composite_resources_are_left_alone_without_the_right() {
    shared::run("changed flavors of other kinds", async {
        let site = Site::start().await;
        let gpu = site.write_flavor("gpu", "app:1").await;
        let types = json!({"apiVersion": "platform.example.org/v1", "kind": "Job"});
        let job = site.make_composite(&site.jobs(), types, "job").await;
        let actor = site.make_actor("actor").await;
        for owner in [&job, &actor] {
            site.apply_health(owner, &[&gpu]).await;
        }
        site.until_watched("job", "False", "Forbidden").await;
        site.until_watched("actor", "True", "Watching").await;
        site.write_flavor("gpu", "app:2").await;
        site.until_announced("actor", None).await;
        assert_eq!(annotation(&site.jobs().get("job").await.unwrap()), None);

        let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "jobs"}, "rules": [{"apiGroups": ["platform.example.org"], "resources": ["jobs"], "verbs": ["patch"]}]});
        let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "jobs"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "jobs"},
            "subjects": [{"kind": "ServiceAccount", "name": "provider-asya", "namespace": "crossplane-system"}]});
        for object in [role, binding] {
            let applied = test_cluster::objects::apply(&site.fixture.client, &object).await;
            applied.unwrap();
        }
        site.until_watched("job", "True", "Watching").await;
        rig::until("the change is announced to the job", || async {
            annotation(&site.jobs().get("job").await.unwrap())
        })
        .await;
    });
}
