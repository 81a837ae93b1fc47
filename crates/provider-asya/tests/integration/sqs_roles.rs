//! The provider's own role on SQS (IRSA): the real program with the variables that EKS gives to pods,
//! on fakes of STS and SQS, since nothing that runs here checks a role.

use crate::rig::{self, shared};
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::rig::cluster::Cluster;
use crate::rig::fake_sqs::FakeSqs;
use crate::rig::fake_sts::{FakeSts, SESSION_TOKEN};
use crate::rig::process::Process;
use crate::rig::provider_fixture::{self, Queues};
use actor::managed::SYNCED;
use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;
use kube::{Api, Client};
use provider_asya::kinds::{ClusterProviderConfig, Queue};
use serde_json::json;

const NAMESPACE: &str = "shop";
const ROLE: &str = "arn:aws:iam::123456789012:role/asya-provider";

#[test]
fn a_denied_role_is_reported_once_and_used_when_it_is_granted() {
    shared::run("roles on SQS", async {
        let (cluster, sts, sqs) =
            tokio::join!(Cluster::start(), FakeSts::start(), FakeSqs::start());
        cluster.install_kinds().await;
        let client = cluster.client().await;
        provider_fixture::make_namespace(&client, NAMESPACE).await;
        let configs: Api<ClusterProviderConfig> = Api::all(client.clone());
        let config =
            json!({"metadata": {"name": "sqs"}, "spec": {"sqs": {"endpoint": sqs.endpoint}}});
        provider_fixture::apply(&configs, config).await;
        let queues = Queues(Api::namespaced(client.clone(), NAMESPACE));
        let queue = json!({"metadata": {"name": "cart"}, "spec": {
        "forProvider": {"sqs": {"region": "us-east-1"}},
        "providerConfigRef": {"kind": "ClusterProviderConfig", "name": "sqs"}}});
        provider_fixture::apply(&queues.0, queue).await;

        let folder = tempfile::tempdir().unwrap();
        let _provider = start(&cluster.kubeconfig(), &sts.endpoint, folder.path());
        let denied = queues
            .until_condition("cart", SYNCED, "False", "denies")
            .await;
        let expected = "observe failed: AWS STS denies assume the provider's role: AccessDenied: Not authorized to perform \
                sts:AssumeRoleWithWebIdentity: check that the role's trust policy names its ServiceAccount";
        assert_eq!(message(&denied), expected);
        let before = sts.asked().len();
        rig::until("STS is asked again, and answers with other ids", || async {
            (sts.asked().len() >= before + 2).then_some(())
        })
        .await;
        let still = queues.0.get("cart").await.unwrap();
        assert_eq!(
            message(&still),
            expected,
            "another request id is no other message"
        );
        assert_eq!(still.status, denied.status);
        assert_eq!(
            still.metadata.resource_version, denied.metadata.resource_version,
            "nothing was written"
        );
        assert_eq!(warnings(&client).await, [expected], "reported once");
        let form = &sts.asked()[0];
        for part in [
            "Action=AssumeRoleWithWebIdentity",
            "WebIdentityToken=token-of-the-pod",
        ] {
            assert!(form.contains(part), "{form}");
        }

        sts.give();
        queues.until_ready("cart").await;
        assert_eq!(
            sqs.tokens(),
            [Some(SESSION_TOKEN.to_owned())],
            "every call to SQS was made with the role's credentials"
        );
    });
}

fn message(queue: &Queue) -> String {
    let mut conditions = queue.status.conditions.iter();
    let synced = conditions.find(|condition| condition.type_ == SYNCED);
    synced.unwrap().message.clone().unwrap_or_default()
}

/// The messages of all warnings about the queue; one that was repeated is there once, with a count.
async fn warnings(client: &Client) -> Vec<String> {
    let events: Api<Event> = Api::namespaced(client.clone(), NAMESPACE);
    let about = ListParams::default().fields("involvedObject.name=cart,type=Warning");
    let events = events.list(&about).await.unwrap().items;
    for event in &events {
        assert!(event.count.unwrap_or(1) <= 1, "{event:?}");
    }
    events
        .into_iter()
        .filter_map(|event| event.message)
        .collect()
}

/// The program, with what EKS puts into a pod whose ServiceAccount has a role.
fn start(kubeconfig: &Path, sts: &str, folder: &Path) -> Process {
    let [port] = rig::ports::reserve();
    let token = folder.join("token");
    fs::write(&token, "token-of-the-pod").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_provider-asya"));
    command
        .env_clear()
        .env("KUBECONFIG", kubeconfig)
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ROLE_ARN", ROLE)
        .env("AWS_WEB_IDENTITY_TOKEN_FILE", token)
        .env("AWS_ENDPOINT_URL_STS", sts)
        .args(["--metrics-address", &format!("127.0.0.1:{port}")]);
    Process::start("provider-asya", &mut command, folder)
}
