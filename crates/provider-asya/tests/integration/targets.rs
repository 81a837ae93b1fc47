//! Targets of bindings on a real API server, whose kinds have the real ones' names, versions, subresources
//! and list types (`tests/crds`).

use crate::rig::{self, Shared};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::rig::cases::{self, ALL_IS_WELL};
use crate::rig::cluster::Cluster;
use actor::binding::{ObjectReference, reason, targets};
use actor::yaml;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client};
use provider_asya::controller::binding::targets::{Targets, is_forbidden};
use provider_asya::resolve::{Query, QueryResult, QueryResults, Resolved, Unresolved, resolve};
use regex::Regex;
use serde_json::{Value, json};
use test_cluster::objects::api_of;

/// More cases, whose kinds no document binds to in this way.
const MORE: [&str; 3] = [
    "kserve-inference-service/knative-mode",
    "nim-service/several-nodes",
    "seldon-deployment/several-predictors",
];

static FIXTURE: Shared<Fixture> = Shared::new("targets of bindings", || Box::pin(Fixture::start()));

/// An API server with every kind of target.
struct Fixture {
    cluster: Cluster,
    client: Client,
    /// One for all tests: its cache must not lead it astray.
    reader: Targets,
}

impl Fixture {
    async fn start() -> Self {
        let cluster = Cluster::start().await;
        let client = cluster.client().await;
        let reader = Targets::new(client.clone());
        kinds_are_not_served_before_they_are_installed(&reader).await;
        for file in files_in(&tests().join("crds")) {
            cluster.install(&file).await;
        }
        Self {
            cluster,
            client,
            reader,
        }
    }
}

#[test]
fn kinds_are_not_served_before_and_served_after_their_installation() {
    FIXTURE.run(async |fixture| {
        for row in targets::ALL {
            let target = ObjectReference {
                api_version: format!("{}/v1", row.group),
                kind: row.kind.to_owned(),
                name: "phi".to_owned(),
            };
            let found = find(&fixture.reader, "default", &target).await;
            let missing = found.unwrap().unwrap_err();
            assert_eq!(missing.0, reason::TARGET_NOT_FOUND, "{}", missing.1);
        }
    });
}

/// Part of the start of the fixture, since kinds are installed once.
async fn kinds_are_not_served_before_they_are_installed(reader: &Targets) {
    for row in targets::ALL {
        let expected = match row.group {
            "apps" => reason::TARGET_NOT_FOUND,
            _ => reason::KIND_NOT_SERVED,
        };
        let target = ObjectReference {
            api_version: format!("{}/v1", row.group),
            kind: row.kind.to_owned(),
            name: "phi".to_owned(),
        };
        let found = find(reader, "default", &target).await;
        let missing = found.unwrap().unwrap_err();
        assert_eq!(missing.0, expected, "{}: {}", row.kind, missing.1);
    }
}

/// The targets of every actor in `docs/binding` and `examples`.
#[test]
fn targets_of_the_documentation_and_examples_are_resolved() {
    FIXTURE.run(async |fixture| {
        let Fixture { client, reader, .. } = fixture;
        let mut kinds = BTreeSet::new();
        for (index, (place, target)) in documented().into_iter().enumerate() {
            let namespace = namespace(client, &format!("documented-{index}")).await;
            let missing = find(reader, &namespace, &target)
                .await
                .unwrap()
                .unwrap_err();
            assert_eq!(
                missing.0,
                reason::TARGET_NOT_FOUND,
                "{place}: {}",
                missing.1
            );
            let row = targets::ALL
                .iter()
                .position(|row| {
                    row.kind == target.kind && row.group == targets::group_of(&target.api_version)
                })
                .unwrap_or_else(|| panic!("{place}: nobody can bind to {target}"));
            expect(client, reader, &namespace, ALL_IS_WELL[row], Some(&target)).await;
            kinds.insert(target.kind);
        }
        assert!(kinds.len() >= 9, "only {kinds:?} are documented");
    });
}

