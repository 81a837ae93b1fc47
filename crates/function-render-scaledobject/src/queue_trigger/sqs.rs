//! Counting on Amazon SQS. Source: KEDA, scaler `aws-sqs-queue`.

use std::collections::BTreeMap;

use actor::transport::{SecretKeyRef, Sqs};

use super::{Access, Queue, QueueTrigger};

/// Parameters of the scaler, by key of the Secret. A Secret without the last one
/// serves: KEDA takes a key that is not there for a parameter that is not set.
const CREDENTIALS: [(&str, &str); 3] = [
    ("awsAccessKeyID", "AWS_ACCESS_KEY_ID"),
    ("awsSecretAccessKey", "AWS_SECRET_ACCESS_KEY"),
    ("awsSessionToken", "AWS_SESSION_TOKEN"),
];

pub(super) fn trigger(sqs: &Sqs, queue: &Queue<'_>) -> QueueTrigger {
    let url = queue
        .url
        .map(str::to_owned)
        .or_else(|| sqs.queue_url(queue.name))
        .unwrap_or_else(|| queue.name.to_owned());
    let mut metadata = BTreeMap::from([
        ("queueURL", url),
        ("queueLength", queue.length.to_string()),
        ("awsRegion", sqs.region.clone()),
    ]);
    metadata.extend(sqs.endpoint.clone().map(|url| ("awsEndpoint", url)));
    QueueTrigger {
        r#type: "aws-sqs-queue",
        metadata,
        access: access(sqs),
        platform_authentication: None,
        environment_of: None,
        // KEDA adds the messages in flight unless configured otherwise.
        leaves_out_work: false,
    }
}

fn access(sqs: &Sqs) -> Access {
    let Some(secret) = &sqs.credentials_secret_ref else {
        return Access {
            pod_identity: Some("aws"),
            ..Access::default()
        };
    };
    let key = |key: &str| SecretKeyRef {
        name: secret.name.clone(),
        key: key.to_owned(),
    };
    Access {
        secrets: CREDENTIALS
            .map(|(parameter, name)| (parameter, key(name)))
            .into(),
        ..Access::default()
    }
}
