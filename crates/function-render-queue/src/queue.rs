//! The `Queue` object.

use actor::names::{EXTERNAL_NAME, LABEL_VALUE_MAX, is_label_value};
use actor::queue::{DeletionPolicy, ForProvider, KIND, QueueSpec};
use actor::transport::Config;
use actor::{PROVIDER_API_VERSION, labels};
use function_kit::{Diagnostic, StepError};
use serde_json::{Value, json};

use crate::Wanted;

/// All that a provider may do but `Delete`: the queue outlives its object.
const WITHOUT_DELETE: [&str; 4] = ["Observe", "Create", "Update", "LateInitialize"];

/// The object. What its user should know of the queue's settings goes to `notes`.
pub(crate) fn object(wanted: &Wanted<'_>, notes: &mut Vec<Diagnostic>) -> Result<Value, StepError> {
    let (identity, transport) = (wanted.identity, wanted.transport);
    if !is_label_value(&transport.name) {
        let help = format!(
            "use at most {LABEL_VALUE_MAX} letters, digits, '-', '_' and '.', starting and ending with a letter or digit"
        );
        return Err(wanted.misconfigured(&[], "its name goes into a label".to_owned(), &help));
    }
    let options = &wanted.spec.queue;
    let policy = options
        .deletion_policy
        .unwrap_or(wanted.platform.queue_deletion_policy);
    let mut for_provider = ForProvider {
        adopt: options.adopt.unwrap_or(false),
        delete_only_if_empty: policy == DeletionPolicy::DeleteIfEmpty,
        ..ForProvider::default()
    };
    match &transport.config {
        Config::Sqs(sqs) => {
            for_provider.sqs = Some(wanted.sqs(sqs, notes)?);
        }
        Config::RabbitMq(rabbitmq) => {
            for_provider.rabbitmq = Some(wanted.rabbitmq(rabbitmq, notes)?);
        }
    }
    let spec = QueueSpec {
        for_provider,
        management_policies: match policy {
            DeletionPolicy::Orphan => WITHOUT_DELETE.map(str::to_owned).into(),
            DeletionPolicy::Delete | DeletionPolicy::DeleteIfEmpty => vec!["*".to_owned()],
        },
        provider_config_ref: transport.provider_config_ref.clone(),
        write_connection_secret_to_ref: None,
    };
    let mut metadata = identity.metadata(identity.actor.as_str(), "queue");
    metadata["labels"][labels::TRANSPORT] = json!(transport.name);
    metadata["annotations"] = json!({EXTERNAL_NAME: wanted.name});
    Ok(json!({
        "apiVersion": PROVIDER_API_VERSION,
        "kind": KIND,
        "metadata": metadata,
        "spec": spec,
    }))
}
