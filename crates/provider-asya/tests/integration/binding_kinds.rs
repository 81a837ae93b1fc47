//! Bindings to every kind of target on a real API server: the workload that an operator has made of the
//! target gets the containers, where that is possible, and is restored when the binding is deleted. The
//! target itself and everything else is unchanged. The provider has only the rights of `install/`.

use crate::rig::shared;
use std::fs;
use std::path::Path;

use crate::rig::binding_fixture::{BindingFixture, containers, settled, template, timings};
use crate::rig::cases::{self, ALL_IS_WELL};
use futures::future::join_all;
use provider_asya::kinds::WorkloadBinding;
use serde_json::{Value, json};
use test_cluster::objects::api_of;

#[test]
fn a_target_of_every_kind_is_bound_and_restored() {
    shared::run("bindings to every kind", async {
        let mut fixture = BindingFixture::start(timings()).await;
        let kinds = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crds");
        for file in fs::read_dir(kinds).unwrap() {
            fixture.cluster.install(&file.unwrap().path()).await;
        }
        fixture.grant("rbac-binding.yaml").await;
        fixture.provide().await;
        let injected = join_all(ALL_IS_WELL.map(|case| is_bound_and_left(&fixture, case))).await;
        let injected = injected.into_iter().filter(|is_injected| *is_injected);
        assert_eq!(injected.count(), 8, "kinds whose pods can have containers");
    });
}

/// Returns whether containers could be injected.
async fn is_bound_and_left(fixture: &BindingFixture, case: &str) -> bool {
    let site = fixture.site(&case.replace('/', "-")).await;
    let (case_of_file, expected) = cases::read(case, None);
    cases::make(&fixture.client, &site.namespace, &case_of_file["objects"]).await;
    let mut objects = case_of_file["objects"].as_array().unwrap().clone();
    for object in &mut objects {
        object["metadata"]["namespace"] = json!(site.namespace);
    }
    let is_injected = expected["injection"].is_null();
    let mut for_provider = json!({"actor": "embedder", "strategy": "Adapter",
        "targetRef": case_of_file["target"]});
    if is_injected {
        for_provider["strategy"] = json!("Inject");
        for_provider["template"] = template("embedder", "a:1");
    }
    let before = read_all(fixture, &objects).await;
    site.make_binding("embedder", for_provider).await;
    let binding = site.until_ready("embedder").await;
    let workload = binding.status.at_provider.resolved_target.unwrap();
    assert_eq!(
        json!(format!("{} {workload}", workload.api_version)),
        expected["workload"],
        "{case}"
    );
    let bound = read_all(fixture, &objects).await;
    for (before, bound) in before.iter().zip(&bound) {
        let is_workload = bound["kind"] == workload.kind.as_str()
            && bound["metadata"]["name"] == workload.name.as_str();
        if is_injected && is_workload {
            let names = [&containers(before)[..], &["asya-runtime", "asya-sidecar"]].concat();
            assert_eq!(containers(bound), names, "{case}");
        } else {
            assert_eq!(before, bound, "{case}");
        }
    }
    site.delete::<WorkloadBinding>("embedder").await;
    site.until_deleted::<WorkloadBinding>("embedder").await;
    let after = read_all(fixture, &objects).await;
    let all_settled = |all: Vec<Value>| all.into_iter().map(settled).collect::<Vec<_>>();
    assert_eq!(all_settled(after), all_settled(before), "{case}");
    is_injected
}

async fn read_all(fixture: &BindingFixture, objects: &[Value]) -> Vec<Value> {
    let mut all = Vec::new();
    for object in objects {
        let (api, _) = api_of(&fixture.client, object).await;
        let name = object["metadata"]["name"].as_str().unwrap();
        all.push(json!(api.get(name).await.unwrap()));
    }
    all
}
