//! Tenancy: what objects of a namespace may do with a ClusterProviderConfig.

use std::collections::BTreeMap;

use actor::provider_config::{
    ClusterProviderConfigSpec, LabelExpression, LabelOperator, NamespaceSelector, SecretSelector,
};

/// Label that the API server sets on every namespace.
pub const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// A request that the config does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Forbidden {
    /// The namespace is not selected.
    #[error(
        "ClusterProviderConfig {config:?} does not serve namespace {namespace:?}: its \
         `allowedNamespaces` selects others"
    )]
    Namespace {
        /// The config.
        config: String,
        /// The object's namespace.
        namespace: String,
    },
    /// The queue name matches no template.
    #[error(
        "ClusterProviderConfig {config:?} does not allow the queue name {name:?} in namespace \
         {namespace:?}: names must match one of {templates:?}"
    )]
    Name {
        /// The config.
        config: String,
        /// The object's namespace.
        namespace: String,
        /// The queue's name.
        name: String,
        /// What it must match.
        templates: Vec<String>,
    },
    /// A namespaced config names a Secret elsewhere.
    #[error(
        "ProviderConfig {config:?} names Secret {secret:?} of namespace {namespace:?}, but a ProviderConfig \
         reads Secrets of its own namespace only"
    )]
    Secret {
        /// The config.
        config: String,
        /// The Secret.
        secret: String,
        /// Namespace of the Secret.
        namespace: String,
    },
}

/// Whether [`check`] needs the labels of the namespace.
pub fn needs_labels(spec: &ClusterProviderConfigSpec) -> bool {
    let Some(selector) = &spec.allowed_namespaces else {
        return false;
    };
    let expressions = selector
        .match_expressions
        .iter()
        .map(|expression| &expression.key);
    selector
        .match_labels
        .keys()
        .chain(expressions)
        .any(|key| key != NAMESPACE_NAME)
}

/// Checks that objects of `namespace` may use the config for a queue called `queue`.
///
/// `labels` are those of the namespace, where [`needs_labels`] says so.
///
/// # Errors
/// What the config does not allow.
pub fn check(
    config: &str,
    spec: &ClusterProviderConfigSpec,
    namespace: &str,
    labels: &BTreeMap<String, String>,
    queue: &str,
) -> Result<(), Forbidden> {
    let mut labels = labels.clone();
    labels.insert(NAMESPACE_NAME.to_owned(), namespace.to_owned());
    if spec
        .allowed_namespaces
        .as_ref()
        .is_some_and(|selector| !selects(selector, &labels))
    {
        return Err(Forbidden::Namespace {
            config: config.to_owned(),
            namespace: namespace.to_owned(),
        });
    }
    let matches = |template: &String| is_match(&template.replace("{namespace}", namespace), queue);
    if spec.queue_names.is_empty() || spec.queue_names.iter().any(matches) {
        return Ok(());
    }
    Err(Forbidden::Name {
        config: config.to_owned(),
        namespace: namespace.to_owned(),
        name: queue.to_owned(),
        templates: spec.queue_names.clone(),
    })
}

/// Namespace of a Secret that a namespaced config names.
///
/// # Errors
/// It names a Secret of another namespace.
pub fn own_secret<'a>(
    config: &str,
    own_namespace: &'a str,
    secret: &SecretSelector,
) -> Result<&'a str, Forbidden> {
    match secret.namespace.as_deref() {
        None => Ok(own_namespace),
        Some(namespace) if namespace == own_namespace => Ok(own_namespace),
        Some(namespace) => Err(Forbidden::Secret {
            config: config.to_owned(),
            secret: secret.name.clone(),
            namespace: namespace.to_owned(),
        }),
    }
}

fn selects(selector: &NamespaceSelector, labels: &BTreeMap<String, String>) -> bool {
    selector
        .match_labels
        .iter()
        .all(|(key, value)| labels.get(key) == Some(value))
        && selector
            .match_expressions
            .iter()
            .all(|expression| holds(expression, labels))
}

fn holds(expression: &LabelExpression, labels: &BTreeMap<String, String>) -> bool {
    let value = labels.get(&expression.key);
    let is_listed = value.is_some_and(|value| expression.values.contains(value));
    match expression.operator {
        LabelOperator::In => is_listed,
        LabelOperator::NotIn => !is_listed,
        LabelOperator::Exists => value.is_some(),
        LabelOperator::DoesNotExist => value.is_none(),
    }
}

