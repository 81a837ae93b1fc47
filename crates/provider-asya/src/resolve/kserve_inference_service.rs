//! KServe's InferenceService: Deployment `<name>-predictor` in Standard mode, a Service
//! of Knative's with that name in Knative mode.
//!
//! `status.deploymentMode` contains the mode, under names that have changed: `RawDeployment`
//! is Standard, `Serverless` Knative. An older KServe does not write it: then the
//! annotation counts, and without one whichever of the two exists, because the default
//! is in KServe's own configuration. Both have the InferenceService as controller.
//! `spec.predictor.name` goes between the two parts of the name.
//! `status.address.url` is where it listens, a transformer before the predictor included.
//! With `serving.kserve.io/stop` KServe deletes all of it.
//! Source: kserve/kserve v0.20, `pkg/constants/constants.go`,
//! `pkg/controller/v1beta1/inferenceservice/controller.go`, `components/predictor.go`,
//! `reconcilers/{deployment,autoscaler,knative}`.
//!
//! Pods of all revisions carry the label `serving.knative.dev/service`, and Knative alone
//! sets their number. Source: knative/serving v1.23, `pkg/apis/serving/register.go`,
//! `pkg/reconciler/revision/resources/meta.go`.

use super::object::{annotation, is_set, name};
use super::target::{Behind, DEPLOYMENT, Kind, Maker, Target};
use super::{QueryResults, Resolved, Unresolved};

const KSERVE: Maker = Maker {
    name: "KServe",
    conditions: &["PredictorReady", "Ready"],
};
const KNATIVE_SERVICE: Kind = ("serving.knative.dev", "Service");

const MODE: &str = "serving.kserve.io/deploymentMode";
const AUTOSCALER: &str = "serving.kserve.io/autoscalerClass";
/// KServe refuses to change the mode of an existing InferenceService.
const ANEW: &str = "create it again with annotation serving.kserve.io/deploymentMode: Standard";
const STOP: &str = "serving.kserve.io/stop";

pub(super) fn resolve(target: &Target, results: &QueryResults) -> Result<Resolved, Unresolved> {
    let isvc = target.reference();
    if annotation(target.object, STOP).eq_ignore_ascii_case("true") {
        return Err(Unresolved::no_workload(format!(
            "{isvc} is stopped: remove its annotation {STOP}"
        )));
    }
    let predictor = predictor(target);
    let modes = [
        target.text("/status/deploymentMode"),
        annotation(target.object, MODE),
    ];
    match modes.into_iter().find(|mode| !mode.is_empty()) {
        Some("Standard" | "RawDeployment") => standard(target, results, &predictor),
        Some("Knative" | "Serverless") => knative(target, results, &predictor),
        Some("ModelMesh") => Err(Unresolved::no_workload(format!(
            "{isvc} is served by ModelMesh, whose pods serve many models: {ANEW}"
        ))),
        Some(mode) => Err(Unresolved::no_workload(format!(
            "{isvc} has deployment mode {mode:?}, which is not supported: {ANEW}"
        ))),
        None => whichever(target, results, &predictor),
    }
}

/// An unspecified mode is the one whose workload exists.
fn whichever(
    target: &Target,
    results: &QueryResults,
    predictor: &str,
) -> Result<Resolved, Unresolved> {
    let deployment = target.behind(results, DEPLOYMENT, predictor)?;
    if matches!(deployment, Behind::Made(_)) {
        return standard(target, results, predictor);
    }
    match target.behind(results, KNATIVE_SERVICE, predictor)? {
        Behind::Made(_) => knative(target, results, predictor),
        Behind::Foreign(_) | Behind::Absent => {
            Err(target.waits(&KSERVE, "has not reported how it deploys it"))
        }
    }
}

fn predictor(target: &Target) -> String {
    let isvc = target.name();
    match target.text("/spec/predictor/name") {
        "" => format!("{isvc}-predictor"),
        name => format!("{isvc}-{name}-predictor"),
    }
}

fn standard(
    target: &Target,
    results: &QueryResults,
    predictor: &str,
) -> Result<Resolved, Unresolved> {
    let deployment = target.made(results, &KSERVE, DEPLOYMENT, predictor)?;
    let mut resolved = target.run_by(deployment, url(target));
    if let Some(reason) = kept_count(target) {
        resolved.scale = Err(reason);
    }
    Ok(resolved)
}

/// Returns why KServe sets the number of pods of a Deployment itself. An HPA or ScaledObject of KServe is
/// found as a foreign scaler instead.
fn kept_count(target: &Target) -> Option<String> {
    if is_set(target.object, "/spec/predictor/workerSpec") {
        return Some(
            "its predictor runs over several nodes (spec.predictor.workerSpec), head and workers in step"
                .to_owned(),
        );
    }
    (annotation(target.object, AUTOSCALER) == "none").then(|| {
        format!(
            "annotation {AUTOSCALER} is \"none\", with which KServe keeps to minReplicas: set it to \"external\""
        )
    })
}

fn knative(
    target: &Target,
    results: &QueryResults,
    predictor: &str,
) -> Result<Resolved, Unresolved> {
    let service = target.made(results, &KSERVE, KNATIVE_SERVICE, predictor)?;
    let labels = [("serving.knative.dev/service", name(service))];
    Ok(Resolved {
        scale: Err(format!(
            "Knative sets their number by the requests that it sees: {ANEW}"
        )),
        injection: Err("Knative makes its pods, from revisions that never change".to_owned()),
        ..target.labelled_by(service, &labels, url(target))
    })
}

fn url(target: &Target) -> Option<String> {
    let url = target.text("/status/address/url");
    (!url.is_empty()).then(|| url.to_owned())
}
