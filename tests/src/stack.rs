//! The whole on real parts: API server, Crossplane core, our functions over mTLS, our provider.

use std::path::{Path, PathBuf};
use std::process::Command;

use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use test_cluster::cluster::Cluster;
use test_cluster::crossplane::Crossplane;
use test_cluster::registry::Registry;
use test_cluster::{components, objects, until};

use crate::examples::documents;
use crate::function::{self, Function};
use crate::metrics;
use crate::provider::Provider;

/// One of our Compositions for actors that are no claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pipeline {
    /// Each step is a function.
    SixSteps,
    /// One function runs all steps.
    OneStep,
}

impl Pipeline {
    /// The Composition's name, which is its folder's in `apis/`.
    pub fn name(self) -> &'static str {
        match self {
            Self::SixSteps => "asyncactors.asya.sh",
            Self::OneStep => "one-step.asyncactors.asya.sh",
        }
    }

    /// The functions that it names.
    pub fn functions(self) -> &'static [&'static str] {
        match self {
            Self::SixSteps => &function::ALL,
            Self::OneStep => &["function-asya"],
        }
    }
}

/// A cluster in which actors are composed. No KEDA, no kubelet and, unless the cluster has them, none
/// of the controllers of workloads run: tests write their statuses, and, until
/// [`start_provider`](Stack::start_provider), what the provider would.
///
/// Functions are made known to core by hand, or [installed](Stack::install).
pub struct Stack {
    // Provider, functions and core end before the API server does.
    provider: Option<Provider>,
    pub(crate) functions: Vec<Function>,
    /// Registry of packages.
    pub(crate) registry: Option<Registry>,
    /// With the rights that the provider has.
    pub(crate) provider_kubeconfig: PathBuf,
    /// Crossplane core.
    pub crossplane: Crossplane,
    /// The cluster.
    pub cluster: Cluster,
    /// A client with every right.
    pub client: kube::Client,
}

impl Stack {
    /// Starts everything but the provider, and waits until actors are served. All have every right,
    /// and core knows functions by hand that are processes of the test.
    ///
    /// # Panics
    /// When something does not start.
    pub async fn start() -> Self {
        let cluster = Cluster::start().await;
        cluster.install_kinds().await;
        cluster.install_keda().await;
        let crossplane = Crossplane::start(&cluster).await;
        Self::start_with(cluster, crossplane, Pipeline::SixSteps).await
    }

    /// Starts what is ours, but the provider, on a cluster that has our kinds and KEDA's, and waits
    /// until actors are served.
    ///
    /// # Panics
    /// When something does not start.
    pub async fn start_with(cluster: Cluster, crossplane: Crossplane, pipeline: Pipeline) -> Self {
        let certificate = crossplane.function_certificate().await;
        let certificate = certificate.to_str().expect("a path in UTF-8");
        let mut stack = Self::of(cluster, crossplane).await;
        for name in pipeline.functions() {
            let function = Function::start_with(name, &["--tls-certs-dir", certificate]);
            let port = function.address.port();
            stack.crossplane.install_function(name, port).await;
            stack.functions.push(function);
        }
        for file in ["definition.yaml", "composition.yaml"] {
            let folder = components::repository().join("apis").join(pipeline.name());
            stack.apply_file(&folder.join(file)).await;
        }
        stack.until_actors_are_served().await;
        stack
    }

    /// A cluster and core, and none of ours yet.
    pub(crate) async fn of(cluster: Cluster, crossplane: Crossplane) -> Self {
        Self {
            provider: None,
            functions: Vec::new(),
            registry: None,
            provider_kubeconfig: cluster.kubeconfig(),
            crossplane,
            client: cluster.client().await,
            cluster,
        }
    }

    /// Waits until the API server serves actors.
    ///
    /// # Panics
    /// When it does not in time.
    pub async fn until_actors_are_served(&self) {
        objects::api_of(&self.client, &self.actor("any", &json!({}))).await;
    }

