//! Message handling on SQS while the way to the service fails. No message may be lost.

mod rig;

use std::collections::BTreeMap;
use std::path::PathBuf;

use rig::link::Link;
use rig::sqs::Sqs;
use rig::{Pod, envelope, until};
use serde_json::json;

/// A service with the queue of actor `a`, and the way to it.
async fn start() -> (Sqs, Link, BTreeMap<String, String>) {
    let sqs = Sqs::start().await;
    sqs.queue("a").await;
    let link = Link::start(sqs.address()).await;
    let mut environment = sqs.environment("a");
    let endpoint = format!("http://{}", link.address);
    environment.insert("ASYA_SQS_ENDPOINT".to_owned(), endpoint);
    (sqs, link, environment)
}

/// The service may have given a message to a request whose answer is lost, and shows it again after this.
fn show_again_soon(environment: &mut BTreeMap<String, String>) {
    environment.insert("ASYA_SQS_VISIBILITY_TIMEOUT".to_owned(), "5".to_owned());
}

/// Sends a message, and waits until the handler is called with it. Its call ends once the file exists.
async fn hold(sqs: &Sqs, pod: &Pod) -> PathBuf {
    let release = pod.release_file("go");
    let held = json!({"do": "hold", "release": release});
    sqs.send("a", &envelope("held", "a", &[], &held)).await;
    until("the handler is called", || async {
        (!pod.calls().is_empty()).then_some(())
    })
    .await;
    release
}

#[tokio::test]
async fn messages_are_received_again_after_the_endpoint_has_returned() {
    let (sqs, mut link, mut environment) = start().await;
    show_again_soon(&mut environment);
    let mut pod = Pod::start(&environment);
    pod.ready().await;
    link.cut().await;
    until("the sidecar is not ready", || async {
        let (status, _) = pod.ask("/readyz").await?;
        (status == 503).then_some(())
    })
    .await;
    let (status, _) = pod.ask("/healthz").await.unwrap();
    assert_eq!(status, 200, "an outage restarts no pod");
    for number in 0..5 {
        let id = format!("m{number}");
        sqs.send("a", &envelope(&id, "a", &[], &json!({}))).await;
    }
    link.restore().await;
    let at_sink = sqs.take_when("x-sink", 5).await;
    assert_eq!(at_sink.len(), 5);
    pod.ready().await;
    sqs.until_counts("a", [0, 0, 0]).await;
    assert!(sqs.take_whole("x-sump").await.is_empty());
    assert!(pod.terminate().await.success());
}

#[tokio::test]
async fn a_call_during_an_outage_is_published_once_and_acknowledged() {
    let (sqs, mut link, environment) = start().await;
    let mut pod = Pod::start(&environment);
    pod.ready().await;
    let release = hold(&sqs, &pod).await;
    link.cut().await;
    std::fs::write(release, "").unwrap();
    until("a publication has failed", || async {
        let errors = pod
            .metric("publish_errors_total{reason=\"disconnected\"")
            .await;
        (errors >= 1.0).then_some(())
    })
    .await;
    assert_eq!(sqs.counts("a").await, [0, 1, 0], "hidden, and not deleted");
    link.restore().await;
    let at_sink = sqs.take_when("x-sink", 1).await;
    assert_eq!((at_sink.len(), &at_sink[0]["id"]), (1, &json!("held")));
    sqs.until_counts("a", [0, 0, 0]).await;
    assert!(sqs.take_whole("x-sink").await.is_empty(), "published once");
    assert!(sqs.take_whole("x-sump").await.is_empty());
    assert!(pod.terminate().await.success());
}

#[tokio::test]
async fn a_receive_request_that_is_never_answered_is_made_again() {
    let (sqs, link, mut environment) = start().await;
    show_again_soon(&mut environment);
    let mut pod = Pod::start(&environment);
    pod.ready().await;
    link.lose();
    sqs.send("a", &envelope("m", "a", &[], &json!({}))).await;
    let at_sink = sqs.take_when("x-sink", 1).await;
    assert_eq!(at_sink[0]["id"], "m");
    sqs.until_counts("a", [0, 0, 0]).await;
    assert!(pod.terminate().await.success());
}

#[tokio::test]
async fn a_result_whose_publication_is_never_answered_is_published_again() {
    let (sqs, link, environment) = start().await;
    let mut pod = Pod::start(&environment);
    pod.ready().await;
    let release = hold(&sqs, &pod).await;
    link.lose();
    std::fs::write(release, "").unwrap();
    let at_sink = sqs.take_when("x-sink", 1).await;
    assert_eq!((at_sink.len(), &at_sink[0]["id"]), (1, &json!("held")));
    sqs.until_counts("a", [0, 0, 0]).await;
    assert_eq!(pod.calls().len(), 1, "the handler is not called again");
    assert!(sqs.take_whole("x-sink").await.is_empty(), "published once");
    assert!(pod.terminate().await.success());
}
