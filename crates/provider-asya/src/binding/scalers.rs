//! Foreign scalers: HPAs and ScaledObjects of others on the target or its workload.

use actor::binding::ObjectReference;
use actor::health::{self, ForeignScaler, Scaler};

/// The first foreign scaler on these objects, in their order; none where only the actor's own scale them.
///
/// Scalers name their target by kind and name, so the group and version do not matter.
pub fn foreign<'a>(
    actor: &str,
    objects: impl IntoIterator<Item = &'a ObjectReference>,
    scalers: &[Scaler],
) -> Option<ForeignScaler> {
    objects.into_iter().find_map(|object| {
        let on_it: Vec<&Scaler> = scalers
            .iter()
            .filter(|scaler| scaler.target.kind == object.kind && scaler.target.name == object.name)
            .collect();
        health::foreign_scaler(actor, &on_it)
    })
}

#[cfg(test)]
mod tests {
    use actor::health::WorkloadReference;

    use super::*;

    fn object(kind: &str) -> ObjectReference {
        ObjectReference {
            api_version: "any/v1".to_owned(),
            kind: kind.to_owned(),
            name: "llm".to_owned(),
        }
    }

    fn scaler(name: &str, target: &str, actor: Option<&str>) -> Scaler {
        Scaler {
            itself: ForeignScaler {
                api_version: "autoscaling/v2".to_owned(),
                kind: "HorizontalPodAutoscaler".to_owned(),
                name: name.to_owned(),
            },
            target: WorkloadReference {
                kind: target.to_owned(),
                name: "llm".to_owned(),
            },
            actor: actor.map(str::to_owned),
            is_kedas: false,
            seen: None,
            desired: None,
        }
    }

    #[test]
    fn a_scaler_on_target_or_workload_is_foreign_unless_it_is_the_actors() {
        let kedas = |name| Scaler {
            is_kedas: true,
            ..scaler(name, "Deployment", None)
        };
        let cases = [
            ("none", vec![], None),
            (
                "on the workload",
                vec![scaler("hpa", "Deployment", None)],
                Some("hpa"),
            ),
            (
                "the scale target's first",
                vec![
                    scaler("a", "Deployment", None),
                    scaler("b", "VLLMRuntime", None),
                ],
                Some("b"),
            ),
            (
                "on something else",
                vec![scaler("hpa", "StatefulSet", None)],
                None,
            ),
            (
                "the actor's own",
                vec![scaler("own", "Deployment", Some("embedder"))],
                None,
            ),
            (
                "another actor's",
                vec![scaler("so", "Deployment", Some("other"))],
                Some("so"),
            ),
            (
                "made by KEDA for a ScaledObject",
                vec![kedas("keda-hpa")],
                None,
            ),
        ];
        for (reason, scalers, expected) in cases {
            let objects = [object("VLLMRuntime"), object("Deployment")];
            let found = foreign("embedder", &objects, &scalers);
            assert_eq!(
                found.map(|found| found.name).as_deref(),
                expected,
                "{reason}"
            );
        }
    }
}
