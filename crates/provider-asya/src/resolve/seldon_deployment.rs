//! Seldon Core 1's SeldonDeployment: its Deployment, where it has made one alone.
//!
//! A Deployment for each `componentSpecs` of each predictor, one for each explainer, and
//! names made of containers' names or a hash: so they are found by label and owner, not
//! by name. The label `seldon-deployment-id` is the name, hashed where that is longer than
//! a label may be. With several of them the SeldonDeployment itself is the workload; no
//! containers can be injected then, since it is unknown into which.
//!
//! `status.address.url` is the Service of the first predictor with the path of its
//! protocol; adapters append that themselves, so the path is cut off. `/scale` sets
//! `spec.replicas`, which counts only where no predictor and no component has a number of
//! its own.
//! Source: SeldonIO/seldon-core v1.18, `operator/controllers/seldondeployment_controller.go`
//! (`createAddressableResource`), `operator/apis/machinelearning.seldon.io/v1/seldondeployment_types.go`.

use serde_json::Value;

use super::object::{is_set, name};
use super::target::{DEPLOYMENT, Maker, Target};
use super::{QueryResult, QueryResults, Resolved, Unresolved};

const SELDON: Maker = Maker {
    name: "Seldon",
    conditions: &["DeploymentsReady", "Ready"],
};
const ID: &str = "seldon-deployment-id";
/// Label of everything that Seldon makes.
const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "seldon-core");
/// Longest value of a label.
const LABEL_MAX: usize = 63;

pub(super) fn resolve(target: &Target, results: &QueryResults) -> Result<Resolved, Unresolved> {
    let is_label = target.name().len() <= LABEL_MAX;
    let label = if is_label {
        (ID, target.name())
    } else {
        MANAGED_BY
    };
    let (group, kind) = DEPLOYMENT;
    let listed: &[Value] = match results.labelled(group, kind, &[label])? {
        QueryResult::NotServed => &[],
        QueryResult::Objects(objects) => objects,
    };
    let own: Vec<&Value> = listed
        .iter()
        .filter(|object| target.controls(object))
        .collect();
    // No label of the pods is known for a hashed name.
    let of_pods: &[_] = if is_label { &[label] } else { &[] };
    let mut resolved = match own.as_slice() {
        [] => return Err(target.waits(&SELDON, "has not made a Deployment of it yet")),
        [deployment] => target.run_by(target.unless_deleted(deployment, &SELDON)?, url(target)),
        several => Resolved {
            injection: Err(which(several)),
            ..target.labelled_by(target.object, of_pods, url(target))
        },
    };
    if let Some(reason) = own_count(target.object) {
        resolved.scale = Err(reason);
    }
    Ok(resolved)
}

fn which(several: &[&Value]) -> String {
    let names: Vec<String> = several
        .iter()
        .map(|deployment| format!("{:?}", name(deployment)))
        .collect();
    format!(
        "it has {} Deployments, {}, and it is not defined which of them: bind to one of them as a Deployment",
        names.len(),
        names.join(", ")
    )
}

/// Returns why `spec.replicas` has no effect; none if it has.
fn own_count(object: &Value) -> Option<String> {
    let predictors = object["spec"]["predictors"].as_array()?;
    let place = predictors
        .iter()
        .enumerate()
        .find_map(|(index, predictor)| {
            let place = format!("spec.predictors[{index}]");
            if is_set(predictor, "/replicas") {
                return Some(format!("{place}.replicas"));
            }
            let components = predictor["componentSpecs"].as_array()?;
            let component = components
                .iter()
                .position(|component| is_set(component, "/replicas"))?;
            Some(format!("{place}.componentSpecs[{component}].replicas"))
        })?;
    Some(format!(
        "{place} of the SeldonDeployment overrides the number that is set by scaling: remove it"
    ))
}

fn url(target: &Target) -> Option<String> {
    let url = target.text("/status/address/url");
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split('/').next().filter(|host| !host.is_empty())?;
    Some(format!("{scheme}://{host}"))
}
