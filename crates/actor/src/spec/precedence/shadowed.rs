//! Inline fields of a flavor that the actor's own `workload` or `runtime` sets. Rendering lays a template
//! over inline fields: what it replaces would be shown as part of the actor without any effect.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    CONTAINER, Document, Field, InnerKeys, Items, Keys, METADATA, POD, RUNTIME, Rule, WORKLOAD,
    Yielding, is_set, keys_of, map, remove_keys,
};
use crate::names::{HANDLER_VARIABLE, RUNTIME_CONTAINER};

impl Yielding<'_> {
    /// Removes these fields from a flavor.
    pub(super) fn remove_shadowed(&mut self, flavor: &mut Document) {
        let own = self.own;
        if let Some(runtime) = own.get("runtime") {
            self.remove_below(flavor, &RUNTIME, runtime);
        }
        let Some(workload) = own.get("workload") else {
            return;
        };
        self.remove_below(flavor, &WORKLOAD, workload);
        let template = &workload["template"];
        self.remove_below(flavor, &METADATA, &template["metadata"]);
        let pod = &template["spec"];
        self.remove_below(flavor, &POD, pod);
        let containers = pod["containers"].as_array().into_iter().flatten();
        for container in containers.filter(|container| container["name"] == RUNTIME_CONTAINER) {
            self.remove_below(flavor, &CONTAINER, container);
            let variables = names_of(container.get("env"), &["name"]);
            if variables.contains(&vec![HANDLER_VARIABLE]) {
                flavor.remove("handler");
            }
        }
    }

    /// Removes the inline fields that rules relate to what `own` sets.
    fn remove_below(&mut self, flavor: &mut Document, rules: &[(&str, Rule)], own: &Value) {
        for (inline, rule) in rules {
            match rule {
                Field(field) => {
                    if is_set(own.get(field)) {
                        flavor.remove(*inline);
                    }
                }
                Keys(field) => drop(remove_keys(flavor, inline, &own[field], &[])),
                InnerKeys(field) => {
                    let Some(place) = map(flavor, inline) else {
                        continue;
                    };
                    for (key, own) in own[field].as_object().into_iter().flatten() {
                        if own.is_array() {
                            place.remove(key);
                        } else {
                            drop(remove_keys(place, key, own, &[]));
                        }
                    }
                    if place.is_empty() {
                        flavor.remove(*inline);
                    }
                }
                // Variables of one Secret stay together.
                Items(..) if *inline == "secretRefs" => {}
                Items(field, keys) => {
                    let names = names_of(own.get(field), keys);
                    let keys: &[&str] = if *inline == "volumes" {
                        &["name"]
                    } else {
                        keys
                    };
                    self.remove_items(flavor, &[], (inline, keys), &names);
                }
            }
        }
    }
}

fn names_of<'a>(items: Option<&'a Value>, keys: &[&str]) -> BTreeSet<Vec<&'a str>> {
    let items = items.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|item| keys_of(item, keys)).collect()
}