/// Whether `text` matches `template`, in which `*` matches any text.
fn is_match(template: &str, text: &str) -> bool {
    let Some((start, rest)) = template.split_once('*') else {
        return template == text;
    };
    let Some(mut text) = text.strip_prefix(start) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    // The first match of each part leaves the longest rest to the next ones.
    for part in parts {
        match text.find(part) {
            Some(at) => text = &text[at + part.len()..],
            None => return false,
        }
    }
    text.ends_with(end)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config(value: serde_json::Value) -> ClusterProviderConfigSpec {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn names_match_templates_of_their_namespace() {
        let cases = [
            ("asya-{namespace}-*", "asya-shop-cart", true),
            ("asya-{namespace}-*", "asya-shop-", true),
            ("asya-{namespace}-*", "asya-bank-cart", false),
            ("asya-{namespace}", "asya-shop", true),
            ("asya-{namespace}", "asya-shop-cart", false),
            ("*-{namespace}-*-q", "a-shop-b-c-q", true),
            ("*-{namespace}-*-q", "a-shop-q", false),
            ("*", "anything", true),
            ("ab*ba", "aba", false),
        ];
        for (template, name, expected) in cases {
            let spec = config(json!({"queueNames": ["never", template]}));
            let found = check("main", &spec, "shop", &BTreeMap::new(), name).is_ok();
            assert_eq!(found, expected, "{name:?} by {template:?}");
        }
    }

    #[test]
    fn namespaces_are_selected_by_labels() {
        let labels = BTreeMap::from([("team".to_owned(), "red".to_owned())]);
        let cases = [
            ("no selector", json!({}), true, false),
            (
                "an empty one",
                json!({"allowedNamespaces": {}}),
                true,
                false,
            ),
            (
                "a label",
                json!({"allowedNamespaces": {"matchLabels": {"team": "red"}}}),
                true,
                true,
            ),
            (
                "another",
                json!({"allowedNamespaces": {"matchLabels": {"team": "blue"}}}),
                false,
                true,
            ),
            (
                "its name",
                json!({"allowedNamespaces": {"matchExpressions": [
                    {"key": NAMESPACE_NAME, "operator": "In", "values": ["shop", "bank"]}]}}),
                true,
                false,
            ),
            (
                "not its name",
                json!({"allowedNamespaces": {"matchExpressions": [
                    {"key": NAMESPACE_NAME, "operator": "NotIn", "values": ["shop"]}]}}),
                false,
                false,
            ),
            (
                "two conditions",
                json!({"allowedNamespaces": {"matchExpressions": [
                    {"key": "team", "operator": "Exists"},
                    {"key": "frozen", "operator": "DoesNotExist"}]}}),
                true,
                true,
            ),
        ];
        for (reason, spec, expected, needs) in cases {
            let spec = config(spec);
            assert_eq!(
                check("main", &spec, "shop", &labels, "q").is_ok(),
                expected,
                "{reason}"
            );
            assert_eq!(needs_labels(&spec), needs, "{reason}");
        }
    }

    #[test]
    fn a_refusal_contains_the_allowed_templates() {
        let spec = config(json!({"queueNames": ["asya-{namespace}-*"]}));
        let error = check("main", &spec, "shop", &BTreeMap::new(), "theirs").unwrap_err();
        assert_eq!(
            error.to_string(),
            "ClusterProviderConfig \"main\" does not allow the queue name \"theirs\" in namespace \
             \"shop\": names must match one of [\"asya-{namespace}-*\"]"
        );
    }

    #[test]
    fn a_namespaced_config_reads_its_own_secrets() {
        let secret = |namespace: Option<&str>| SecretSelector {
            namespace: namespace.map(str::to_owned),
            name: "keys".to_owned(),
        };
        assert_eq!(own_secret("mine", "shop", &secret(None)), Ok("shop"));
        assert_eq!(
            own_secret("mine", "shop", &secret(Some("shop"))),
            Ok("shop")
        );
        assert!(own_secret("mine", "shop", &secret(Some("bank"))).is_err());
    }
}
