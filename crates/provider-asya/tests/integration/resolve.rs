//! Every file of `tests/cases/resolve`: what a cluster holds as the real operators write it, a
//! target, and after `---` the workload behind it, with every lookup, in order.
//!
//! `UPDATE_CASES=1` writes the current results; read the difference as you would read code.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use actor::binding::{ObjectReference, reason, targets};
use actor::yaml;
use provider_asya::resolve::{Query, QueryResult, QueryResults, Resolved, Unresolved, resolve};
use serde::Deserialize;
use serde_json::{Value, json};

/// The document of a file before `---`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Case {
    /// The rule or edge that the case holds on to.
    reason: String,
    target: ObjectReference,
    /// Kinds that the cluster does not serve, as `Service.serving.knative.dev`.
    #[serde(default)]
    not_served: Vec<String>,
    #[serde(default)]
    objects: Vec<Value>,
}

#[test]
fn every_golden_case_has_its_expected_output() {
    let files = files();
    let failures: Vec<String> = files
        .iter()
        .filter_map(|file| {
            let failure = check(file).err()?;
            Some(format!("{}: {failure}", file.display()))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// Other people's schemas change, and many are open: whatever stands where something else is
/// expected, there is an answer, after no more lookups than it takes.
#[test]
fn objects_of_any_shape_end_in_an_answer() {
    let mut tried = 0;
    for file in files() {
        let (mut case, _) = read(&file).unwrap();
        let whole = json!(case.objects);
        for place in places(&whole) {
            for odd in [
                Value::Null,
                json!(7),
                json!("x\ny."),
                json!([{"x": 1}]),
                json!({}),
            ] {
                let mut objects = whole.clone();
                *objects.pointer_mut(&place).unwrap() = odd;
                case.objects = objects.as_array().unwrap().clone();
                let found = answer(&case);
                check_lines(&found).unwrap_or_else(|error| panic!("{place}: {error}"));
                let lookups = found["lookups"].as_array().unwrap().len();
                assert!(
                    lookups <= 3,
                    "{}: {place}: {lookups} lookups",
                    file.display()
                );
                tried += 1;
            }
        }
    }
    assert!(tried > 10_000, "only {tried} shapes were tried");
}

/// JSON pointers to everything in a document but its own top.
fn places(document: &Value) -> Vec<String> {
    let children: Vec<(String, &Value)> = match document {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| (index.to_string(), item))
            .collect(),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.replace('~', "~0").replace('/', "~1"), value))
            .collect(),
        _ => Vec::new(),
    };
    let mut places = Vec::new();
    for (key, child) in children {
        let below = places_below(&key, child);
        places.push(format!("/{key}"));
        places.extend(below);
    }
    places
}

fn places_below(key: &str, child: &Value) -> Vec<String> {
    let below = places(child).into_iter();
    below.map(|place| format!("/{key}{place}")).collect()
}

#[test]
fn every_kind_reports_its_missing_objects() {
    for row in targets::ALL {
        let target = ObjectReference {
            api_version: format!("{}/v9", row.group),
            kind: row.kind.to_owned(),
            name: "phi".to_owned(),
        };
        let query = Query::Object {
            group: row.group.to_owned(),
            kind: row.kind.to_owned(),
            name: "phi".to_owned(),
        };
        assert_eq!(
            resolve(&target, &QueryResults::default()),
            Err(Unresolved::Needs(query.clone())),
            "the target itself is looked up first"
        );
        let deleting = json!({
            "apiVersion": target.api_version, "kind": row.kind,
            "metadata": {"name": "phi", "uid": "u", "deletionTimestamp": "2026-01-01T00:00:00Z"}});
        let cases = [
            (
                QueryResult::NotServed,
                reason::KIND_NOT_SERVED,
                "install its operator",
            ),
            (
                QueryResult::Objects(vec![deleting]),
                reason::NO_WORKLOAD,
                "is being deleted",
            ),
        ];
        for (seen, expected, text) in cases {
            let mut view = QueryResults::default();
            view.put(query.clone(), seen);
            let Err(Unresolved::Missing { reason, message }) = resolve(&target, &view) else {
                panic!("{}: {expected} is not reported", row.kind);
            };
            assert_eq!(reason, expected, "{}", row.kind);
            assert!(
                message.contains(text) && message.contains(row.kind),
                "{message}"
            );
        }
    }
}

#[test]
fn a_kind_of_no_row_is_refused_with_those_that_are_known() {
    let target = ObjectReference {
        api_version: "batch/v1".to_owned(),
        kind: "Job".to_owned(),
        name: "phi".to_owned(),
    };
    let Err(Unresolved::Missing { reason, message }) = resolve(&target, &QueryResults::default())
    else {
        panic!("a Job is no target");
    };
    assert_eq!(reason, reason::KIND_NOT_SERVED);
    assert!(message.starts_with("actors cannot bind to a Job: bind to one of Deployment (apps), "));
}