#[test]
fn a_target_of_every_kind_is_resolved_as_its_case_expects() {
    FIXTURE.run(async |fixture| {
        let Fixture { client, reader, .. } = fixture;
        for (index, case) in ALL_IS_WELL.into_iter().chain(MORE).enumerate() {
            let namespace = namespace(client, &format!("case-{index}")).await;
            expect(client, reader, &namespace, case, None).await;
        }
    });
}

/// Makes the objects of a case, for the target `instead` where that is given, and finds what the
/// case expects.
async fn expect(
    client: &Client,
    reader: &Targets,
    namespace: &str,
    case: &str,
    instead: Option<&ObjectReference>,
) {
    let name = instead.map(|target| target.name.as_str());
    let (case_of_file, expected) = cases::read(case, name);
    let uids = cases::make(client, namespace, &case_of_file["objects"]).await;
    let target: ObjectReference = serde_json::from_value(case_of_file["target"].clone()).unwrap();
    let target = instead.unwrap_or(&target);
    let found = find(reader, namespace, target).await.unwrap();
    let found = found.unwrap_or_else(|(_, message)| panic!("{case}: {message}"));
    let text = |object: &ObjectReference| json!(format!("{} {object}", object.api_version));
    assert_eq!(text(&found.workload), expected["workload"], "{case}");
    assert_eq!(json!(found.pod_selector), expected["podSelector"], "{case}");
    assert_eq!(json!(found.url), expected["url"], "{case}");
    assert_eq!(
        Some(&found.uid),
        uids.get(expected["uid"].as_str().unwrap()),
        "{case}"
    );
    match &found.scale {
        Ok(object) => assert_eq!(text(object), expected["scale"], "{case}"),
        Err(reason) => assert_eq!(
            json!(format!("nothing: {reason}")),
            expected["scale"],
            "{case}"
        ),
    }
    let refused = found
        .injection
        .err()
        .map(|reason| format!("refused: {reason}"));
    assert_eq!(json!(refused), expected["injection"], "{case}");
}

#[test]
fn listed_objects_have_api_version_and_kind() {
    FIXTURE.run(async |fixture| {
        let Fixture { client, reader, .. } = fixture;
        let namespace = namespace(client, "lists").await;
        for (name, app) in [("b", "web"), ("c", "other"), ("a", "web")] {
            let service = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": name, "namespace": namespace, "labels": {"app": app, "tier": "x"}},
            "spec": {"ports": [{"port": 80}]}});
            let (api, _) = api_of(client, &service).await;
            let service = serde_json::from_value(service).unwrap();
            api.create(&PostParams::default(), &service).await.unwrap();
        }
        let labels = [("app", "web"), ("tier", "x")];
        let query = Query::Labelled {
            group: String::new(),
            kind: "Service".to_owned(),
            labels: labels
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
        };
        let QueryResult::Objects(services) = reader.read(&namespace, &query).await.unwrap() else {
            panic!("Services are served");
        };
        let listed: Vec<Value> = services
            .iter()
            .map(|service| {
                json!([
                    service["apiVersion"],
                    service["kind"],
                    service["metadata"]["name"]
                ])
            })
            .collect();
        assert_eq!(
            json!(listed),
            json!([["v1", "Service", "a"], ["v1", "Service", "b"]])
        );
    });
}

