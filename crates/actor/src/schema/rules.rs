//! Rules that the API server checks, in CEL.
//!
//! They see one actor's own fields, before the merge; the steps check the rest. The
//! texts are those of the steps, so that a mistake reads the same wherever it is
//! found. There is no rule of uniqueness: over two lists it would cost more than
//! the API server allows.

use schemars::Schema;
use serde_json::{Value, json};

use crate::names::HANDLER_VARIABLE;
use crate::names::{
    LABEL_MAX, RUNTIME_CONTAINER, SIDECAR_CONTAINER, STATE_PROXY_PREFIX, STATEFUL_SET_MAX,
};
use crate::pod::{RESERVED_PREFIX, RESERVED_VARIABLES};
use crate::spec::{ALIASES, AliasError, BINDING_FIELDS, EXCLUSIVE, FormError, INLINE_POD_FIELDS};

/// Kubernetes' key for the rules of a value.
pub(super) const VALIDATIONS: &str = "x-kubernetes-validations";
/// The actor's name where both are at hand: the object and its spec.
const EFFECTIVE_NAME: &str = "(has(self.spec.actor) ? self.spec.actor : self.metadata.name)";

fn rule(rule: &str, message: &str) -> Value {
    json!({"rule": rule, "message": message})
}

/// A rule whose message quotes what it refuses. `message` is shown where the
/// expression fails.
///
/// An expression may join texts that have a greatest length, and nothing else:
/// the API server takes `string()` of a number for endlessly long, and refuses it.
fn quoting_rule(rule: &str, message: &str, expression: &str) -> Value {
    json!({"rule": rule, "message": message, "messageExpression": expression})
}

/// Rules of the whole object.
///
/// The name of a legacy XR is longer than its claim's, after which the actor is
/// called. So there only a name that the spec gives is judged by its length; and
/// where the spec gave none, none can be added, not even the claim's own.
pub(super) fn of_object(legacy: bool) -> Vec<Value> {
    let old_name = EFFECTIVE_NAME.replace("self", "oldSelf");
    let judged_name = if legacy {
        "(has(self.spec.actor) ? self.spec.actor : '')"
    } else {
        EFFECTIVE_NAME
    };
    vec![
        rule(
            &format!("{EFFECTIVE_NAME} == {old_name}"),
            "spec.actor cannot change, for the queue is named after it: make a new AsyncActor",
        ),
        rule(
            "has(self.spec.actor) || !self.metadata.name.contains('.')",
            "an object name with a dot is not an actor name: set spec.actor",
        ),
        rule(
            &format!(
                "!has(self.spec.workload) || !has(self.spec.workload.kind) || \
                 self.spec.workload.kind != 'StatefulSet' || \
                 size({judged_name}) <= {STATEFUL_SET_MAX}"
            ),
            &format!(
                "the actor's name is too long, a StatefulSet allows {STATEFUL_SET_MAX} characters: \
                 its pods carry the name with a revision in a label of at most {LABEL_MAX}"
            ),
        ),
    ]
}

/// Adds the rules of the three forms of an actor.
pub(crate) fn of_spec(schema: &mut Schema) {
    let mut rules = vec![rule(
        "!has(self.workload) || !has(self.workloadRef)",
        &FormError::Both.to_string(),
    )];
    for field in BINDING_FIELDS {
        rules.push(rule(
            &format!("!has(self.{field}) || has(self.workloadRef)"),
            &FormError::BindsNothing { field }.to_string(),
        ));
    }
    for (form, allowed) in EXCLUSIVE {
        let refused = INLINE_POD_FIELDS
            .into_iter()
            .filter(|field| Some(*field) != allowed);
        rules.extend(refused.map(|field| {
            rule(
                &format!("!has(self.{field}) || !has(self.{form})"),
                &FormError::Beside { field, form }.to_string(),
            )
        }));
    }
    schema.insert(VALIDATIONS.to_owned(), Value::Array(rules));
}

/// `spec.workload`: its pods run the handler.
pub(crate) fn of_workload(schema: &mut Schema) {
    let rules = [rule(
        &format!(
            "has(self.template) && has(self.template.spec) && has(self.template.spec.containers) && \
             self.template.spec.containers.exists_one(c, c.name == '{RUNTIME_CONTAINER}')"
        ),
        &format!(
            "spec.workload.template must have exactly one container {RUNTIME_CONTAINER:?}, which runs the handler"
        ),
    )];
    schema.insert(VALIDATIONS.to_owned(), json!(rules));
}

