//! Security contexts of the containers that this step adds.

use actor::spec::Spec;
use serde_json::{Map, Value, json};

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
/// `runAsNonRoot` is set for our own program and where the actor demands it of its own container: a
/// foreign image that runs as root would not start with it. No user id is set.
pub(crate) fn context(
    program: Program,
    spec: &Spec,
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
    }
    let of_runtime = spec.container_security_context.as_ref();
    let is_demanded =
        of_runtime.is_some_and(|context| context.get("runAsNonRoot") == Some(&json!(true)));
    if program == Program::Ours || is_demanded {
        context.insert("runAsNonRoot".to_owned(), json!(true));
    }
    for given in given.into_iter().flatten() {
        context.extend(given.clone());
    }
    Value::Object(context)
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
    fn foreign_images_run_as_non_root_only_on_demand() {
        let spec = |context| Spec::parse(json!({"containerSecurityContext": context})).unwrap();
        let cases = [
            (json!({}), None, "nothing is demanded"),
            (
                json!({"runAsNonRoot": true}),
                Some(true),
                "the actor demands it",
            ),
        ];
        for (of_runtime, expected, reason) in cases {
            let context = context(Program::Foreign, &spec(of_runtime), [None, None]);
            assert_eq!(context["runAsNonRoot"].as_bool(), expected, "{reason}");
            assert_eq!(context.get("readOnlyRootFilesystem"), None, "{reason}");
        }
    }
}
