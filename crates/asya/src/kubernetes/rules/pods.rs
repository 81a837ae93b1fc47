//! Rules between the parts of a pod.

use std::collections::{BTreeMap, BTreeSet};

use actor::diagnostic::Code;
use merge::Segment;
use serde_json::{Map, Value};

use super::super::walk::{Depth, Walk};
use super::{inner, is_set, is_true, list, text};
use crate::nearest::nearest;

pub(super) fn pod(walk: &mut Walk, map: &Map<String, Value>) {
    for (field, problem) in [
        (
            "activeDeadlineSeconds",
            "is for Pods and Jobs: Deployments and StatefulSets run on",
        ),
        (
            "ephemeralContainers",
            "is for running Pods: a template cannot have them",
        ),
    ] {
        if is_set(map, field) {
            walk.report(&[field.into()], Code::FieldNotInTemplate, problem);
        }
    }
    host(walk, map);
    if text(map, "dnsPolicy") == "None" {
        let servers = inner(map, "dnsConfig").map_or(&[][..], |it| list(it, "nameservers"));
        if servers.is_empty() && walk.is_whole() {
            let problem = "None needs at least one of dnsConfig.nameservers";
            walk.report(&["dnsPolicy".into()], Code::RequiredFieldMissing, problem);
        }
    }
    let servers = inner(map, "dnsConfig").map_or(&[][..], |it| list(it, "nameservers"));
    if servers.len() > 3 {
        let path = ["dnsConfig".into(), "nameservers".into()];
        walk.report(
            &path,
            Code::InvalidKubernetesValue,
            "has more than 3 servers",
        );
    }
    if walk.depth == Depth::Workload {
        volumes(walk, map);
        sleep(walk, map);
        claims(walk, map);
    }
    host_ports(walk, map);
}

/// Ports of the node that two ports of the containers take.
fn host_ports(walk: &mut Walk, map: &Map<String, Value>) {
    let mut taken = BTreeSet::new();
    for (at, container) in list(map, "containers").iter().enumerate() {
        let ports = container["ports"].as_array().into_iter().flatten();
        for (index, port) in ports.enumerate() {
            let Some(number) = port["hostPort"].as_i64().filter(|number| *number != 0) else {
                continue;
            };
            let protocol = port["protocol"].as_str().unwrap_or("TCP");
            let address = port["hostIP"].as_str().unwrap_or_default();
            if !taken.insert((protocol, address, number)) {
                let path = [
                    "containers".into(),
                    at.into(),
                    "ports".into(),
                    index.into(),
                    "hostPort".into(),
                ];
                let problem = format!("{number} is taken by another port of the pod");
                walk.report(&path, Code::InvalidKubernetesValue, problem);
            }
        }
    }
}

/// Claims of devices that the pod does not declare.
fn claims(walk: &mut Walk, map: &Map<String, Value>) {
    let declared: Vec<&str> = list(map, "resourceClaims")
        .iter()
        .filter_map(|claim| claim["name"].as_str())
        .collect();
    for lists in ["containers", "initContainers"] {
        for (at, container) in list(map, lists).iter().enumerate() {
            let claims = container["resources"]["claims"].as_array();
            for (index, claim) in claims.into_iter().flatten().enumerate() {
                let Some(name) = claim["name"].as_str().filter(|it| !declared.contains(it)) else {
                    continue;
                };
                let path: [Segment; 6] = [
                    lists.into(),
                    at.into(),
                    "resources".into(),
                    "claims".into(),
                    index.into(),
                    "name".into(),
                ];
                let problem = format!("the pod has no claim {name:?}");
                let help = match nearest(name, declared.iter().copied()) {
                    Some(meant) => format!("did you mean {meant:?}?"),
                    None => "declare it in resourceClaims".to_owned(),
                };
                walk.report_with(&path, Code::InvalidKubernetesValue, problem, help);
            }
        }
    }
}

