//! Security contexts.

use actor::diagnostic::Code;
use serde_json::{Map, Value};

use super::super::values::Format;
use super::super::walk::Walk;
use super::{inner, is_set, is_true, list, text};

pub(super) fn container(walk: &mut Walk, map: &Map<String, Value>) {
    if map.get("allowPrivilegeEscalation") != Some(&Value::Bool(false)) {
        return;
    }
    let at = ["allowPrivilegeEscalation".into()];
    if is_true(map, "privileged") {
        walk.report(
            &at,
            Code::ExclusiveFields,
            "cannot be false in a privileged container",
        );
    }
    let added = inner(map, "capabilities").map_or(&[][..], |it| list(it, "add"));
    if added.iter().any(|it| it == "CAP_SYS_ADMIN") {
        let problem = "cannot be false with capability CAP_SYS_ADMIN";
        walk.report(&at, Code::ExclusiveFields, problem);
    }
}

pub(super) fn pod(walk: &mut Walk, map: &Map<String, Value>) {
    let mut known = std::collections::BTreeSet::new();
    for (index, setting) in list(map, "sysctls").iter().enumerate() {
        let name = setting["name"].as_str().unwrap_or_default();
        let path = ["sysctls".into(), index.into(), "name".into()];
        let is_name = name.len() <= 253
            && name.split(['.', '/']).all(|part| {
                let is_end = |c: Option<char>| {
                    c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
                };
                is_end(part.chars().next())
                    && is_end(part.chars().last())
                    && part
                        .chars()
                        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c))
            });
        if !is_name && !name.is_empty() {
            walk.report(
                &path,
                Code::InvalidKubernetesValue,
                format!("{name:?} is no name of a sysctl"),
            );
        } else if !known.insert(name) {
            walk.report(
                &path,
                Code::DuplicateName,
                format!("{name:?} is given more than once"),
            );
        }
    }
}

/// A profile of seccomp or AppArmor.
pub(super) fn profile(walk: &mut Walk, map: &Map<String, Value>) {
    let (kind, profile) = (text(map, "type"), text(map, "localhostProfile"));
    let at = ["localhostProfile".into()];
    if kind == "Localhost" && profile.is_empty() && walk.is_whole() {
        walk.report(
            &[],
            Code::RequiredFieldMissing,
            "has no \"localhostProfile\", which type Localhost needs",
        );
    }
    if !["", "Localhost"].contains(&kind) && is_set(map, "localhostProfile") {
        walk.report(
            &at,
            Code::ExclusiveFields,
            format!("is for type Localhost, not {kind}"),
        );
    }
    let is_seccomp = walk.keys().next_back() == Some("seccompProfile");
    if is_seccomp && let Some(problem) = Format::RelativePath.problem(profile) {
        walk.report(
            &at,
            Code::InvalidKubernetesValue,
            format!("{profile:?} {problem}"),
        );
    }
    if !is_seccomp && profile.trim() != profile {
        walk.report(
            &at,
            Code::InvalidKubernetesValue,
            format!("{profile:?} begins or ends with spaces"),
        );
    }
}
