//! RabbitMQ over TLS, with an authority of its own.

mod rig;

use std::collections::BTreeMap;
use std::sync::Arc;

use rig::certificates::Certificates;
use rig::rabbit::Rabbit;
use rig::{Pod, envelope, until};
use serde_json::json;
use test_cluster::ports;
use test_cluster::rabbitmq::RabbitMq;

#[tokio::test]
async fn a_broker_with_a_private_authority_is_trusted_by_its_file_and_not_without_it() {
    let certificates = Certificates::make();
    let [port] = ports::reserve();
    let broker = RabbitMq::start_with(&certificates.settings(port)).await;
    let rabbit = Rabbit::on(Arc::new(broker)).await;
    rabbit.queue("a").await;
    let mut environment = rabbit.environment("a");
    let url = format!("amqps://guest:guest@127.0.0.1:{port}/{}", rabbit.vhost);
    environment.insert("ASYA_RABBITMQ_URL".to_owned(), url);
    rabbit.send("a", &envelope("m", "a", &[], &json!({}))).await;
    refused(&environment).await;
    let file = certificates.authority().display().to_string();
    // As it is rendered, for clients that read the file's name there.
    let url = format!("{}?cacertfile={file}", environment["ASYA_RABBITMQ_URL"]);
    environment.insert("ASYA_RABBITMQ_URL".to_owned(), url);
    environment.insert("ASYA_RABBITMQ_CA_FILE".to_owned(), file);
    let mut pod = Pod::start(&environment);
    pod.ready().await;
    let at_sink = rabbit.take_when("x-sink", 1).await;
    assert_eq!(at_sink[0]["id"], "m");
    assert!(pod.terminate().await.success());
}

/// Without the authority's certificate no connection is made, and the program tries on.
async fn refused(environment: &BTreeMap<String, String>) {
    let mut pod = Pod::start(environment);
    until("the connection is refused", || async {
        pod.log().contains("cannot connect").then_some(())
    })
    .await;
    assert_eq!(
        pod.ask("/readyz").await.map(|(status, _)| status),
        Some(503)
    );
    assert!(pod.terminate().await.success());
}
