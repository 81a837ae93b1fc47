//! Every kind of target, bound on a real API server from first to last: what an operator made of the
//! target gets the containers, where that is possible, and is as it was when the binding is gone.
//! The target itself and all else is left alone. The provider has the rights of `install/` alone.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on panics"
)]

mod rig;

use std::fs;
use std::path::Path;

use futures::future::join_all;
use provider_asya::kinds::WorkloadBinding;
use rig::binding_fixture::{BindingFixture, containers, settled, template, timings};
use rig::cases::{self, ALL_IS_WELL};
use serde_json::{Value, json};
use test_cluster::objects::api_of;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_is_bound_and_left_as_it_was() {
    if rig::is_skipped("bindings to every kind") {
        return;
    }
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
}

/// Whether containers could be injected.
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
    site.until_gone::<WorkloadBinding>("embedder").await;
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
