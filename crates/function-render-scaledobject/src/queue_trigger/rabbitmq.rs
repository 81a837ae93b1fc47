//! Counting on RabbitMQ. Source: KEDA, scaler `rabbitmq`.

use std::collections::BTreeMap;

use actor::names::SIDECAR_CONTAINER;
use actor::transport::RabbitMq;

use super::{Access, Queue, QueueTrigger};

/// The sidecar's variable that holds the user's name.
const USERNAME_VARIABLE: &str = "ASYA_RABBITMQ_USERNAME";

pub(super) fn trigger(rabbitmq: &RabbitMq, queue: &Queue<'_>, has_sidecar: bool) -> QueueTrigger {
    let mut trigger = QueueTrigger {
        r#type: "rabbitmq",
        metadata: BTreeMap::from([
            ("queueName", queue.name.to_owned()),
            ("mode", "QueueLength".to_owned()),
            ("value", queue.length.to_string()),
        ]),
        access: Access::default(),
        platform_authentication: None,
        environment_of: None,
        leaves_out_work: false,
    };
    if let Some(url) = &rabbitmq.url_secret_ref {
        // A host in the metadata would go before the Secret's.
        trigger.metadata.insert("protocol", "auto".to_owned());
        trigger.access.secrets.push(("host", url.clone()));
    } else {
        reach(&mut trigger, rabbitmq, has_sidecar);
    }
    trust(&mut trigger.access, rabbitmq);
    trigger
}

/// Tells the scaler where the broker is, and who asks. Pods of somebody else's may not
/// have the sidecar yet, and what scales them may have no pod template.
fn reach(trigger: &mut QueueTrigger, rabbitmq: &RabbitMq, has_sidecar: bool) {
    let secure = if rabbitmq.tls.enabled { "s" } else { "" };
    let (protocol, host, port) = match &rabbitmq.management_host {
        Some(host) => ("http", host, rabbitmq.management_port()),
        None => ("amqp", &rabbitmq.host, rabbitmq.port()),
    };
    let vhost = rabbitmq.encoded_vhost();
    let url = format!("{protocol}{secure}://{host}:{port}/{vhost}");
    trigger.metadata.insert("protocol", protocol.to_owned());
    trigger.metadata.insert("host", url);
    // Only the management API counts messages that are delivered, but not acknowledged.
    trigger.leaves_out_work = protocol == "amqp";

    let secrets = &mut trigger.access.secrets;
    if let Some(username) = &rabbitmq.username_secret_ref {
        secrets.push(("username", username.clone()));
    } else if !has_sidecar {
        let username = rabbitmq.username().to_owned();
        trigger.access.parameters.insert("username", username);
    } else {
        let variable = USERNAME_VARIABLE.to_owned();
        trigger.metadata.insert("usernameFromEnv", variable);
        trigger.environment_of = Some(SIDECAR_CONTAINER);
    }
    secrets.push(("password", rabbitmq.password_secret_ref()));
}

/// Adds the certificate authority, which KEDA reads only together with parameter
/// `tls`. Without one, the scheme of the URL and the system's authorities suffice.
fn trust(access: &mut Access, rabbitmq: &RabbitMq) {
    if let (true, Some(ca)) = (rabbitmq.tls.enabled, &rabbitmq.tls.ca_secret_ref) {
        access.secrets.push(("ca", ca.clone()));
        access.parameters.insert("tls", "enable".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actor::transport::Tls;

    #[test]
    fn the_url_contains_protocol_host_and_vhost() {
        let broker = |vhost: Option<&str>, management: Option<&str>, tls| RabbitMq {
            host: "mq".to_owned(),
            vhost: vhost.map(str::to_owned),
            management_host: management.map(str::to_owned),
            tls: Tls {
                enabled: tls,
                ca_secret_ref: None,
            },
            ..RabbitMq::default()
        };
        let cases = [
            (
                broker(None, None, false),
                "amqp://mq:5672/%2F",
                "the default vhost",
            ),
            (
                broker(Some("a b/c"), None, false),
                "amqp://mq:5672/a%20b%2Fc",
                "everything but letters",
            ),
            (
                broker(Some("a-b.c_d~e"), None, false),
                "amqp://mq:5672/a-b.c_d~e",
                "what stands for itself",
            ),
            (
                broker(None, Some("ui"), false),
                "http://ui:15672/%2F",
                "the management API",
            ),
            (
                broker(None, None, true),
                "amqps://mq:5671/%2F",
                "AMQP over TLS",
            ),
            (
                broker(None, Some("ui"), true),
                "https://ui:15671/%2F",
                "the management API over TLS",
            ),
        ];
        let queue = Queue {
            name: "asya-a",
            url: None,
            length: 5,
        };
        for (rabbitmq, url, reason) in cases {
            assert_eq!(
                trigger(&rabbitmq, &queue, true).metadata["host"],
                url,
                "{reason}"
            );
        }
    }
}
