//! Rules and defaults of the provider's kinds: what the API server itself refuses.

use serde_json::{Value, json};

/// A queue's messages would stay behind if it moved, so its identity never changes.
/// The rules stand at the parents, since a rule on an optional field is not asked
/// when the field comes or goes.
pub(super) fn of_queue(spec: &mut Value) {
    let properties = &mut spec["properties"];
    properties["providerConfigRef"]["x-kubernetes-validations"] =
        json!([never_changes("self == oldSelf", "providerConfigRef")]);
    let for_provider = &mut properties["forProvider"];
    for_provider["x-kubernetes-validations"] = json!([
        {
            "rule": "has(self.rabbitmq) != has(self.sqs)",
            "message": "exactly one of 'rabbitmq' and 'sqs' must be set",
        },
        never_changes("has(self.sqs) == has(oldSelf.sqs)", "the transport"),
    ]);
    for (field, default) in [("adopt", json!(false)), ("deleteOnlyIfEmpty", json!(false))] {
        for_provider["properties"][field]["default"] = default;
    }
    of_rabbitmq(&mut for_provider["properties"]["rabbitmq"]);
    of_sqs(&mut for_provider["properties"]["sqs"]);
}

fn of_rabbitmq(queue: &mut Value) {
    queue["x-kubernetes-validations"] = json!([
        never_changes("self.host == oldSelf.host", "host"),
        never_changes("self.vhost == oldSelf.vhost", "vhost"),
        never_changes("self.queueType == oldSelf.queueType", "queueType"),
    ]);
    queue["required"] = json!(["host"]);
    let defaults = [
        ("vhost", json!("/")),
        ("exchange", json!("asya")),
        ("routingKeys", json!([])),
        ("queueType", json!("quorum")),
        ("deadLetter", json!({})),
    ];
    for (field, default) in defaults {
        queue["properties"][field]["default"] = default;
    }
    of_dead_letter(&mut queue["properties"]["deadLetter"], 20);
}

fn of_sqs(queue: &mut Value) {
    let same = |field: &str| {
        format!(
            "has(self.{field}) == has(oldSelf.{field}) && \
             (!has(self.{field}) || self.{field} == oldSelf.{field})"
        )
    };
    queue["x-kubernetes-validations"] = json!([
        never_changes("self.region == oldSelf.region", "region"),
        never_changes(&same("accountId"), "accountId"),
        never_changes(&same("endpoint"), "endpoint"),
    ]);
    queue["required"] = json!(["region"]);
    let defaults = [
        ("visibilityTimeoutSeconds", json!(600)),
        ("messageRetentionSeconds", json!(345_600)),
        ("receiveWaitTimeSeconds", json!(20)),
        ("deadLetter", json!({})),
    ];
    for (field, default) in defaults {
        queue["properties"][field]["default"] = default;
    }
    of_dead_letter(&mut queue["properties"]["deadLetter"], 3);
}

fn of_dead_letter(dead_letter: &mut Value, max_receive_count: u32) {
    dead_letter["properties"]["enabled"]["default"] = json!(false);
    dead_letter["properties"]["maxReceiveCount"]["default"] = json!(max_receive_count);
    if let Some(node) = dead_letter.as_object_mut() {
        node.remove("required");
    }
}

/// A binding adds to another owner's pods, and changes nothing of theirs.
pub(super) fn of_binding(spec: &mut Value) {
    let for_provider = &mut spec["properties"]["forProvider"];
    for_provider["x-kubernetes-validations"] = json!([
        {
            "rule": "(self.strategy == 'Inject') == has(self.template)",
            "message": "'template' must be set with the strategy 'Inject', and only then",
        },
        {
            "rule": "self.actor == oldSelf.actor",
            "message": "the actor of a binding cannot change, since what is added to the target \
                        carries its name: delete this object and create another",
        },
    ]);
}

fn never_changes(rule: &str, what: &str) -> Value {
    let message = format!(
        "{what} of a queue cannot change, since its messages would stay behind: drain the queue, \
         delete this object and create another"
    );
    json!({"rule": rule, "message": message})
}

/// Rules for both kinds of config.
pub(super) fn of_config(spec: &mut Value) {
    spec["x-kubernetes-validations"] = json!([{
        "rule": "has(self.rabbitmq) != has(self.sqs)",
        "message": "exactly one of 'rabbitmq' and 'sqs' must be set",
    }]);
    let properties = &mut spec["properties"];
    if properties["allowAdopt"].is_object() {
        properties["allowAdopt"]["default"] = json!(false);
    }
    // The API server's own reader of durations; without the guard it would fail
    // with words about its insides.
    let duration = r"self.matches('^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$')";
    properties["countersInterval"]["x-kubernetes-validations"] = json!([{
        "rule": duration,
        "message": "must be a duration such as '60s', '5m' or, to leave counters alone, '0s'",
    }]);
    properties["rabbitmq"]["properties"]["policyPriority"]["default"] = json!(0);
    let credentials = &mut properties["sqs"]["properties"]["credentials"];
    credentials["default"] = json!({"source": "InjectedIdentity"});
    credentials["properties"]["source"]["default"] = json!("InjectedIdentity");
    credentials["x-kubernetes-validations"] = json!([{
        "rule": "(self.source == 'Secret') == has(self.secretRef)",
        "message": "'secretRef' must be set with the source 'Secret', and only then",
    }]);
}

/// A namespaced config that read Secrets elsewhere would lend its writer the
/// provider's rights.
pub(super) fn own_secrets_only(spec: &mut Value) {
    let rule = json!([{
        "rule": "!has(self.__namespace__)",
        "message": "a ProviderConfig reads Secrets of its own namespace: leave 'namespace' out",
    }]);
    let connections = &mut spec["properties"];
    let credentials = [
        "/rabbitmq/properties/credentials/properties/usernameSecretRef",
        "/rabbitmq/properties/credentials/properties/passwordSecretRef",
        "/rabbitmq/properties/tls/properties/caSecretRef",
        "/sqs/properties/credentials/properties/secretRef",
    ];
    for reference in credentials {
        if let Some(reference) = connections.pointer_mut(reference) {
            reference["x-kubernetes-validations"] = rule.clone();
        }
    }
    let sqs = &mut connections["sqs"];
    if let Some(credentials) = sqs["properties"]["credentials"].as_object_mut() {
        credentials.remove("default");
    }
    sqs["x-kubernetes-validations"] = json!([{
        "rule": "has(self.credentials) && self.credentials.source == 'Secret'",
        "message": OWN_IDENTITY,
    }]);
}

/// Message for a namespaced config that uses the provider's own identity: it has no limits, so
/// anyone who may write one would be the provider on every queue of the account.
const OWN_IDENTITY: &str = "a ProviderConfig uses keys of its own namespace: set 'source: Secret' \
                            with 'secretRef', or use a ClusterProviderConfig, which alone may \
                            lend the provider's own identity";
