//! Environment of the sidecar for RabbitMQ.

use actor::entry::EnvVar;
use actor::retry_delays::delays_seconds;
use actor::transport::{RabbitMq, SecretKeyRef};

use crate::variables::Environment;
use crate::{Actor, volumes};

const USERNAME: &str = "ASYA_RABBITMQ_USERNAME";
const PASSWORD: &str = "ASYA_RABBITMQ_PASSWORD";
const URL: &str = "ASYA_RABBITMQ_URL";

/// Adds the variables of RabbitMQ, the URL last.
pub(crate) fn add(actor: &Actor, rabbitmq: &RabbitMq, env: &mut Environment) {
    let ca = volumes::ca_secret(&actor.transport.config).map(|_| volumes::CA_FILE);
    env.set("ASYA_RABBITMQ_HOST", &rabbitmq.host);
    env.set("ASYA_RABBITMQ_PORT", rabbitmq.port().to_string());
    add_user(rabbitmq, env);
    let exchange = rabbitmq.exchange(&actor.identity.namespace);
    env.set("ASYA_RABBITMQ_EXCHANGE", exchange);
    let delays = delays_seconds(&actor.spec.resiliency);
    let delays: Vec<String> = delays.iter().map(u32::to_string).collect();
    env.set_if(
        "ASYA_RABBITMQ_RETRY_DELAYS",
        (!delays.is_empty()).then(|| delays.join(",")),
    );
    if rabbitmq.tls.enabled {
        env.set("ASYA_RABBITMQ_TLS", "true");
    }
    env.set_if("ASYA_RABBITMQ_CA_FILE", ca);
    match &rabbitmq.url_secret_ref {
        Some(url) => env.push(from_secret(URL, url)),
        None => env.set(URL, url(rabbitmq, ca)),
    }
}

/// User and password. Beside a URL from a Secret, which holds both, only those that
/// are configured: a missing Secret would stop the pod.
fn add_user(rabbitmq: &RabbitMq, env: &mut Environment) {
    let whole_url = rabbitmq.url_secret_ref.is_some();
    match &rabbitmq.username_secret_ref {
        Some(username) => env.push(from_secret(USERNAME, username)),
        None if whole_url && rabbitmq.username.is_none() => {}
        None => env.set(USERNAME, rabbitmq.username()),
    }
    if !whole_url || rabbitmq.password_secret_ref.is_some() {
        env.push(from_secret(PASSWORD, &rabbitmq.password_secret_ref()));
    }
}

/// The URL, in which the kubelet puts user and password. It does not encode them, so
/// both must be URL-safe. RabbitMQ's clients read the certificate authority's file from
/// the query. Source: RabbitMQ, URI query parameters.
fn url(rabbitmq: &RabbitMq, ca: Option<&str>) -> String {
    let scheme = if rabbitmq.tls.enabled {
        "amqps"
    } else {
        "amqp"
    };
    let (host, port) = (&rabbitmq.host, rabbitmq.port());
    let vhost = rabbitmq.encoded_vhost();
    let query = ca.map_or(String::new(), |file| format!("?cacertfile={file}"));
    format!("{scheme}://$({USERNAME}):$({PASSWORD})@{host}:{port}/{vhost}{query}")
}

fn from_secret(name: &str, secret: &SecretKeyRef) -> EnvVar {
    EnvVar::from_secret(name, &secret.name, &secret.key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use actor::transport::Tls;

    #[test]
    fn special_characters_in_the_url_are_encoded() {
        let broker = |vhost: Option<&str>, enabled| RabbitMq {
            host: "mq".to_owned(),
            vhost: vhost.map(str::to_owned),
            tls: Tls {
                enabled,
                ca_secret_ref: None,
            },
            ..RabbitMq::default()
        };
        let cases = [
            (
                broker(None, false),
                None,
                "amqp",
                "5672/%2F",
                "the default vhost",
            ),
            (
                broker(Some("team a/b"), false),
                None,
                "amqp",
                "5672/team%20a%2Fb",
                "a vhost",
            ),
            (
                broker(Some("$(HOME)"), false),
                None,
                "amqp",
                "5672/%24%28HOME%29",
                "no expansion",
            ),
            (broker(None, true), None, "amqps", "5671/%2F", "TLS"),
            (
                broker(None, true),
                Some("/ca.crt"),
                "amqps",
                "5671/%2F?cacertfile=/ca.crt",
                "a CA",
            ),
        ];
        for (rabbitmq, ca, scheme, end, reason) in cases {
            let expected =
                format!("{scheme}://$(ASYA_RABBITMQ_USERNAME):$(ASYA_RABBITMQ_PASSWORD)@mq:{end}");
            assert_eq!(url(&rabbitmq, ca), expected, "{reason}");
        }
    }
}
