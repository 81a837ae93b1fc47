//! Files that a handler keeps in a bucket, through the connector of our own image.

use std::process::Command;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::Story;
use crate::cluster::process::Processes;
use crate::cluster::workloads::{apply_text, call};

const ACTOR: &str = include_str!("state.yaml");

/// Namespace of the actor in [`ACTOR`].
const NAMESPACE: &str = "state";

/// Queue at the end of the route, which only this program reads.
const END: &str = "state-end";

/// Bucket of the flavor in [`ACTOR`], at moto.
const BUCKET: &str = "http://moto.default.svc.cluster.local:5000/my-checkpoints-bucket";

/// Two messages, of which the second reads what the first has written; then the object is in the bucket.
pub(super) fn play(story: &Story<'_>, processes: &mut Processes<'_>) -> Result<()> {
    story.create_namespace(NAMESPACE, &json!({}))?;
    let object = format!("{BUCKET}/j1.json");
    curl(&["--request", "PUT", BUCKET])?;
    // An earlier run has left it.
    curl(&["--request", "DELETE", &object])?;
    let image = format!(
        "registry.example.org/asya/asya-sidecar:v{}",
        env!("CARGO_PKG_VERSION")
    );
    apply_text(story.instance, &ACTOR.replace("IMAGE", &image))?;
    story.wait_for_status(NAMESPACE, "remembering", "Running", "")?;
    story.broker.create_queue(END)?;
    for (id, progress, before) in [
        ("first", "10 %", Value::Null),
        ("second", "20 %", json!("10 %")),
    ] {
        let payload = json!({"job": "j1", "progress": progress});
        story.broker.publish(id, &["remembering", END], &payload)?;
        let message = story.broker.wait_for_one(END)?;
        if message["payload"] != json!({ "before": before }) {
            bail!("message {id:?} is {message} and not {before}");
        }
    }
    let stored = curl(&[&object])?;
    if stored != "20 %" {
        bail!("the bucket has {stored:?} in j1.json");
    }
    processes.print("flavor s3-checkpoints: the handler's file is in the bucket")?;
    story.delete_namespace(NAMESPACE)
}

/// A signed request: moto accepts any key, but shows objects to nobody without one.
fn curl(arguments: &[&str]) -> Result<String> {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--fail"]);
    command.args([
        "--aws-sigv4",
        "aws:amz:us-east-1:s3",
        "--user",
        "example:example",
    ]);
    command.args(arguments);
    call(command)
}
