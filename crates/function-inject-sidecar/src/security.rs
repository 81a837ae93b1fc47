//! Security contexts of the containers that this step adds.

use actor::spec::{Spec, Workload};
use serde_json::{Map, Value, json};

/// User id of our images.
const OUR_USER: u32 = 2000;

/// A container that this step adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    /// Our own, which runs as a user other than root and writes nowhere but to its volumes.
    Ours,
    /// Another owner's, of which neither is known.
    Foreign,
}

/// Returns a security context that Pod Security *restricted* accepts, with the keys of `given`, in
/// ascending priority, in place of its own.
///
/// `runAsNonRoot` is set for our own program and where `asya-runtime` demands it, in a template or
/// inline: a foreign image that runs as root would not start with it. A user id is set only for our own
/// program, in a pod that runs as root or that is of another owner and so may do.
///
/// Keys of `capabilities` are replaced one by one: who adds one still drops the others.
pub(crate) fn context(
    program: Program,
    spec: &Spec,
    is_foreign_pod: bool,
    given: [Option<&Map<String, Value>>; 2],
) -> Value {
    let mut context = Map::from_iter([
        ("allowPrivilegeEscalation".to_owned(), json!(false)),
        ("capabilities".to_owned(), json!({"drop": ["ALL"]})),
        (
            "seccompProfile".to_owned(),
            json!({"type": "RuntimeDefault"}),
        ),
    ]);
    if program == Program::Ours {
        context.insert("readOnlyRootFilesystem".to_owned(), json!(true));
        if is_foreign_pod || pod_runs_as_root(spec) {
            // The pod's user replaces the image's, and the kubelet refuses root with `runAsNonRoot`.
            context.insert("runAsUser".to_owned(), json!(OUR_USER));
        }
    }
    if program == Program::Ours || runtime_is_non_root(spec) {
        context.insert("runAsNonRoot".to_owned(), json!(true));
    }
    for (key, given) in given.into_iter().flatten().flatten() {
        match (key.as_str(), context.get_mut(key), given) {
            ("capabilities", Some(Value::Object(own)), Value::Object(given)) => {
                own.extend(given.clone());
            }
            _ => drop(context.insert(key.clone(), given.clone())),
        }
    }
    Value::Object(context)
}

/// Returns whether the pod sets user id 0 for all its containers.
fn pod_runs_as_root(spec: &Spec) -> bool {
    const FIELD: &str = "runAsUser";
    let template = spec.workload.as_ref().map(|workload| &workload.template);
    let of_template = template.and_then(|template| {
        let pod = template.get("spec")?;
        pod.get("securityContext")?.get(FIELD)
    });
    let inline = || spec.security_context.as_ref()?.get(FIELD);
    of_template.or_else(inline) == Some(&json!(0))
}

/// Returns whether `asya-runtime` is rendered with `runAsNonRoot: true`. The template's own value
/// wins over the inline one, which flavors may give beside a template.
fn runtime_is_non_root(spec: &Spec) -> bool {
    const FIELD: &str = "runAsNonRoot";
    let runtime = spec.workload.as_ref().and_then(Workload::runtime);
    let of_template = runtime.and_then(|runtime| runtime.get("securityContext")?.get(FIELD));
    let inline = || spec.container_security_context.as_ref()?.get(FIELD);
    let adapter = || spec.runtime.as_ref()?.security_context.as_ref()?.get(FIELD);
    of_template.or_else(adapter).or_else(inline) == Some(&json!(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_keys_replace_those_of_the_default() {
        let platform = json!({"runAsUser": 1, "readOnlyRootFilesystem": false});
        let actor = json!({"runAsUser": 2});
        let context = context(
            Program::Ours,
            &Spec::default(),
            false,
            [platform.as_object(), actor.as_object()],
        );
        assert_eq!(
            context,
            json!({
                "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
                "readOnlyRootFilesystem": false, "runAsNonRoot": true, "runAsUser": 2,
                "seccompProfile": {"type": "RuntimeDefault"},
            })
        );
    }

    #[test]
    fn our_program_has_its_own_user_in_a_pod_that_runs_as_root() {
        let template = json!({"spec": {"securityContext": {"runAsUser": 0}}});
        let cases = [
            (json!({}), None),
            (json!({"securityContext": {"runAsUser": 1000}}), None),
            (json!({"securityContext": {"runAsUser": 0}}), Some(2000)),
            (json!({"workload": {"template": template}}), Some(2000)),
        ];
        for (spec, expected) in cases {
            let parsed = Spec::parse(spec.clone()).unwrap();
            let context = context(Program::Ours, &parsed, false, [None, None]);
            assert_eq!(context["runAsUser"].as_u64(), expected, "{spec}");
            assert_eq!(context["runAsNonRoot"], true, "{spec}");
        }
        let in_foreign_pod = context(Program::Ours, &Spec::default(), true, [None, None]);
        assert_eq!(in_foreign_pod["runAsUser"], 2000);
    }

    #[test]
    fn who_adds_a_capability_still_drops_the_others() {
        let given = json!({"capabilities": {"add": ["NET_BIND_SERVICE"]}});
        let context = context(
            Program::Ours,
            &Spec::default(),
            false,
            [None, given.as_object()],
        );
        let expected = json!({"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]});
        assert_eq!(context["capabilities"], expected);
    }

    #[test]
    fn foreign_images_run_as_non_root_only_on_demand() {
        let template = |context| {
            let container = json!({"name": "asya-runtime", "securityContext": context});
            json!({"template": {"spec": {"containers": [container]}}})
        };
        let cases = [
            (json!({}), None, "nothing is demanded"),
            (
                json!({"containerSecurityContext": {"runAsNonRoot": true}}),
                Some(true),
                "the actor demands it",
            ),
            (
                json!({"workload": template(json!({"runAsNonRoot": true}))}),
                Some(true),
                "a template demands it",
            ),
            (
                json!({"containerSecurityContext": {"runAsNonRoot": true}, "workload": template(json!({}))}),
                Some(true),
                "a flavor demands it beside a template that is silent",
            ),
            (
                json!({"containerSecurityContext": {"runAsNonRoot": true}, "workload": template(json!({"runAsNonRoot": false}))}),
                None,
                "the template's own value wins",
            ),
        ];
        for (spec, expected, reason) in cases {
            let spec = Spec::parse(spec).unwrap();
            let context = context(Program::Foreign, &spec, false, [None, None]);
            assert_eq!(context["runAsNonRoot"].as_bool(), expected, "{reason}");
            assert_eq!(context.get("readOnlyRootFilesystem"), None, "{reason}");
        }
    }
}
