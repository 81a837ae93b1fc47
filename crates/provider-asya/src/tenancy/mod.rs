//! Tenancy: what objects of a namespace may do with a ClusterProviderConfig.

#![allow(
    clippy::result_large_err,
    reason = "a refusal is rare and holds everything that its message names"
)]

use std::collections::{BTreeMap, BTreeSet};

use actor::provider_config::{
    ClusterProviderConfigSpec, LabelExpression, LabelOperator, NamespaceSelector, SecretSelector,
};
use actor::queue::ForProvider;

use crate::transport::sqs::attributes::dead_letter_name;
use crate::wildcard::is_match;

/// Label that the API server sets on every namespace.
pub const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// Ending of the names of dead-letter exchanges.
const DEAD_LETTER_SUFFIX: &str = "-dlx";
/// Default of `allowedVhosts`.
const DEFAULT_VHOSTS: [&str; 1] = ["/"];
/// Default of `allowedExchanges`: the exchange of one namespace.
const NAMESPACE_EXCHANGE: &str = "asya-{namespace}";
/// Default of `allowedExchanges`: the exchange of all namespaces.
const SHARED_EXCHANGE: &str = "asya";
/// Placeholder for the namespace in a template.
const NAMESPACE: &str = "{namespace}";

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
    /// A name belongs to another namespace.
    #[error(
        "ClusterProviderConfig {config:?} does not allow {what} {name:?} in namespace {namespace:?}: it belongs to \
         namespace {other:?}, whose longer name it also matches; choose another name"
    )]
    OtherNamespace {
        /// The config.
        config: String,
        /// The object's namespace.
        namespace: String,
        /// Kind of the name.
        what: &'static str,
        /// The name.
        name: String,
        /// The longest namespace that the name matches.
        other: String,
    },
    /// A virtual host, exchange or region that is not allowed.
    #[error(
        "ClusterProviderConfig {config:?} does not allow {what} {value:?} in namespace {namespace:?}: it allows \
         {allowed:?}, see its `{field}`"
    )]
    Place {
        /// The config.
        config: String,
        /// The object's namespace.
        namespace: String,
        /// Kind of the value.
        what: &'static str,
        /// The value.
        value: String,
        /// Allowed values, with the namespace expanded.
        allowed: Vec<String>,
        /// Field of the config.
        field: &'static str,
    },
    /// An exchange with the name of a dead-letter exchange.
    #[error(
        "ClusterProviderConfig {config:?} does not allow exchange {exchange:?} in namespace {namespace:?}: names \
         that end with {DEAD_LETTER_SUFFIX:?} are dead-letter exchanges; choose another name"
    )]
    DeadLetterExchange {
        /// The config.
        config: String,
        /// The object's namespace.
        namespace: String,
        /// The exchange.
        exchange: String,
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
        /// Pattern.
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

/// Returns whether [`check`] needs the labels of the namespace.
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

/// Returns whether [`check`] needs the names of all namespaces: a name could also match for a namespace
/// with a longer name.
pub fn needs_namespaces(
    spec: &ClusterProviderConfigSpec,
    namespace: &str,
    queue: &str,
    settings: &ForProvider,
) -> bool {
    let queues = &spec.queue_names;
    let mut derived = derived_names(queue, settings);
    could_belong_to_other(queues, namespace, queue)
        || derived.any(|name| could_belong_to_other(queues, namespace, &name))
        || settings.rabbitmq.as_ref().is_some_and(|rabbitmq| {
            could_belong_to_other(&spec.allowed_vhosts, namespace, &rabbitmq.vhost)
        })
        || exchange_needs_namespaces(spec, namespace, settings)
        || settings
            .sqs
            .as_ref()
            .is_some_and(|sqs| could_belong_to_other(&spec.regions, namespace, &sqs.region))
}

/// Returns whether [`check_exchange`] needs the names of all namespaces.
pub fn exchange_needs_namespaces(
    spec: &ClusterProviderConfigSpec,
    namespace: &str,
    settings: &ForProvider,
) -> bool {
    settings.rabbitmq.as_ref().is_some_and(|rabbitmq| {
        let exchanges = or_default(&spec.allowed_exchanges, default_exchanges(spec));
        could_belong_to_other(&exchanges, namespace, &rabbitmq.exchange)
    })
}

/// Returns whether a name could match one of the templates for a longer namespace, whichever template matches for
/// the own one.
fn could_belong_to_other(templates: &[String], namespace: &str, name: &str) -> bool {
    templates.iter().any(|template| {
        let Some((before, _)) = template.split_once(NAMESPACE) else {
            return false;
        };
        if before.contains('*') {
            // The namespace may begin anywhere.
            return has_longer_label(name, namespace.len());
        }
        let start = before.len();
        let ends = start + namespace.len() + 1..=name.len().min(start + LABEL_MAX);
        let mut longer = ends.filter_map(|end| name.get(start..end));
        longer
            .any(|longer| is_label(longer) && is_match(&template.replace(NAMESPACE, longer), name))
    })
}

/// Returns whether a part of a name is a namespace's name that is longer than `length`.
fn has_longer_label(name: &str, length: usize) -> bool {
    let runs = name.split(|letter: char| !is_in_label(letter));
    runs.map(|run| run.trim_matches('-'))
        .any(|run| run.len() > length)
}

/// Longest name of a namespace.
const LABEL_MAX: usize = 63;

fn is_in_label(letter: char) -> bool {
    letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-'
}

/// Returns whether a text can be the name of a namespace: a DNS label.
fn is_label(text: &str) -> bool {
    let ends_well = !text.starts_with('-') && !text.ends_with('-');
    ends_well && (1..=LABEL_MAX).contains(&text.len()) && text.chars().all(is_in_label)
}

/// Names of the queues that belong to a queue.
fn derived_names<'a>(
    queue: &'a str,
    settings: &'a ForProvider,
) -> impl Iterator<Item = String> + use<'a> {
    let rabbitmq = settings.rabbitmq.as_ref();
    let dead_letters = rabbitmq
        .filter(|rabbitmq| rabbitmq.dead_letter.enabled)
        .map(|_| format!("{queue}-dlq"));
    let delays = rabbitmq
        .into_iter()
        .flat_map(|rabbitmq| &rabbitmq.retry_delays_seconds);
    let retries = delays.map(move |delay| format!("{queue}-retry-{delay}"));
    let sqs = settings.sqs.as_ref();
    let of_sqs = sqs
        .filter(|sqs| sqs.dead_letter.enabled)
        .map(|_| dead_letter_name(queue));
    dead_letters.into_iter().chain(retries).chain(of_sqs)
}

