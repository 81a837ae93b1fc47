//! Cases of `tests/cases/resolve` on a real API server.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use actor::yaml;
use kube::Client;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use test_cluster::objects::api_of;

/// The case of each kind in which all is well, in the order of `targets::ALL`.
pub const ALL_IS_WELL: [&str; actor::binding::targets::ALL.len()] = [
    "deployment/a-deployment-is-the-workload",
    "statefulset/a-statefulset-is-the-workload",
    "kaito-workspace/a-statefulset-of-its-name",
    "kaito-inference-set/the-set-stands-for-all-its-workspaces",
    "kserve-inference-service/standard-mode",
    "ray-service/the-active-cluster",
    "ray-cluster/the-cluster-itself",
    "vllm-runtime/a-deployment-of-its-name",
    "nim-service/a-deployment-of-its-name",
    "seldon-server/a-statefulset-of-its-name",
    "seldon-deployment/its-only-deployment",
    "bento-deployment/its-api-server",
];

/// The documents of a case before and after `---`. With the target's name replaced where `name` is
/// given.
pub fn read(case: &str, name: Option<&str>) -> (Value, Value) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/resolve");
    let text = fs::read_to_string(folder.join(format!("{case}.yaml"))).expect("a case");
    let whole = yaml::documents(&text).expect("YAML");
    let of_case = whole[0]["target"]["name"].as_str().expect("a name");
    let text = name.map_or_else(|| text.clone(), |name| text.replace(of_case, name));
    let mut documents = yaml::documents(&text).expect("YAML").into_iter();
    let mut next = || documents.next().expect("two documents");
    (next(), next())
}

/// Makes the objects of a case, with the uids that the API server gives in place of the case's:
/// by those.
pub async fn make(client: &Client, namespace: &str, objects: &Value) -> BTreeMap<String, String> {
    let mut uids = BTreeMap::new();
    for object in objects.as_array().expect("objects") {
        make_one(client, namespace, object.clone(), &mut uids).await;
    }
    uids
}

async fn make_one(
    client: &Client,
    namespace: &str,
    mut object: Value,
    uids: &mut BTreeMap<String, String>,
) {
    object["metadata"]["namespace"] = json!(namespace);
    let metadata = object["metadata"].as_object_mut().expect("metadata");
    let uid = metadata.remove("uid").expect("a uid");
    for owner in metadata
        .get_mut("ownerReferences")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        let of_case = owner["uid"].as_str().expect("an owner's uid");
        owner["uid"] = json!(uids[of_case]);
    }
    let (api, _) = api_of(client, &object).await;
    let name = object["metadata"]["name"]
        .as_str()
        .expect("a name")
        .to_owned();
    let whole = serde_json::from_value(object.clone()).expect("an object");
    let made = api.create(&PostParams::default(), &whole).await;
    let made = made.unwrap_or_else(|error| panic!("{name}: {error}"));
    if object["status"].is_object() {
        let status = Patch::Merge(json!({"status": object["status"]}));
        let parameters = PatchParams::default();
        let written = api.patch_status(&name, &parameters, &status).await;
        written.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    // Where objects of a case share a uid, the first is meant.
    let (of_case, given) = (uid.as_str().expect("a uid"), made.metadata.uid);
    uids.entry(of_case.to_owned())
        .or_insert_with(|| given.expect("a uid"));
}