#[test]
fn another_version_is_read_once_the_preferred_one_is_not_served() {
    FIXTURE.run_alone(async |fixture| {
        let client = &fixture.client;
        // The cache of the shared one would keep the other version.
        let reader = Targets::new(client.clone());
        let namespace = namespace(client, "versions").await;
        let workspace = json!({
        "apiVersion": "kaito.sh/v1beta1", "kind": "Workspace",
        "metadata": {"name": "phi-3", "uid": "any"}});
        cases::make(client, &namespace, &json!([workspace])).await;
        let query = Query::Object {
            group: "kaito.sh".to_owned(),
            kind: "Workspace".to_owned(),
            name: "phi-3".to_owned(),
        };
        let version = async || match reader.read(&namespace, &query).await.unwrap() {
            QueryResult::Objects(objects) => objects[0]["apiVersion"].clone(),
            QueryResult::NotServed => panic!("Workspaces are served"),
        };
        assert_eq!(version().await, "kaito.sh/v1beta1", "the preferred one");
        let serve = |value: bool| {
            let path = "/spec/versions/0/served";
            let change = json!([{"op": "replace", "path": path, "value": value}]);
            Patch::<Value>::Json(serde_json::from_value(change).unwrap())
        };
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        let name = "workspaces.kaito.sh";
        let parameters = PatchParams::default();
        definitions
            .patch(name, &parameters, &serve(false))
            .await
            .unwrap();
        rig::until("the other version is read", || async {
            (version().await == "kaito.sh/v1alpha1").then_some(())
        })
        .await;
        // As other tests need it.
        definitions
            .patch(name, &parameters, &serve(true))
            .await
            .unwrap();
        rig::until("the preferred version is read again", || async {
            let reader = Targets::new(client.clone());
            match reader.read(&namespace, &query).await.ok()? {
                QueryResult::Objects(objects) => {
                    (objects[0]["apiVersion"] == "kaito.sh/v1beta1").then_some(())
                }
                QueryResult::NotServed => None,
            }
        })
        .await;
    });
}

#[test]
fn a_missing_right_is_reported_with_the_resource() {
    FIXTURE.run(async |fixture| {
        let cluster = &fixture.cluster;
        let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig()).unwrap();
        let options = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options);
        let mut config = config.await.unwrap();
        config.auth_info.impersonate = Some("nobody".to_owned());
        let reader = Targets::new(Client::try_from(config).unwrap());
        let target = ObjectReference {
            api_version: "ray.io/v1".to_owned(),
            kind: "RayCluster".to_owned(),
            name: "pool".to_owned(),
        };
        let error = find(&reader, "default", &target).await.unwrap_err();
        assert!(is_forbidden(&error), "{error}");
        assert!(error.to_string().contains("rayclusters.ray.io"), "{error}");
    });
}

/// Asks until there is an answer, as the controller does. The error is a reason with its message.
async fn find(
    reader: &Targets,
    namespace: &str,
    target: &ObjectReference,
) -> kube::Result<Result<Resolved, (&'static str, String)>> {
    let mut view = QueryResults::default();
    loop {
        match resolve(target, &view) {
            Ok(resolved) => return Ok(Ok(resolved)),
            Err(Unresolved::Missing { reason, message }) => return Ok(Err((reason, message))),
            Err(Unresolved::Needs(query)) => {
                let seen = reader.read(namespace, &query).await?;
                view.put(query, seen);
            }
        }
    }
}

/// Targets of actors in the documentation and examples, with their positions.
fn documented() -> Vec<(String, ObjectReference)> {
    let root = test_cluster::components::repository();
    let block = Regex::new("(?s)```yaml\n(.*?)```").unwrap();
    let mut texts = Vec::new();
    for file in files_in(&root.join("docs/binding")) {
        let text = fs::read_to_string(&file).unwrap();
        for captures in block.captures_iter(&text) {
            texts.push((file.display().to_string(), captures[1].to_owned()));
        }
    }
    for example in fs::read_dir(root.join("examples")).unwrap() {
        let file = example.unwrap().path().join("xr.yaml");
        if let Ok(text) = fs::read_to_string(&file) {
            texts.push((file.display().to_string(), text));
        }
    }
    texts.sort();
    let mut documented = Vec::new();
    for (place, text) in texts {
        for document in yaml::documents(&text).unwrap() {
            let target = &document["spec"]["workloadRef"];
            if document["kind"] == "AsyncActor" && target.is_object() {
                let target = serde_json::from_value(target.clone()).unwrap();
                documented.push((place.clone(), target));
            }
        }
    }
    assert!(
        documented.len() >= 14,
        "only {} were found",
        documented.len()
    );
    documented
}

async fn namespace(client: &Client, name: &str) -> String {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    test_cluster::objects::apply(client, &namespace)
        .await
        .unwrap();
    name.to_owned()
}

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    files.sort();
    files
}
