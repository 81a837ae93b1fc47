//! Defaults of fields that no document sets.

use actor::binding::Strategy;
use actor::duration::format;
use actor::platform::Platform;
use actor::spec::{Form, Spec, WorkloadKind};
use actor::timeout::runtime_timeout_and_place;
use actor::transport::{Config, Transport};
use merge::FieldPath;
use serde_json::{Value, json};

use super::{Explanation, Field, Origin, Resolved};

/// Adds every field that is not set and has a default.
pub(super) fn add(explanation: &mut Explanation, resolved: &Resolved<'_>, spec: &Spec) {
    let mut defaults = Defaults {
        explanation,
        platform: resolved.platform(),
    };
    let of_name = Origin::Default(Some("metadata.name".to_owned()));
    defaults.add(["actor"], super::name(resolved.inputs), of_name);
    let form = Form::of(spec).ok();
    if form == Some(Form::WorkloadRef) {
        defaults.binding(spec);
    }
    if form == Some(Form::Inline) {
        let policy = json!(spec.image_pull_policy());
        defaults.add(["imagePullPolicy"], policy, plain());
    }
    if let (Some(Form::Workload), Some(workload)) = (form, &spec.workload) {
        defaults.add(["workload", "kind"], json!(workload.kind), plain());
    }
    if form.is_some_and(|form| form != Form::WorkloadRef) {
        defaults.python(spec);
        defaults.replicas(spec, resolved);
    }
    defaults.scaling(spec);
    defaults.timeout(spec);
    defaults.sidecar();
    defaults.queue(spec, resolved);
}

const RESTORE: [&str; 3] = ["scaling", "advanced", "restoreToOriginalReplicaCount"];

struct Defaults<'a> {
    explanation: &'a mut Explanation,
    platform: Platform,
}

