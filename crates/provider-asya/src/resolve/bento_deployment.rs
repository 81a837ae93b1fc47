//! Yatai's BentoDeployment: Deployment and Service of its own name, of its API server.
//!
//! Both have it as controller; the Service has port 3000. Runners have Deployments of
//! their own (`<name>-runner-<i>`), which the API server calls. Condition `Available` is
//! True before anything is made, so it explains nothing.
//! Source: bentoml/yatai-deployment v1.1.21, `controllers/bentodeployment_controller.go`.

use super::target::{DEPLOYMENT, Maker, Target};
use super::{QueryResults, Resolved, Unresolved};

const YATAI: Maker = Maker {
    name: "Yatai",
    conditions: &["Available"],
};

pub(super) fn resolve(target: &Target, results: &QueryResults) -> Result<Resolved, Unresolved> {
    let name = target.name();
    let deployment = target.made(results, &YATAI, DEPLOYMENT, name)?;
    Ok(target.run_by(deployment, Some(format!("http://{name}:3000"))))
}
