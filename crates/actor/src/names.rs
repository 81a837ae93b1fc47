//! Names: which are valid, and what the objects of an actor are called.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Longest DNS-1123 label, and so the longest actor name, in characters.
pub const LABEL_MAX: usize = 63;
/// Most characters of a label's value.
pub const LABEL_VALUE_MAX: usize = 63;
/// Longest name of an actor that runs as a StatefulSet: its pods carry
/// `<name>-<revision hash>` as a label value, which must fit [`LABEL_MAX`].
pub const STATEFUL_SET_MAX: usize = 52;
/// Longest DNS-1123 subdomain, and so the longest flavor name.
pub const SUBDOMAIN_MAX: usize = 253;
/// Shortest flavor name.
pub const FLAVOR_MIN: usize = 3;
/// Most flavors that one actor may name.
pub const FLAVORS_MAX: usize = 8;
/// Longest SQS queue name. Source: Amazon SQS Developer Guide, quotas.
pub const SQS_QUEUE_MAX: usize = 80;
/// Longest RabbitMQ queue name, in bytes. Source: AMQP 0-9-1, `shortstr`.
pub const RABBITMQ_QUEUE_MAX: usize = 255;
/// The EnvironmentConfig that holds the platform's settings, unless a step's
/// input names another.
pub const PLATFORM: &str = "asya-platform";
/// The container that runs the user's handler.
pub const RUNTIME_CONTAINER: &str = "asya-runtime";
/// Init container that copies the runtime files into the pod.
pub const RUNTIME_FILES_CONTAINER: &str = "asya-runtime-files";
/// The container that talks to the queue.
pub const SIDECAR_CONTAINER: &str = "asya-sidecar";
/// Prefix of the containers that keep state for a handler.
pub const STATE_PROXY_PREFIX: &str = "asya-state-proxy-";
/// The variable that names the handler.
pub const HANDLER_VARIABLE: &str = "ASYA_HANDLER";
/// Annotation by which Crossplane names the external resource.
pub const EXTERNAL_NAME: &str = "crossplane.io/external-name";

/// Reason for which a text is not a valid name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Not a DNS-1123 label.
    #[error(
        "{name:?} is not a valid name: use at most {LABEL_MAX} lower-case letters, digits and '-', starting and ending with a letter or digit"
    )]
    Label {
        /// The text.
        name: String,
    },
    /// Not a DNS-1123 subdomain.
    #[error(
        "{name:?} is not a valid object name: use at most {SUBDOMAIN_MAX} lower-case letters, digits, '-' and '.', starting and ending with a letter or digit"
    )]
    Subdomain {
        /// The text.
        name: String,
    },
    /// A flavor name of less than [`FLAVOR_MIN`] characters.
    #[error("flavor name {name:?} is too short: use at least {FLAVOR_MIN} characters")]
    TooShort {
        /// The text.
        name: String,
    },
}

/// The name of an actor, for example `text-processor`: a DNS-1123 label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ActorName(String);

/// The name of a flavor, for example `gpu-standard`: the name of an
/// EnvironmentConfig, of at least [`FLAVOR_MIN`] characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FlavorName(String);

impl FromStr for ActorName {
    type Err = NameError;
    fn from_str(name: &str) -> Result<Self, NameError> {
        if is_label(name) {
            Ok(Self(name.to_owned()))
        } else {
            Err(NameError::Label {
                name: name.to_owned(),
            })
        }
    }
}

impl FromStr for FlavorName {
    type Err = NameError;
    fn from_str(name: &str) -> Result<Self, NameError> {
        if name.chars().count() < FLAVOR_MIN {
            Err(NameError::TooShort {
                name: name.to_owned(),
            })
        } else if is_subdomain(name) {
            Ok(Self(name.to_owned()))
        } else {
            Err(NameError::Subdomain {
                name: name.to_owned(),
            })
        }
    }
}

macro_rules! text_type {
    ($name:ident) => {
        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(name: String) -> Result<Self, NameError> {
                name.parse()
            }
        }
        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }
    };
}
text_type!(ActorName);
text_type!(FlavorName);