impl Defaults<'_> {
    /// Adds a field unless it is set.
    fn add<const N: usize>(&mut self, path: [&str; N], value: impl Into<Value>, origin: Origin) {
        let path = FieldPath::from(path);
        if !self.explanation.is_set(&path) {
            self.explanation.fields.retain(|field| field.path != path);
            let value = value.into();
            self.explanation.fields.push(Field {
                path,
                plain: value.clone(),
                value,
                origin,
                is_replaced: false,
            });
        }
    }

    fn binding(&mut self, spec: &Spec) {
        if let (Some(strategy), Some(target)) = (spec.strategy(), &spec.workload_ref) {
            let origin = Origin::Default(Some(format!("{} targets", target.kind)));
            self.add(["binding", "strategy"], json!(strategy), origin);
            if strategy == Strategy::Inject && spec.scaling.enabled() {
                let origin = Origin::Default(Some("bound workloads".to_owned()));
                self.add(RESTORE, true, origin);
            }
        }
        self.add(["binding", "scaleTarget"], false, plain());
        if let Some(image) = self.platform.runtime.adapter_image.clone() {
            let origin = platform("runtime.adapterImage");
            // A flavor's image goes before the platform's.
            if spec.image.is_none() {
                self.add(["runtime", "image"], image, origin);
            }
        }
    }

    fn python(&mut self, spec: &Spec) {
        let python = spec.python_executable();
        let origin = if python == Spec::default().python_executable() {
            plain()
        } else {
            Origin::Default(Some("ASYA_PYTHONEXECUTABLE in env".to_owned()))
        };
        self.add(["pythonExecutable"], python, origin);
    }

    fn scaling(&mut self, spec: &Spec) {
        let scaling = &spec.scaling;
        self.add(["scaling", "enabled"], scaling.enabled(), plain());
        if !scaling.enabled() {
            return;
        }
        for (field, value) in [
            ("minReplicaCount", scaling.min()),
            ("maxReplicaCount", scaling.max()),
            ("pollingInterval", scaling.polling_interval()),
            ("cooldownPeriod", scaling.cooldown_period()),
            ("queueLength", scaling.queue_length()),
        ] {
            self.add(["scaling", field], value, plain());
        }
        self.add(RESTORE, false, plain());
        let of_keda = Origin::Default(Some("KEDA".to_owned()));
        self.add(["scaling", "initialCooldownPeriod"], 0, of_keda);
    }

    /// The timeout, if neither the actor nor an environment variable sets it.
    fn timeout(&mut self, spec: &Spec) {
        if let Ok((timeout, None)) = runtime_timeout_and_place(spec) {
            self.add(["resiliency", "actorTimeout"], format(timeout), plain());
        }
    }

    /// The number of pods without scaling: that of the live workload, else one.
    fn replicas(&mut self, spec: &Spec, resolved: &Resolved<'_>) {
        let of_workload = spec
            .workload
            .as_ref()
            .and_then(|workload| workload.replicas);
        if spec.scaling.enabled() || of_workload.is_some() {
            return;
        }
        let mut kinds = [WorkloadKind::Deployment, WorkloadKind::StatefulSet].into_iter();
        let live = kinds.find_map(|kind| resolved.observed(kind.resource_name()));
        match live.and_then(|live| live.get(&["spec", "replicas"])) {
            Some(live) => {
                let origin = Origin::Default(Some("the live workload's".to_owned()));
                self.add(["replicas"], live.clone(), origin);
            }
            None => self.add(["replicas"], 1, plain()),
        }
    }

    fn sidecar(&mut self) {
        let of_platform = self.platform.sidecar.clone();
        if let Some(image) = of_platform.image {
            self.add(["sidecar", "image"], image, platform("sidecar.image"));
        }
        let origin = match of_platform.image_pull_policy {
            Some(_) => platform("sidecar.imagePullPolicy"),
            None => plain(),
        };
        let policy = of_platform.image_pull_policy.unwrap_or_default();
        self.add(["sidecar", "imagePullPolicy"], json!(policy), origin);
        if let Some(resources) = of_platform.resources {
            self.add(
                ["sidecar", "resources"],
                resources,
                platform("sidecar.resources"),
            );
        }
    }

    fn queue(&mut self, spec: &Spec, resolved: &Resolved<'_>) {
        const DELETION_POLICY: &str = "queueDeletionPolicy";
        self.add(["queue", "adopt"], false, plain());
        let given = resolved
            .platform
            .get(DELETION_POLICY)
            .and_then(Value::as_str);
        let origin = if given.is_some_and(|given| !given.is_empty()) {
            platform(DELETION_POLICY)
        } else {
            plain()
        };
        let policy = json!(self.platform.queue_deletion_policy);
        self.add(["queue", "deletionPolicy"], policy, origin);
        if let Some(transport) = resolved.transport(spec) {
            self.dead_letter(spec, &transport);
        }
    }

    fn dead_letter(&mut self, spec: &Spec, transport: &Transport) {
        let of_platform = match &transport.config {
            Config::Sqs(sqs) => sqs.dead_letter,
            Config::RabbitMq(rabbitmq) => rabbitmq.dead_letter,
        };
        let origin = |field: &str, is_set: bool| {
            if is_set {
                platform(&format!(
                    "transports.{}.config.deadLetter.{field}",
                    transport.name
                ))
            } else {
                Origin::Default(Some(format!("transport type {}", transport.r#type())))
            }
        };
        let dead_letter = transport.dead_letter(spec.queue.dead_letter);
        let path = |field| ["queue", "deadLetter", field];
        let enabled = origin("enabled", of_platform.enabled.is_some());
        self.add(path("enabled"), dead_letter.enabled, enabled);
        if dead_letter.enabled {
            let count = origin("maxReceiveCount", of_platform.max_receive_count.is_some());
            self.add(
                path("maxReceiveCount"),
                dead_letter.max_receive_count,
                count,
            );
        }
    }
}

fn plain() -> Origin {
    Origin::Default(None)
}

fn platform(setting: &str) -> Origin {
    Origin::Platform(setting.to_owned())
}

impl Resolved<'_> {
    /// The platform's settings; nothing is set where they cannot be read, which
    /// resolve-flavors has reported.
    pub(super) fn platform(&self) -> Platform {
        Platform::parse(Value::Object(self.platform.clone())).unwrap_or_default()
    }

    /// The effective transport, if there is one.
    pub(super) fn transport(&self, spec: &Spec) -> Option<Transport> {
        self.platform().transport(spec.transport.as_deref()?).ok()
    }
}
