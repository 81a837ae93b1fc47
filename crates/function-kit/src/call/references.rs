//! References to composed objects, which Crossplane writes into the actor before it applies them.

use std::collections::BTreeSet;

use pbjson_types::Struct;

use super::Call;
use crate::identity::is_legacy;
use crate::value;

/// Kind and name of a referenced object.
type Reference<'a> = [Option<&'a str>; 3];

impl Call {
    /// Returns whether Crossplane has a reference to a composed object of that kind: it was composed
    /// before, even if the API server refused it.
    pub fn has_reference(&self, api_version: &str, kind: &str) -> bool {
        let mut references = self.references();
        references.any(|[version, found, _]| version == Some(api_version) && found == Some(kind))
    }

    /// Returns whether Crossplane is about to write other references into the actor than it has, which
    /// raises the actor's generation by one. False for an actor without a revision of its Composition:
    /// Crossplane did not prepare it.
    pub fn changes_references(&self) -> bool {
        let crossplane = self.crossplane_fields();
        if crossplane.is_none_or(|fields| value::at(fields, &["compositionRevisionRef"]).is_none())
        {
            return false;
        }
        let desired = self.desired.iter().flat_map(|desired| &desired.resources);
        let desired = desired.filter_map(|(name, desired)| {
            let object = desired.resource.as_ref()?;
            // Crossplane keeps the name of an object that exists.
            let named = self.observed(name).unwrap_or(object);
            let name = value::text(named, &["metadata", "name"]);
            Some(reference(object, name))
        });
        self.references().collect::<BTreeSet<Reference>>() != desired.collect()
    }

    fn references(&self) -> impl Iterator<Item = Reference<'_>> {
        let references = self.crossplane_fields().into_iter();
        references
            .flat_map(|fields| value::list(fields, &["resourceRefs"]))
            .filter_map(value::as_struct)
            .map(|found| reference(found, value::text(found, &["name"])))
    }

    /// What Crossplane writes into the spec; a legacy XR has it in `spec` itself.
    fn crossplane_fields(&self) -> Option<&Struct> {
        let path: &[&str] = if is_legacy(self.xr()) {
            &["spec"]
        } else {
            &["spec", "crossplane"]
        };
        value::map(self.xr(), path)
    }
}

fn reference<'a>(object: &'a Struct, name: Option<&'a str>) -> Reference<'a> {
    let kind = value::text(object, &["kind"]);
    [value::text(object, &["apiVersion"]), kind, name]
}