    /// Starts the provider. It is at work some time later.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start_provider(&mut self) {
        self.start_provider_with(&[]);
    }

    /// Returns whether the provider was started.
    pub fn has_provider(&self) -> bool {
        self.provider.is_some()
    }

    /// Starts the provider with these arguments.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start_provider_with(&mut self, args: &[&str]) {
        self.provider = Some(Provider::start(&self.provider_kubeconfig, args));
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

    /// Sets an annotation.
    ///
    /// # Panics
    /// When the API server refuses it.
    pub async fn annotate(&self, api_version: &str, kind: &str, name: &str, note: (&str, &str)) {
        let api = self.api(api_version, kind).await;
        let body = json!({"metadata": {"annotations": {note.0: note.1}}});
        let (params, patch) = (PatchParams::default(), Patch::Merge(&body));
        if let Err(error) = api.patch(name, &params, &patch).await {
            panic!("{kind} {name}: {error}");
        }
    }

    /// Returns the number of calls that the last step has answered.
    ///
    /// # Panics
    /// When it serves no metrics.
    pub fn core_reconciliations(&self) -> u64 {
        let last = function::ALL[function::ALL.len() - 1];
        let mut functions = self.functions.iter();
        let last = functions.find(|function| function.name == last);
        let text = last.expect("the last step was started").scrape();
        metrics::sum(&text, "grpc_server_handled_total", "RunFunction")
    }

    /// Returns the numbers of calls that each function has answered, in the order in which they
    /// were started.
    ///
    /// # Panics
    /// When one serves no metrics.
    pub fn calls(&self) -> Vec<(String, u64)> {
        let calls = |function: &Function| {
            let text = function.scrape();
            metrics::sum(&text, "grpc_server_handled_total", "RunFunction")
        };
        let functions = self.functions.iter();
        functions
            .map(|function| (function.name.clone(), calls(function)))
            .collect()
    }

    /// The provider's metrics.
    ///
    /// # Panics
    /// When it was not started, or serves none.
    pub fn scrape_provider(&self) -> String {
        let provider = self.provider.as_ref().expect("the provider was started");
        provider.scrape()
    }

    /// Returns the number of reconciliations of the provider's controller of ActorHealth objects.
    ///
    /// # Panics
    /// When the provider was not started, or serves no metrics.
    pub fn provider_reconciliations(&self) -> u64 {
        let provider = self.provider.as_ref().expect("the provider was started");
        provider.reconciliations("actorhealth")
    }

    /// Output of `kubectl`.
    ///
    /// # Panics
    /// When it fails.
    pub async fn kubectl(&self, args: &[&str]) -> String {
        let mut command = Command::new(components::program("kubectl"));
        command
            .args(args)
            .env("KUBECONFIG", self.cluster.kubeconfig());
        // Others go on while it runs.
        let output = tokio::task::spawn_blocking(move || command.output()).await;
        let output = output.expect("it ends").expect("kubectl starts");
        let talk = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {args:?}: {talk}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The ends of the logs, for a test that fails.
    pub fn log(&self) -> String {
        let core = self.crossplane.log();
        let provider = self.provider.as_ref().map(Provider::log);
        format!("{core}\n{}", provider.unwrap_or_default())
    }
}

impl Stack {
    /// Requests that were refused until now for missing rights, from logs and events.
    ///
    /// # Panics
    /// When events cannot be read.
    pub async fn refusals(&self) -> Vec<String> {
        let events: Api<Event> = Api::all(self.client.clone());
        let events = events.list(&ListParams::default()).await.expect("a list");
        // One event stands for all that are equal.
        let shown = |event: Event| Some(format!("{} ({:?} times)", event.message?, event.count));
        let events = events.items.into_iter().filter_map(shown);
        let [core, manager] = self.crossplane.logs();
        let provider = self.provider.as_ref().map(Provider::log);
        let logs = [core, manager, provider.unwrap_or_default()];
        let lines = logs.iter().flat_map(|log| log.lines().map(str::to_owned));
        lines
            .chain(events)
            .filter(|line| line.contains("forbidden"))
            .collect()
    }
}

/// `apiVersion` of an actor.
pub fn api_version() -> String {
    format!("{}/{}", actor::GROUP, actor::VERSION)
}
