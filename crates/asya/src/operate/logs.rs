//! Log lines of all containers of an actor's pods, in the order of their times.

use actor::names::{RUNTIME_CONTAINER, SIDECAR_CONTAINER, STATE_PROXY_PREFIX};
use pipeline::Object;
use serde_json::Value;

/// A container whose log is read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// Its pod.
    pub pod: String,
    /// Namespace of the pod.
    pub namespace: String,
    /// The container.
    pub container: String,
}

/// A line of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Timestamp of the line, as the kubelet writes it: sorts by time. Empty if it is unknown.
    pub time: String,
    /// Index of its source.
    pub source: usize,
    /// The text.
    pub text: String,
}

impl Source {
    /// The container as operators call it: `runtime`, `sidecar`, `state-<name>`, else its own name.
    pub fn short(&self) -> &str {
        match self.container.as_str() {
            RUNTIME_CONTAINER => "runtime",
            SIDECAR_CONTAINER => "sidecar",
            name => name.strip_prefix("asya-").unwrap_or(name),
        }
    }
}

/// The containers of pods that are asked for: by their short or full names, or all of Asya's.
/// Containers that have no log yet are skipped.
pub fn sources(pods: &[Object], wanted: &[String]) -> Vec<Source> {
    let mut sources = Vec::new();
    for pod in pods {
        let lists = ["initContainers", "containers"];
        let containers = lists.map(|list| pod.get(&["spec", list]).and_then(Value::as_array));
        for container in containers.into_iter().flatten().flatten() {
            let name = container["name"].as_str().unwrap_or_default();
            let source = Source {
                pod: pod.name().to_owned(),
                namespace: pod.namespace().to_owned(),
                container: name.to_owned(),
            };
            let is_ours = [RUNTIME_CONTAINER, SIDECAR_CONTAINER].contains(&name)
                || name.starts_with(STATE_PROXY_PREFIX);
            let is_wanted = match wanted {
                [] => is_ours,
                wanted => wanted.iter().any(|it| it == name || it == source.short()),
            };
            if is_wanted && has_log(pod, name) {
                sources.push(source);
            }
        }
    }
    sources
}

/// Returns whether the container has started at least once.
fn has_log(pod: &Object, container: &str) -> bool {
    let lists = ["initContainerStatuses", "containerStatuses"];
    let statuses = lists.map(|list| pod.get(&["status", list]).and_then(Value::as_array));
    let mut statuses = statuses.into_iter().flatten().flatten();
    statuses.any(|status| {
        status["name"] == container
            && (status["state"].get("waiting").is_none()
                || status["restartCount"].as_u64() > Some(0))
    })
}

/// The lines of logs with timestamps, as one log: by time, and where times are equal by source.
pub fn merged(logs: &[String]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (source, log) in logs.iter().enumerate() {
        lines.extend(log.lines().map(|line| split(line, source)));
    }
    // Stable: lines of one log stay in their order.
    lines.sort_by(|a, b| a.time.cmp(&b.time));
    lines
}

/// A line as `kubectl logs --timestamps` prints it.
pub(crate) fn split(line: &str, source: usize) -> Line {
    let (time, text) = line.split_once(' ').unwrap_or((line, ""));
    let is_time = time.len() >= 20 && time.as_bytes()[4] == b'-' && time.contains('T');
    let (time, text) = if is_time { (time, text) } else { ("", line) };
    Line {
        time: time.to_owned(),
        source,
        text: text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lines_of_several_containers_are_sorted_by_time() {
        let logs = [
            "2026-01-01T00:00:01.5Z a\n2026-01-01T00:00:03Z b\n".to_owned(),
            "2026-01-01T00:00:02Z c\n".to_owned(),
        ];
        let texts: Vec<String> = merged(&logs).into_iter().map(|line| line.text).collect();
        assert_eq!(texts, ["a", "c", "b"]);
    }

    #[test]
    fn containers_are_chosen_by_short_names_and_when_they_have_started() {
        let pod = json!({"kind": "Pod", "metadata": {"name": "p", "namespace": "ml"},
            "spec": {"containers": [{"name": "asya-runtime"}, {"name": "asya-sidecar"},
                {"name": "asya-state-proxy-s"}, {"name": "mesh"}]},
            "status": {"containerStatuses": [
                {"name": "asya-runtime", "state": {"waiting": {}}, "restartCount": 0},
                {"name": "asya-sidecar", "state": {"running": {}}},
                {"name": "asya-state-proxy-s", "state": {"waiting": {}}, "restartCount": 2},
                {"name": "mesh", "state": {"running": {}}}]}});
        let pods = [Object::from(pod.as_object().cloned().unwrap())];
        let chosen = |wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(|it| (*it).to_owned()).collect();
            let sources = sources(&pods, &wanted);
            sources
                .iter()
                .map(|it| it.short().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(chosen(&[]), ["sidecar", "state-proxy-s"]);
        assert_eq!(chosen(&["sidecar", "mesh"]), ["sidecar", "mesh"]);
        assert_eq!(chosen(&["runtime"]), Vec::<String>::new());
    }
}
