//! Actors that hand messages to each other, on real queues: what is rendered for them is applied to
//! a real API server, our provider makes the queues, and pods are processes ([`crate::pod`]).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use kube::Client;
use serde_json::{Value, json};
use tempfile::TempDir;
use test_cluster::cluster::Cluster;
use test_cluster::crossplane::condition;
use test_cluster::moto::Moto;
use test_cluster::rabbitmq::RabbitMq;
use test_cluster::{objects, until};

use crate::amqp::{Link, Login};
use crate::caller::Caller;
use crate::pod::{Image, Images, Pod, Secrets};
use crate::program;
use crate::provider::Provider;

/// The exchange of the platform's settings.
pub const EXCHANGE: &str = "asya";

/// The actors of `tests/message_path/actors.yaml`: messages go through the first three, in this order.
pub const STEPS: [&str; 3] = ["first", "second", "third"];

/// Actors at which routes end.
pub const ENDS: [&str; 2] = ["x-sink", "x-sump"];

/// Differences between two renderings of the same actors.
#[derive(Debug, Clone)]
pub struct Flavor {
    /// The one timeout, as a Go duration.
    pub timeout: String,
    /// Round of the rendering. A change replaces the pods.
    pub round: usize,
}

impl Default for Flavor {
    fn default() -> Self {
        Self {
            timeout: "30s".to_owned(),
            round: 0,
        }
    }
}

/// The kind of queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// RabbitMQ.
    RabbitMq,
    /// SQS, by moto.
    Sqs,
}

/// A cluster with our provider, brokers, and a place for pods.
pub struct Mesh {
    // The provider and the pods' processes end before what they need does.
    provider: Option<Provider>,
    client: Client,
    cluster: Cluster,
    /// RabbitMQ.
    pub broker: RabbitMq,
    moto: Option<Moto>,
    transport: Transport,
    secrets: Secrets,
    folder: TempDir,
}

/// Rendered objects of one actor.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    /// The actor's name.
    pub actor: String,
    objects: Vec<Value>,
}

impl Rendered {
    /// The object of a kind.
    ///
    /// # Panics
    /// When there is none.
    pub fn object(&self, kind: &str) -> &Value {
        let mut objects = self.objects.iter();
        let found = objects.find(|object| object["kind"] == kind);
        found.unwrap_or_else(|| panic!("{} has no {kind}", self.actor))
    }

    /// The pod template of its Deployment.
    ///
    /// # Panics
    /// When it has none.
    pub fn template(&self) -> &Value {
        &self.object("Deployment")["spec"]["template"]
    }
}

impl Mesh {
    /// Starts everything but pods.
    ///
    /// # Panics
    /// When something does not start.
    pub async fn start(transport: Transport) -> Self {
        Self::start_on(Cluster::start(), transport).await
    }

    /// Like [`start`](Self::start), on another cluster.
    ///
    /// # Panics
    /// When something does not start.
    pub async fn start_on(cluster: impl Future<Output = Cluster>, transport: Transport) -> Self {
        let moto = async {
            match transport {
                Transport::Sqs => Some(Moto::start().await),
                Transport::RabbitMq => None,
            }
        };
        let cluster = async {
            let cluster = cluster.await;
            cluster.install_kinds().await;
            cluster
        };
        let (cluster, broker, moto) = tokio::join!(cluster, RabbitMq::start(), moto);
        let client = cluster.client().await;
        let mut mesh = Self {
            provider: None,
            client,
            cluster,
            broker,
            moto,
            transport,
            secrets: BTreeMap::new(),
            folder: tempfile::tempdir().expect("a temporary folder"),
        };
        mesh.apply_platform().await;
        mesh.restart_provider();
        mesh
    }

    /// Ends the provider, if it runs, and starts it without anything that it knew.
    pub fn restart_provider(&mut self) {
        self.provider = None;
        self.provider = Some(Provider::start(&self.cluster.kubeconfig(), &[]));
    }

