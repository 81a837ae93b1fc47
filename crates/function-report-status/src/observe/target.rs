//! The workload that an actor in mode Binding works on.

use actor::status::ResolvedTarget;
use function_kit::value;
use pbjson_types::Struct;

use super::workload::count;

/// What the observed `WorkloadBinding` says of its target.
#[derive(Debug, Default)]
pub(crate) struct Target {
    /// The workload that was found.
    pub(crate) resolved: Option<ResolvedTarget>,
    /// How often another controller removed what was injected.
    pub(crate) conflict_count: Option<u32>,
    /// When it last did, RFC 3339.
    pub(crate) last_conflict_time: Option<String>,
}

impl Target {
    pub(super) fn read(object: &Struct) -> Self {
        let at_provider = |key| ["status", "atProvider", key];
        let resolved = value::map(object, &at_provider("resolvedTarget"));
        Self {
            resolved: resolved.and_then(|target| {
                Some(ResolvedTarget {
                    api_version: value::text(target, &["apiVersion"])?.to_owned(),
                    kind: value::text(target, &["kind"])?.to_owned(),
                    name: value::text(target, &["name"])?.to_owned(),
                })
            }),
            conflict_count: count(object, &at_provider("conflictCount")),
            last_conflict_time: value::text(object, &at_provider("lastConflictTime"))
                .map(str::to_owned),
        }
    }
}