/// `spec.scaling`: its two spellings, and what holds between its numbers.
pub(crate) fn of_scaling(schema: &mut Schema) {
    let mut rules = Vec::new();
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        for (alias, field) in ALIASES {
            let mut spelling = fields.get(field).cloned().unwrap_or_default();
            spelling["description"] = json!(format!("Alias of `{field}`."));
            fields.insert(alias.to_owned(), spelling);
            rules.push(rule(
                &format!("!has(self.{alias}) || !has(self.{field})"),
                &format!("{}: {}", AliasError { alias, field }, AliasError::HELP),
            ));
        }
    }
    rules.push(rule(
        "!(has(self.maxReplicaCount) || has(self.maxReplicas)) || \
         (has(self.minReplicaCount) ? self.minReplicaCount : has(self.minReplicas) ? self.minReplicas : 0) <= \
         (has(self.maxReplicaCount) ? self.maxReplicaCount : self.maxReplicas)",
        "scaling.minReplicaCount is above scaling.maxReplicaCount: lower the one or raise the other",
    ));
    schema.insert(VALIDATIONS.to_owned(), Value::Array(rules));
}

/// A container of a pod template.
pub(super) fn of_container() -> Vec<Value> {
    vec![
        reserved_names("container", &[SIDECAR_CONTAINER]),
        rule(
            &format!("self.name != '{RUNTIME_CONTAINER}' || !has(self.command)"),
            &format!(
                "container {RUNTIME_CONTAINER:?} must not set 'command', which starts the runtime script: \
                 use 'pythonExecutable' and 'args'"
            ),
        ),
    ]
}

/// An init container, wherever it is written.
pub(super) fn of_init_container() -> Vec<Value> {
    let names = [RUNTIME_CONTAINER, SIDECAR_CONTAINER];
    vec![reserved_names("init container", &names)]
}

fn reserved_names(what: &str, names: &[&str]) -> Value {
    let problem = format!(
        "has a reserved name: {RUNTIME_CONTAINER:?}, {SIDECAR_CONTAINER:?} and names that begin \
         with {STATE_PROXY_PREFIX:?} are Asya's"
    );
    quoting_rule(
        &format!(
            "!(self.name in {}) && !self.name.startsWith('{STATE_PROXY_PREFIX}')",
            list(names)
        ),
        &format!("{what} {problem}"),
        &format!(
            "'{what} \"' + self.name + '\" {}'",
            problem.replace('\'', "\\'")
        ),
    )
}

/// A variable of `spec.env`.
pub(super) fn of_variable() -> Vec<Value> {
    let problem = "is set by Asya itself: remove it";
    vec![
        rule(
            &format!("self.name != '{HANDLER_VARIABLE}'"),
            &format!(
                "environment variable {HANDLER_VARIABLE:?} is set by Asya itself: write it in 'handler'"
            ),
        ),
        quoting_rule(
            &format!(
                "self.name == '{HANDLER_VARIABLE}' || \
                 !(self.name in {}) && !self.name.startsWith('{RESERVED_PREFIX}')",
                list(&RESERVED_VARIABLES)
            ),
            &format!("environment variable {problem}"),
            &format!("'environment variable \"' + self.name + '\" {problem}'"),
        ),
    ]
}

/// A Go duration.
pub(super) fn of_duration() -> Value {
    let problem = r#"is not a duration such as "90s", "5m" or "1h30m""#;
    quoting_rule(
        r"self.matches('^[+]?(0|(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|ms|s|m|h))+)$')",
        problem,
        &format!(r#"'"' + self + '" {problem}'"#),
    )
}

/// `spec.runtime.targetURL`: what can be seen without knowing the strategy. An empty text is not set.
pub(super) fn of_target_url() -> Value {
    rule(
        "self == '' || self.matches('^[Hh][Tt][Tt][Pp][Ss]?://[^/?#:]')",
        "must begin with http:// or https:// and name a host, such as http://phi-3:80",
    )
}

/// Names as a list of CEL.
fn list(names: &[&str]) -> String {
    format!("['{}']", names.join("', '"))
}