/// Checks that objects of `namespace` may use the config for a queue called `queue` with these settings.
///
/// The names of the queues that belong to it, such as its dead-letter queue, are checked too. `labels` are
/// those of the namespace, if [`needs_labels`]; `namespaces` are all of them, if [`needs_namespaces`].
///
/// # Errors
/// The error for a value that the config does not allow.
pub fn check(
    config: &str,
    spec: &ClusterProviderConfigSpec,
    namespace: &str,
    labels: &BTreeMap<String, String>,
    namespaces: &BTreeSet<String>,
    queue: &str,
    settings: &ForProvider,
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
    check_name(config, spec, namespace, namespaces, queue)?;
    for name in derived_names(queue, settings) {
        let other = other_owner(&spec.queue_names, namespace, namespaces, &name);
        let what = "a queue whose dead-letter or retry queue has the name";
        check_other(config, namespace, what, &name, other)?;
    }
    let place = |what, field, value: &str, templates: Vec<String>| {
        let allowed: Vec<String> = templates
            .iter()
            .map(|template| template.replace(NAMESPACE, namespace))
            .collect();
        if allowed.iter().any(|template| is_match(template, value)) {
            let other = other_owner(&templates, namespace, namespaces, value);
            return check_other(config, namespace, what, value, other);
        }
        Err(Forbidden::Place {
            config: config.to_owned(),
            namespace: namespace.to_owned(),
            what,
            value: value.to_owned(),
            allowed,
            field,
        })
    };
    if let Some(rabbitmq) = &settings.rabbitmq {
        let vhosts = or_default(&spec.allowed_vhosts, &DEFAULT_VHOSTS);
        place("virtual host", "allowedVhosts", &rabbitmq.vhost, vhosts)?;
        if rabbitmq.exchange.ends_with(DEAD_LETTER_SUFFIX) {
            return Err(Forbidden::DeadLetterExchange {
                config: config.to_owned(),
                namespace: namespace.to_owned(),
                exchange: rabbitmq.exchange.clone(),
            });
        }
        let exchanges = or_default(&spec.allowed_exchanges, default_exchanges(spec));
        place(
            "exchange",
            "allowedExchanges",
            &rabbitmq.exchange,
            exchanges,
        )?;
    }
    if let Some(sqs) = &settings.sqs {
        let connection = spec.connection.sqs.as_ref();
        let has_endpoint = connection.is_some_and(|connection| connection.endpoint.is_some());
        if !(spec.regions.is_empty() && has_endpoint) {
            place("region", "regions", &sqs.region, spec.regions.clone())?;
        }
    }
    Ok(())
}