    /// Applies the objects of a platform team. The settings, which Crossplane would store, become a file.
    async fn apply_platform(&mut self) {
        let text = self.filled("tests/story/platform.yaml");
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "crossplane-system"}});
        self.apply(&namespace).await;
        for mut object in actor::yaml::documents(&text).expect("YAML") {
            match object["kind"].as_str() {
                Some("EnvironmentConfig") => {
                    let transport = match self.transport {
                        Transport::RabbitMq => "rabbitmq",
                        Transport::Sqs => "sqs",
                    };
                    object["data"]["defaultTransport"] = json!(transport);
                    self.write("platform.yaml", &[object]);
                }
                Some("Secret") if object["metadata"]["namespace"] == "default" => {
                    let values = serde_json::from_value(object["stringData"].clone());
                    let name = object["metadata"]["name"].as_str().expect("a name");
                    self.secrets.insert(name.to_owned(), values.expect("texts"));
                    self.apply(&object).await;
                }
                _ => self.apply(&object).await,
            }
        }
    }

    /// Renders all actors with `asya render`.
    ///
    /// # Panics
    /// When they cannot be rendered.
    pub fn render(&self, flavor: &Flavor) -> BTreeMap<String, Rendered> {
        let text = self
            .filled("tests/message_path/flavors.yaml")
            .replace("{timeout}", &flavor.timeout)
            .replace("{round}", &flavor.round.to_string());
        let flavors = self.folder.path().join("flavors.yaml");
        fs::write(&flavors, text).expect("a file of flavors");
        let actors = Path::new("tests/message_path/actors.yaml");
        self.render_files(&[actors, &flavors])
    }

    /// Renders the actors of files with their flavors.
    ///
    /// # Panics
    /// When they cannot be rendered.
    pub fn render_files(&self, files: &[&Path]) -> BTreeMap<String, Rendered> {
        let platform = self.folder.path().join("platform.yaml");
        let files = files.iter().copied().chain([platform.as_path()]);
        let files: Vec<String> = files.map(|path| path.display().to_string()).collect();
        let mut arguments = vec!["render"];
        arguments.extend(files.iter().map(String::as_str));
        let output = program::asya(&arguments);
        assert!(output.status.success(), "{}", program::talk(&output));
        let mut rendered = BTreeMap::new();
        for mut object in program::documents(&output) {
            // There are no AsyncActors here, and what nobody owns is not collected.
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.remove("ownerReferences");
            }
            let label = &object["metadata"]["labels"]["asya.sh/actor"];
            if let Some(actor) = label.as_str().map(str::to_owned) {
                let of_actor = rendered.entry(actor.clone()).or_insert_with(|| Rendered {
                    actor,
                    objects: Vec::new(),
                });
                of_actor.objects.push(object);
            }
        }
        rendered
    }

    /// Applies the Queues of actors, and waits until the provider has made them so.
    ///
    /// # Panics
    /// When one is refused, or not ready in time.
    pub async fn apply_queues(&self, actors: &BTreeMap<String, Rendered>) {
        for actor in actors.values() {
            self.apply(actor.object("Queue")).await;
        }
        for actor in actors.values() {
            let queue = actor.object("Queue");
            let (api, _) = objects::api_of(&self.client, queue).await;
            until(&format!("queue {} is ready", actor.actor), || async {
                let found = json!(api.get(&actor.actor).await.expect("a Queue"));
                let is_true = |kind| {
                    let found = condition(&found, kind);
                    found.is_some_and(|found| found["status"] == "True")
                };
                let seen = &found["status"]["observedGeneration"];
                let is_current = seen.is_null() || *seen == found["metadata"]["generation"];
                (is_current && is_true("Ready") && is_true("Synced")).then_some(())
            })
            .await;
        }
    }

    /// Starts a pod of an actor. It is at work some time later.
    ///
    /// # Panics
    /// When its template asks for something that the rig does not have.
    pub fn pod(&self, actor: &Rendered, name: &str) -> Pod {
        Pod::start(
            name,
            actor.template(),
            &actor.objects,
            &images(),
            &self.secrets,
            self.folder.path(),
        )
    }

    /// A connection to RabbitMQ, on which every message is confirmed.
    ///
    /// # Panics
    /// When the broker does not answer.
    pub async fn link(&self) -> Link {
        Link::open(&self.login(), true).await.expect("a connection")
    }

    /// Returns the login of RabbitMQ.
    pub fn login(&self) -> Login {
        Login {
            host: "127.0.0.1".to_owned(),
            port: self.broker.amqp,
            username: "guest".to_owned(),
            password: "guest".to_owned(),
        }
    }

    /// Somebody who calls the actors.
    ///
    /// # Panics
    /// When the broker does not answer.
    pub async fn caller(&self) -> Caller {
        match &self.moto {
            Some(moto) => Caller::of_sqs(&moto.endpoint),
            None => Caller::RabbitMq(self.link().await),
        }
    }

    /// The cluster.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The provider's log, for a test that fails.
    pub fn log(&self) -> String {
        self.provider
            .as_ref()
            .map(Provider::log)
            .unwrap_or_default()
    }

    /// Applies an object.
    ///
    /// # Panics
    /// When the API server refuses it.
    pub async fn apply(&self, object: &Value) {
        let applied = objects::apply(&self.client, object).await;
        applied.unwrap_or_else(|error| panic!("{error}: {object}"));
    }

    /// A file of the repository, with the places of the brokers in it.
    fn filled(&self, file: &str) -> String {
        let file = program::repository().join(file);
        let moto = self.moto.as_ref().map(|moto| moto.endpoint.clone());
        let text = fs::read_to_string(&file);
        text.unwrap_or_else(|error| panic!("{}: {error}", file.display()))
            .replace("{amqp}", &self.broker.amqp.to_string())
            .replace("{management}", &self.broker.management.to_string())
            .replace(
                "{sqs}",
                &moto.unwrap_or_else(|| "http://127.0.0.1:1".to_owned()),
            )
    }

    fn write(&self, name: &str, documents: &[Value]) {
        let text = actor::yaml::write_stream(documents).expect("YAML");
        fs::write(self.folder.path().join(name), text).expect("a file");
    }
}

/// The envelope of a message to the first actor, with the others after it.
pub fn envelope(id: &str, payload: &Value) -> Value {
    let mut payload = payload.clone();
    payload["id"] = json!(id);
    json!({
        "id": id, "route": {"prev": [], "curr": STEPS[0], "next": STEPS[1..]},
        "headers": {}, "payload": payload})
}

/// Name of an actor's queue.
pub fn queue(actor: &str) -> String {
    format!("asya-{actor}")
}

/// Our handlers and our sidecar.
fn images() -> Images {
    let image = |entry_point: Option<PathBuf>, folder: &str| Image {
        entry_point,
        folder: program::repository().join(folder),
    };
    let sidecar = program::path("asya-sidecar");
    BTreeMap::from([
        ("steps".to_owned(), image(None, "tests/message_path")),
        ("end-actors".to_owned(), image(None, "runtime")),
        ("asya-sidecar:latest".to_owned(), image(Some(sidecar), "")),
    ])
}
