//! The workloads to inject into.

use actor::binding::{self, Strategy};
use actor::status::ConditionType;
use function_kit::{Call, Code, Diagnostic, Location, StepError, value};
use serde_json::{Map, Value};

use crate::Targets;

/// A workload that this reconcile desires.
#[derive(Debug)]
pub(crate) struct Target {
    /// Name of the composed resource.
    pub(crate) name: String,
    pub(crate) object: Value,
    /// JSON pointer of the pod template.
    template: &'static str,
    /// True if the pods are another owner's, to which the template is added.
    pub(crate) is_foreign: bool,
}

impl Target {
    /// The PodSpec in its template.
    pub(crate) fn pod_mut(&mut self) -> Option<&mut Map<String, Value>> {
        let template = self.object.pointer_mut(self.template)?;
        template.get_mut("spec")?.as_object_mut()
    }

    /// The names of the volumes that a StatefulSet makes for each pod.
    pub(crate) fn claimed_volumes(&self) -> Vec<String> {
        let claims = self.object["spec"]["volumeClaimTemplates"].as_array();
        let names = claims.into_iter().flatten();
        names
            .filter_map(|claim| Some(claim["metadata"]["name"].as_str()?.to_owned()))
            .collect()
    }
}

/// The targets that this reconcile desires; none while an actor whose adapter has a
/// Deployment of its own waits for that.
///
/// # Errors
/// When there is none of them, or one is no workload.
pub(crate) fn present(call: &Call, targets: &Targets) -> Result<Vec<Target>, StepError> {
    let error = |code, message, help: &str| {
        let diagnostic = Diagnostic::error(code, Location::input(["target"]), message);
        StepError::config(diagnostic.help(help)).on(ConditionType::WorkloadReady, "ConfigError")
    };
    let mut present = Vec::new();
    let mut waits = false;
    for name in targets.names() {
        let Some(object) = call.desired(name) else {
            continue;
        };
        let kind = value::text(object, &["kind"]).unwrap_or_default();
        let is_foreign = kind == binding::KIND;
        let strategy = value::text(object, &["spec", "forProvider", "strategy"]);
        if is_foreign && strategy == Some(Strategy::Adapter.as_str()) {
            waits = true;
            continue;
        }
        let Some(template) = template_of(kind) else {
            let message = format!(
                "the sidecar cannot be injected into composed resource {name:?}, a {kind:?}"
            );
            let help = "expected a Deployment, a StatefulSet or a WorkloadBinding";
            return Err(error(Code::UnsuitableTarget, message, help));
        };
        present.push(Target {
            name: name.clone(),
            object: value::struct_to_json(object),
            template,
            is_foreign,
        });
    }
    if present.is_empty() && !waits {
        let names = targets.names().join(", ");
        let message = format!(
            "there is no workload to inject the sidecar into: no step before this one renders any of the composed resources {names}"
        );
        let help = "name yours in 'target' of this step's input";
        return Err(error(Code::NoTarget, message, help));
    }
    Ok(present)
}

fn template_of(kind: &str) -> Option<&'static str> {
    match kind {
        "Deployment" | "StatefulSet" => Some("/spec/template"),
        binding::KIND => Some("/spec/forProvider/template"),
        _ => None,
    }
}