/// The rights in `install/` to read objects for bindings are those that some target needs.
#[test]
fn binding_needs_rights_on_the_read_kinds_only() {
    let mut looked_at = BTreeSet::new();
    for file in files() {
        let (_, answer) = read(&file).unwrap();
        for query in answer["lookups"].as_array().unwrap() {
            let kind = query.as_str().unwrap().split(' ').next().unwrap();
            let (kind, group) = kind.split_once('.').unwrap();
            looked_at.insert(format!("{}s.{group}", kind.to_lowercase()));
        }
    }
    let file =
        test_cluster::components::repository().join("install/provider-asya/rbac-binding.yaml");
    let documents = yaml::documents(&fs::read_to_string(file).unwrap()).unwrap();
    let mut granted = BTreeSet::new();
    for rule in documents[0]["rules"].as_array().unwrap() {
        let texts =
            |key: &str| -> Vec<String> { serde_json::from_value(rule[key].clone()).unwrap() };
        let groups = texts("apiGroups");
        let [group] = groups.as_slice() else {
            panic!("one group in each rule: {groups:?}");
        };
        // Workloads are also watched and written to.
        let expected: &[&str] = match group.as_str() {
            "apps" => &["get", "list", "watch", "patch"],
            _ => &["get"],
        };
        assert_eq!(texts("verbs"), expected, "{group}");
        let resources = texts("resources").into_iter();
        granted.extend(resources.map(|resource| format!("{resource}.{group}")));
    }
    assert_eq!(granted, looked_at);
}

fn files() -> Vec<PathBuf> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/resolve")];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    assert!(files.len() > 60, "only {} cases were found", files.len());
    files
}

/// A case, and the answer that its file expects.
fn read(file: &Path) -> Result<(Case, Value), String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let documents = yaml::documents(&text).map_err(|error| error.to_string())?;
    let mut documents = documents.into_iter();
    let case = serde_json::from_value(documents.next().unwrap_or_default());
    let case = case.map_err(|error| error.to_string())?;
    Ok((case, documents.next().unwrap_or_default()))
}

/// Messages for people are one line each.
fn check_lines(found: &Value) -> Result<(), String> {
    for line in ["message", "scale", "injection"].map(|key| &found[key]) {
        let line = line.as_str().unwrap_or("a line");
        if line.is_empty() || line.contains('\n') || line.ends_with('.') {
            return Err(format!("no short line: {line:?}"));
        }
    }
    Ok(())
}

fn check(file: &Path) -> Result<(), String> {
    let (case, expected) = read(file)?;
    let found = answer(&case);
    check_lines(&found)?;
    if std::env::var_os("UPDATE_CASES").is_some() {
        let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
        let (case, _) = text
            .split_once("\n---\n")
            .unwrap_or_else(|| (text.trim_end(), ""));
        let answer = yaml::write(&found).map_err(|error| error.to_string())?;
        return fs::write(file, format!("{case}\n---\n{answer}"))
            .map_err(|error| error.to_string());
    }
    if found == expected {
        return Ok(());
    }
    Err(format!(
        "found {found:#}, expected {expected:#}, since {}",
        case.reason
    ))
}

/// Asks until there is an answer, as the controller does.
fn answer(case: &Case) -> Value {
    let mut view = QueryResults::default();
    let mut lookups = Vec::new();
    let mut document = loop {
        match resolve(&case.target, &view) {
            Ok(resolved) => break of_resolved(resolved),
            Err(Unresolved::Missing { reason, message }) => {
                break json!({"reason": reason, "message": message});
            }
            Err(Unresolved::Needs(query)) => {
                let (lookup, seen) = (shown(&query), seen(case, &query));
                assert!(!lookups.contains(&lookup), "{lookup} twice");
                lookups.push(lookup);
                view.put(query, seen);
            }
        }
    };
    document["lookups"] = json!(lookups);
    document
}

fn of_resolved(resolved: Resolved) -> Value {
    let text = |object: &ObjectReference| format!("{} {}", object.api_version, object);
    let mut document = json!({
        "workload": text(&resolved.workload),
        "uid": resolved.uid,
        "podSelector": resolved.pod_selector,
        "scale": resolved.scale.as_ref().map_or_else(|reason| format!("nothing: {reason}"), text),
    });
    if let Some(url) = resolved.url {
        document["url"] = json!(url);
    }
    if let Err(reason) = resolved.injection {
        document["injection"] = json!(format!("refused: {reason}"));
    }
    document
}

fn shown(query: &Query) -> String {
    match query {
        Query::Object { group, kind, name } => format!("{kind}.{group} {name}"),
        Query::Labelled {
            group,
            kind,
            labels,
        } => {
            let labels: Vec<String> = labels
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            format!("{kind}.{group} with {}", labels.join(","))
        }
    }
}

/// Answers of the cluster of the case.
fn seen(case: &Case, query: &Query) -> QueryResult {
    let (Query::Object { group, kind, .. } | Query::Labelled { group, kind, .. }) = query;
    if case.not_served.contains(&format!("{kind}.{group}")) {
        return QueryResult::NotServed;
    }
    let is_seen = |object: &&Value| {
        let api_version = object["apiVersion"].as_str().unwrap_or_default();
        let of_kind = targets::group_of(api_version) == group && object["kind"] == **kind;
        of_kind
            && match query {
                Query::Object { name, .. } => object["metadata"]["name"] == **name,
                Query::Labelled { labels, .. } => labels
                    .iter()
                    .all(|(key, value)| object["metadata"]["labels"][key] == **value),
            }
    };
    let mut objects: Vec<Value> = case.objects.iter().filter(is_seen).cloned().collect();
    objects.sort_by_key(|object| object["metadata"]["name"].to_string());
    QueryResult::Objects(objects)
}