impl ActorName {
    /// Name of the ServiceAccount that carries the actor's IAM role, and of the
    /// Adapter's Deployment in mode Binding.
    pub fn asya_prefixed(&self) -> String {
        format!("asya-{self}")
    }

    /// Name of the KEDA TriggerAuthentication.
    pub fn trigger_authentication(&self) -> String {
        format!("{self}-trigger-auth")
    }

    /// Name of the ConfigMap with the runtime script whose digest begins with `hash`.
    pub fn runtime_config_map(&self, hash: &str) -> String {
        format!("asya-runtime-{self}-{hash}")
    }
}

/// Returns whether `name` is a DNS-1123 label.
pub fn is_label(name: &str) -> bool {
    name.len() <= LABEL_MAX && is_label_of_any_length(name)
}

/// Returns whether `name` is a DNS-1123 subdomain, the form of most object names.
pub fn is_subdomain(name: &str) -> bool {
    name.len() <= SUBDOMAIN_MAX && name.split('.').all(is_label_of_any_length)
}

/// Returns whether `text` can be the value of a label and is not empty: Kubernetes also takes
/// an empty one.
pub fn is_label_value(text: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&c);
    let at_end = |c: char| c.is_ascii_alphanumeric();
    text.len() <= LABEL_VALUE_MAX
        && text.starts_with(at_end)
        && text.ends_with(at_end)
        && text.chars().all(inside)
}

fn is_label_of_any_length(name: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    bytes.first().is_some_and(|&b| alphanumeric(b))
        && bytes.last().is_some_and(|&b| alphanumeric(b))
        && bytes.iter().all(|&b| alphanumeric(b) || b == b'-')
}

/// Fills `{namespace}` and `{actor}` into a template of the platform's.
pub fn fill(template: &str, namespace: &str, actor: &ActorName) -> String {
    template
        .replace("{namespace}", namespace)
        .replace("{actor}", actor.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actor_names_are_dns_labels() {
        let long = "a".repeat(64);
        let cases = [
            ("text-processor", true, "the usual form"),
            ("a", true, "one character"),
            (&long[..63], true, "the longest"),
            (&long[..], false, "one too many"),
            ("", false, "empty"),
            ("a.b", false, "a dot"),
            ("-a", false, "starts with a dash"),
            ("a-", false, "ends with a dash"),
            ("Abc", false, "upper case"),
            ("a_b", false, "underscore"),
            ("ä", false, "not ASCII"),
        ];
        for (name, valid, reason) in cases {
            assert_eq!(
                name.parse::<ActorName>().is_ok(),
                valid,
                "{name:?}: {reason}"
            );
        }
    }

    #[test]
    fn flavor_names_are_object_names_of_three_characters_and_more() {
        let cases = [
            ("gpu", true, "the shortest"),
            ("gpu.v2", true, "dots are allowed in object names"),
            ("gp", false, "two characters"),
            ("gpu..v2", false, "an empty part"),
            ("GPU", false, "upper case"),
        ];
        for (name, valid, reason) in cases {
            assert_eq!(
                name.parse::<FlavorName>().is_ok(),
                valid,
                "{name:?}: {reason}"
            );
        }
    }

    #[test]
    fn only_valid_label_values_are_accepted() {
        let cases = [
            ("sqs", true, "the usual form"),
            ("Main_Broker.2", true, "everything that is allowed"),
            ("my broker", false, "a space"),
            ("-sqs", false, "starts with a dash"),
            ("sqs.", false, "ends with a dot"),
            ("", false, "empty"),
            (&"a".repeat(64), false, "one character too many"),
        ];
        for (text, valid, reason) in cases {
            assert_eq!(is_label_value(text), valid, "{text:?}: {reason}");
        }
    }

    #[test]
    fn templates_are_filled() {
        let actor = "b".parse().unwrap();
        assert_eq!(fill("asya-{actor}", "a", &actor), "asya-b");
        assert_eq!(fill("asya-{namespace}-{actor}", "a", &actor), "asya-a-b");
    }
}