/// Checks that the exchange of an existing queue belongs to no longer namespace. It is the only name that can change
/// once a queue exists.
///
/// # Errors
/// It belongs to another one.
pub fn check_exchange(
    config: &str,
    spec: &ClusterProviderConfigSpec,
    namespace: &str,
    namespaces: &BTreeSet<String>,
    settings: &ForProvider,
) -> Result<(), Forbidden> {
    let Some(rabbitmq) = &settings.rabbitmq else {
        return Ok(());
    };
    let exchanges = or_default(&spec.allowed_exchanges, default_exchanges(spec));
    let other = other_owner(&exchanges, namespace, namespaces, &rabbitmq.exchange);
    check_other(config, namespace, "exchange", &rabbitmq.exchange, other)
}

fn or_default(given: &[String], default: &[&str]) -> Vec<String> {
    if given.is_empty() {
        default.iter().map(|value| (*value).to_owned()).collect()
    } else {
        given.to_vec()
    }
}

/// Exchanges that are allowed unless the config names some. The shared one delivers a message to every
/// namespace's actor of that name, so it is not for configs whose queues are separated by namespace.
fn default_exchanges(spec: &ClusterProviderConfigSpec) -> &'static [&'static str] {
    let mut templates = spec.queue_names.iter();
    let is_separated =
        !spec.queue_names.is_empty() && templates.all(|template| template.contains(NAMESPACE));
    if is_separated {
        &[NAMESPACE_EXCHANGE]
    } else {
        &[NAMESPACE_EXCHANGE, SHARED_EXCHANGE]
    }
}

/// Checks a queue name.
fn check_name(
    config: &str,
    spec: &ClusterProviderConfigSpec,
    namespace: &str,
    namespaces: &BTreeSet<String>,
    queue: &str,
) -> Result<(), Forbidden> {
    let templates = &spec.queue_names;
    if templates.is_empty() {
        return Ok(());
    }
    if !matches_any(templates, namespace, queue) {
        return Err(Forbidden::Name {
            config: config.to_owned(),
            namespace: namespace.to_owned(),
            name: queue.to_owned(),
            templates: templates.clone(),
        });
    }
    let other = other_owner(templates, namespace, namespaces, queue);
    check_other(config, namespace, "the queue name", queue, other)
}

fn matches_any(templates: &[String], namespace: &str, name: &str) -> bool {
    let mut templates = templates.iter();
    templates.any(|template| is_match(&template.replace(NAMESPACE, namespace), name))
}

/// The other namespace to which a name belongs: if it matches the templates of several namespaces, the
/// longest one owns it. A template without the namespace allows the name to everybody.
fn other_owner<'a>(
    templates: &[String],
    namespace: &str,
    namespaces: &'a BTreeSet<String>,
    name: &str,
) -> Option<&'a String> {
    let mut shared = templates
        .iter()
        .filter(|template| !template.contains(NAMESPACE));
    if shared.any(|template| is_match(template, name)) {
        return None;
    }
    namespaces
        .iter()
        .filter(|other| other.len() > namespace.len())
        .filter(|other| matches_any(templates, other, name))
        .max_by_key(|other| other.len())
}

fn check_other(
    config: &str,
    namespace: &str,
    what: &'static str,
    name: &str,
    other: Option<&String>,
) -> Result<(), Forbidden> {
    other.map_or(Ok(()), |other| {
        Err(Forbidden::OtherNamespace {
            config: config.to_owned(),
            namespace: namespace.to_owned(),
            what,
            name: name.to_owned(),
            other: other.clone(),
        })
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

#[cfg(test)]
mod tests;
