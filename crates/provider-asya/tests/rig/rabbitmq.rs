//! Debian's `rabbitmq-server` with the management plugin, as a node of its own.

use std::fs;
use std::path::Path;
use std::process::Command;

use provider_asya::transport::rabbitmq::api::{Answer, Api, Login};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::process::{Process, free_ports};

/// The server's own script; that in `sbin` changes the user.
const SERVER: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";

/// A broker with the user `guest`.
pub struct RabbitMq {
    // Processes end before the folder goes.
    _server: Process,
    node: Option<String>,
    _epmd: Process,
    _folder: TempDir,
    /// URL of the management API.
    pub endpoint: String,
    /// As `guest`.
    pub api: Api,
}

impl RabbitMq {
    /// Starts a broker and waits until its API answers.
    pub async fn start() -> Self {
        Self::start_with("").await
    }

    /// Starts a broker with these lines in its configuration beside the rig's own.
    pub async fn start_with(settings: &str) -> Self {
        assert!(
            Path::new(SERVER).is_file(),
            "install the Debian package rabbitmq-server"
        );
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dir = folder.path();
        let [amqp, management, epmd, distribution] = free_ports();
        fs::write(
            dir.join("rabbitmq.conf"),
            format!(
                "listeners.tcp.1 = 127.0.0.1:{amqp}\nmanagement.tcp.ip = 127.0.0.1\n\
                 management.tcp.port = {management}\n{settings}"
            ),
        )
        .expect("a configuration");
        fs::write(dir.join("enabled_plugins"), "[rabbitmq_management].\n").expect("plugins");
        let mut command = Command::new("epmd");
        command.args(["-address", "127.0.0.1", "-port", &epmd.to_string()]);
        let epmd_process = Process::start("epmd", &mut command, dir);
        let mut command = Command::new(SERVER);
        command
            .env("HOME", dir)
            .env("ERL_CRASH_DUMP", dir.join("crash.dump"))
            .env("ERL_EPMD_PORT", epmd.to_string())
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .env("RABBITMQ_NODENAME", format!("rig{management}@localhost"))
            .env("RABBITMQ_DIST_PORT", distribution.to_string())
            .env("RABBITMQ_CONFIG_FILE", dir.join("rabbitmq"))
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", dir.join("enabled_plugins"))
            .env("RABBITMQ_MNESIA_BASE", dir.join("mnesia"))
            .env("RABBITMQ_LOG_BASE", dir.join("log"))
            .env("RABBITMQ_PID_FILE", dir.join("pid"))
            .env("RABBITMQ_CONF_ENV_FILE", "/dev/null")
            .env(
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
                "-kernel inet_dist_use_interface {127,0,0,1} +S 2:2",
            );
        let mut server = Process::start("rabbitmq", &mut command, dir);
        let endpoint = format!("http://127.0.0.1:{management}");
        let api = login(&endpoint, "guest", "guest");
        super::until("RabbitMQ answers", || {
            server.check(dir);
            let api = api.clone();
            async move { api.get(&["overview"]).await.ok() }
        })
        .await;
        let node = fs::read_to_string(dir.join("pid"))
            .ok()
            .map(|pid| pid.trim().to_owned());
        Self {
            _server: server,
            node,
            _epmd: epmd_process,
            _folder: folder,
            endpoint,
            api,
        }
    }

    /// What is at this path, which must be there.
    pub async fn read(&self, path: &[&str]) -> Value {
        match self.api.get(path).await {
            Ok(Answer::Done(value)) => value,
            other => panic!("{path:?}: {other:?}"),
        }
    }

    /// Publishes an empty payload as a sidecar does, and returns whether any queue got it.
    pub async fn publish(&self, exchange: &str, key: &str) -> bool {
        self.publish_to("/", exchange, key, "{}").await
    }

    /// Publishes to an exchange; whether the message is in a queue now. The exchange routes it as it
    /// routes one that came by AMQP.
    pub async fn publish_to(&self, vhost: &str, exchange: &str, key: &str, payload: &str) -> bool {
        let body = json!({"properties": {"delivery_mode": 2}, "routing_key": key,
            "payload": payload, "payload_encoding": "string"});
        let path = ["exchanges", vhost, exchange, "publish"];
        self.ask(&path, &body).await["routed"] == json!(true)
    }

    /// Takes all messages out of a queue, as a consumer that acknowledges them does.
    pub async fn take(&self, vhost: &str, queue: &str) -> Vec<String> {
        let body = json!({"count": 100, "ackmode": "ack_requeue_false", "encoding": "auto"});
        let messages = self.ask(&["queues", vhost, queue, "get"], &body).await;
        let messages = messages.as_array().expect("a list of messages").iter();
        messages
            .map(|message| message["payload"].as_str().expect("text").to_owned())
            .collect()
    }

    /// A request whose answer matters.
    async fn ask(&self, path: &[&str], body: &Value) -> Value {
        match self.api.post(path, body).await {
            Ok(Answer::Done(answer)) => answer,
            other => panic!("{path:?}: {other:?}"),
        }
    }

    /// Whether anything is at this path.
    pub async fn has(&self, path: &[&str]) -> bool {
        self.api.get(path).await.expect("the API answers") != Answer::Absent
    }
}

impl Drop for RabbitMq {
    fn drop(&mut self) {
        // The script has started the node as a child of its own.
        if let Some(node) = &self.node {
            drop(Command::new("kill").args(["-KILL", node]).output());
        }
    }
}

/// The API for a user.
pub fn login(endpoint: &str, username: &str, password: &str) -> Api {
    let login = Login {
        endpoint,
        username,
        password,
        authorities: None,
    };
    Api::new(&login, super::PATIENCE).expect("a usable endpoint")
}
