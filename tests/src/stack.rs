//! The whole on real parts: API server, Crossplane core and our functions over mTLS.

use std::path::Path;
use std::process::Command;

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use real::cluster::Cluster;
use real::crossplane::Crossplane;
use real::{components, objects, until};
use serde_json::{Value, json};

use crate::examples::documents;
use crate::function::{self, Function};

/// A cluster in which actors are composed. No provider and no KEDA run: tests write what these
/// would say.
pub struct Stack {
    // Functions and core end before the API server does.
    functions: Vec<Function>,
    /// Crossplane core.
    pub crossplane: Crossplane,
    /// The cluster.
    pub cluster: Cluster,
    /// A client with every right.
    pub client: kube::Client,
}

impl Stack {
    /// Starts everything and waits until actors are served.
    ///
    /// # Panics
    /// When something does not start.
    pub async fn start() -> Self {
        let cluster = Cluster::start().await;
        cluster.install_kinds().await;
        cluster.install_keda().await;
        let crossplane = Crossplane::start(&cluster).await;
        let client = cluster.client().await;
        let certificate = crossplane.function_certificate().await;
        let certificate = certificate.to_str().expect("a path in UTF-8");
        let mut functions = Vec::new();
        for name in function::ALL {
            let function = Function::start_with(name, &["--tls-certs-dir", certificate]);
            crossplane
                .install_function(name, function.address.port())
                .await;
            functions.push(function);
        }
        let stack = Self {
            functions,
            crossplane,
            cluster,
            client,
        };
        for file in ["definition.yaml", "composition.yaml"] {
            let folder = components::repository().join("apis/asyncactors.asya.sh");
            stack.apply_file(&folder.join(file)).await;
        }
        // Until the kind is served.
        objects::api_of(&stack.client, &stack.actor("any", &json!({}))).await;
        stack
    }

    /// Applies the documents of a file.
    ///
    /// # Panics
    /// When the API server refuses one.
    pub async fn apply_file(&self, file: &Path) {
        for document in documents(file) {
            self.apply(&document).await;
        }
    }

    /// Applies an object.
    ///
    /// # Panics
    /// When the API server refuses it.
    pub async fn apply(&self, object: &Value) -> Value {
        let applied = objects::apply(&self.client, object).await;
        let applied = applied.unwrap_or_else(|error| panic!("{error}: {object}"));
        json!(applied)
    }

    /// An AsyncActor in namespace `default`.
    pub fn actor(&self, name: &str, spec: &Value) -> Value {
        json!({
            "apiVersion": api_version(), "kind": actor::KIND,
            "metadata": {"name": name, "namespace": "default"}, "spec": spec})
    }

    /// The API for a kind in namespace `default`.
    pub async fn api(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {}});
        objects::api_of(&self.client, &object).await.0
    }

    /// Writes a status, as the object's own controller would, as soon as the object is there.
    ///
    /// # Panics
    /// When the API server refuses it.
    pub async fn write_status(&self, api_version: &str, kind: &str, name: &str, status: &Value) {
        let api = self.api(api_version, kind).await;
        until(&format!("{kind} {name} is there"), || async {
            api.get_opt(name).await.expect("the API server answers")
        })
        .await;
        let body = json!({ "status": status });
        let (params, patch) = (PatchParams::default(), Patch::Merge(&body));
        if let Err(error) = api.patch_status(name, &params, &patch).await {
            panic!("{kind} {name}: {error}");
        }
    }

    /// How many calls the last step has answered.
    ///
    /// # Panics
    /// When it serves no metrics.
    pub fn passes(&self) -> u64 {
        let last = self.functions.last().expect("there are functions");
        let text = last.scrape();
        let count = |line: &str| line.rsplit(' ').next()?.parse::<f64>().ok();
        let lines = text.lines().filter(|line| {
            line.starts_with("grpc_server_handled_total{") && line.contains("RunFunction")
        });
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count"
        )]
        let passes = lines.filter_map(count).sum::<f64>() as u64;
        passes
    }

    /// What `kubectl` prints.
    ///
    /// # Panics
    /// When it fails.
    pub fn kubectl(&self, args: &[&str]) -> String {
        let output = Command::new(components::program("kubectl"))
            .args(args)
            .env("KUBECONFIG", self.cluster.kubeconfig())
            .output()
            .expect("kubectl starts");
        let talk = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {args:?}: {talk}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// `apiVersion` of an actor.
pub fn api_version() -> String {
    format!("{}/{}", actor::GROUP, actor::VERSION)
}