/// Fields that depend on the namespaces of the node.
fn host(walk: &mut Walk, map: &Map<String, Value>) {
    let context = inner(map, "securityContext");
    if is_true(map, "hostPID") && is_true(map, "shareProcessNamespace") {
        let problem = "hostPID and shareProcessNamespace exclude each other";
        walk.report(
            &["shareProcessNamespace".into()],
            Code::ExclusiveFields,
            problem,
        );
    }
    if map.get("hostUsers") == Some(&Value::Bool(false)) {
        for field in ["hostNetwork", "hostPID", "hostIPC"] {
            if is_true(map, field) {
                walk.report(
                    &[field.into()],
                    Code::ExclusiveFields,
                    "excludes hostUsers: false",
                );
            }
        }
    }
    let is_linux = inner(map, "os").is_some_and(|os| text(os, "name") == "linux");
    if is_linux && context.is_some_and(|it| is_set(it, "windowsOptions")) {
        let path = ["securityContext".into(), "windowsOptions".into()];
        walk.report(&path, Code::ExclusiveFields, "excludes os.name: linux");
    }
    if !is_true(map, "hostNetwork") {
        return;
    }
    for (at, container) in list(map, "containers").iter().enumerate() {
        let ports = container["ports"].as_array().map_or(&[][..], Vec::as_slice);
        for (index, port) in ports.iter().enumerate() {
            let host = port["hostPort"].as_i64().unwrap_or_default();
            if host != 0 && Some(host) != port["containerPort"].as_i64() {
                let path = [
                    "containers".into(),
                    at.into(),
                    "ports".into(),
                    index.into(),
                    "hostPort".into(),
                ];
                let problem = "must equal containerPort with hostNetwork: true";
                walk.report(&path, Code::InvalidKubernetesValue, problem);
            }
        }
    }
}

/// Mounts of volumes that the pod does not declare, and devices of volumes that are none.
fn volumes(walk: &mut Walk, map: &Map<String, Value>) {
    let declared: BTreeMap<&str, &Value> = list(map, "volumes")
        .iter()
        .filter_map(|volume| Some((volume["name"].as_str()?, volume)))
        .collect();
    for lists in ["containers", "initContainers"] {
        for (at, container) in list(map, lists).iter().enumerate() {
            for field in ["volumeMounts", "volumeDevices"] {
                let items = container[field].as_array().map_or(&[][..], Vec::as_slice);
                for (index, item) in items.iter().enumerate() {
                    let path: [Segment; 5] = [
                        lists.into(),
                        at.into(),
                        field.into(),
                        index.into(),
                        "name".into(),
                    ];
                    let Some(name) = item["name"].as_str().filter(|name| !name.is_empty()) else {
                        continue;
                    };
                    match declared.get(name) {
                        None if walk.is_claimed(name) => {}
                        None => {
                            let help = match nearest(name, declared.keys().copied()) {
                                Some(meant) => format!("did you mean {meant:?}?"),
                                None => "declare it in volumes, or in volumeClaimTemplates of a StatefulSet".to_owned(),
                            };
                            let problem = format!("the pod has no volume {name:?}");
                            walk.report_with(&path, Code::UndeclaredVolume, problem, help);
                        }
                        Some(volume) if field == "volumeDevices" => {
                            let is_claim = volume["persistentVolumeClaim"].is_object()
                                || volume["ephemeral"].is_object();
                            if !is_claim {
                                let problem = format!(
                                    "volume {name:?} is no claim, and only claims can be devices"
                                );
                                walk.report(&path, Code::InvalidKubernetesValue, problem);
                            }
                        }
                        Some(_) => {}
                    }
                }
            }
            let used = |field: &str, key: &str| -> Vec<String> {
                let items = container[field].as_array().into_iter().flatten();
                items
                    .filter_map(|it| it[key].as_str().map(str::to_owned))
                    .collect()
            };
            let mounted = used("volumeMounts", "name");
            for (index, name) in used("volumeDevices", "name").iter().enumerate() {
                if mounted.contains(name) {
                    let path = [
                        lists.into(),
                        at.into(),
                        "volumeDevices".into(),
                        index.into(),
                        "name".into(),
                    ];
                    let problem = format!("volume {name:?} is mounted already");
                    walk.report(&path, Code::ExclusiveFields, problem);
                }
            }
        }
    }
}

/// Hooks that sleep longer than the pod's grace period.
fn sleep(walk: &mut Walk, map: &Map<String, Value>) {
    let grace = map
        .get("terminationGracePeriodSeconds")
        .and_then(Value::as_i64)
        .unwrap_or(30);
    for (at, container) in list(map, "containers").iter().enumerate() {
        for hook in ["postStart", "preStop"] {
            let seconds = container["lifecycle"][hook]["sleep"]["seconds"].as_i64();
            if seconds.is_some_and(|seconds| seconds > grace) {
                let path = [
                    "containers".into(),
                    at.into(),
                    "lifecycle".into(),
                    hook.into(),
                    "sleep".into(),
                    "seconds".into(),
                ];
                let problem = format!("is longer than the pod's grace period of {grace} s");
                walk.report(&path, Code::InvalidKubernetesValue, problem);
            }
        }
    }
}
