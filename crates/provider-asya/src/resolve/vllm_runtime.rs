//! VLLMRuntime of vLLM's production stack: Deployment and Service of its own name.
//!
//! Both have it as controller; the Deployment itself has no labels, its pods carry
//! `app: <name>`. The Service has port 80. The VLLMRuntime has no conditions.
//! Source: vllm-project/production-stack 0.1.12,
//! `operator/internal/controller/vllmruntime_controller.go`.

use super::target::{DEPLOYMENT, Maker, Target};
use super::{QueryResults, Resolved, Unresolved};

const OPERATOR: Maker = Maker {
    name: "vLLM's operator",
    conditions: &[],
};

pub(super) fn resolve(target: &Target, results: &QueryResults) -> Result<Resolved, Unresolved> {
    let name = target.name();
    let deployment = target.made(results, &OPERATOR, DEPLOYMENT, name)?;
    Ok(target.run_by(deployment, Some(format!("http://{name}"))))
}
