//! The rendered workload of an actor, as the API server checks it, with each problem at the field
//! that caused it.

use actor::binding::ADAPTER_RESOURCE_NAME;
use actor::diagnostic::{Code, Diagnostic, Location};
use actor::names::{RUNTIME_FILES_CONTAINER, SIDECAR_CONTAINER};
use actor::spec::WorkloadKind;
use function_kit::{Facts, value};
use merge::{FieldPath, Segment};
use pipeline::Outcome;

use crate::kubernetes::{Depth, Problem, Type, check, is_image};
use crate::render_result::resolved_spec;
use crate::workload_sources::{Sources, items, joined, key};

/// The image of the sidecar that the functions use if nothing sets one.
const DEFAULT_SIDECAR: &str = "asya-sidecar:latest";

/// Everything in the rendered workloads that the API server refuses, or that cannot run.
pub(super) fn problems(facts: &Facts, outcome: &Outcome) -> Vec<Diagnostic> {
    let spec = resolved_spec(outcome).unwrap_or_default();
    let names = [
        (WorkloadKind::Deployment.resource_name(), "DeploymentSpec"),
        (WorkloadKind::StatefulSet.resource_name(), "StatefulSetSpec"),
        (ADAPTER_RESOURCE_NAME, "DeploymentSpec"),
    ];
    let mut diagnostics = Vec::new();
    for (name, r#type) in names {
        let resource = outcome.desired.resources.get(name);
        let Some(object) = resource.and_then(|it| it.resource.as_ref()) else {
            continue;
        };
        let rendered = value::struct_to_json(object);
        let workload = &rendered["spec"];
        let problems = check(&Type::of(r#type), workload, &[], Depth::Workload);
        let source = Sources {
            spec: &spec,
            pod: &workload["template"]["spec"],
        };
        diagnostics.extend(
            problems
                .iter()
                .map(|problem| source.diagnostic(problem, facts)),
        );
        diagnostics.extend(source.images(facts));
    }
    diagnostics
}

impl Sources<'_> {
    fn diagnostic(&self, problem: &Problem, facts: &Facts) -> Diagnostic {
        let path = problem.path.segments();
        let platform = self.of_platform(path);
        let source = self.of(path).map(|path| facts.locate(&path.into()));
        let (location, message) = match source.or(platform) {
            Some(location) => {
                let message = problem.message(&location.path);
                (location, message)
            }
            None => {
                let rendered = problem.message(&problem.path);
                (
                    Location::actor(FieldPath::default()),
                    format!("rendered workload: {rendered}"),
                )
            }
        };
        let diagnostic = Diagnostic::error(problem.code, location, message);
        match &problem.help {
            Some(help) => diagnostic.help(help.clone()),
            None => diagnostic,
        }
    }

    /// Images that no container runtime can read, and the sidecar's if nothing sets it.
    fn images(&self, facts: &Facts) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for list in ["containers", "initContainers"] {
            for (index, container) in items(self.pod, list).iter().enumerate() {
                let image = container["image"].as_str().unwrap_or_default();
                let path = [
                    Segment::from("template"),
                    "spec".into(),
                    list.into(),
                    index.into(),
                    "image".into(),
                ];
                if image == DEFAULT_SIDECAR && container["name"] == SIDECAR_CONTAINER {
                    let location = Location::platform(["data"]);
                    let message = format!(
                        "nothing sets the sidecar's image, so pods run {DEFAULT_SIDECAR:?}"
                    );
                    let note = Diagnostic::info(Code::DefaultSidecarImage, location, message);
                    found.push(note.help("set sidecar.image"));
                } else if !image.is_empty() && !is_image(image) {
                    let source = self.of(&path).map(|path| facts.locate(&path.into()));
                    let location = source.or_else(|| self.of_platform(&path));
                    let location = location.unwrap_or_else(|| Location::actor(["spec"]));
                    let message =
                        format!("{}: {image:?} is no reference to an image", location.path);
                    let warning = Diagnostic::error(Code::InvalidImage, location, message);
                    found.push(warning.help("write [host[:port]/]path[:tag][@digest]"));
                }
            }
        }
        found
    }

    /// The platform's setting that gave a field of an injected container.
    fn of_platform(&self, path: &[Segment]) -> Option<Location> {
        let [_, _, Segment::Key(list), Segment::Index(index), rest @ ..] = path else {
            return None;
        };
        let name = self.pod[list.as_str()][*index]["name"].as_str()?;
        let is_injected = [SIDECAR_CONTAINER, RUNTIME_FILES_CONTAINER].contains(&name);
        let field = rest.first().map(key).unwrap_or_default();
        let is_set = ["image", "imagePullPolicy", "resources", "securityContext"].contains(&field);
        (is_injected && is_set).then(|| Location::platform(joined(&["data", "sidecar"], rest)))
    }
}
