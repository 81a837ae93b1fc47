//! `CompositeResourceDefinition`s: scope and default values.

use serde_json::Value;

use super::composite::Machinery;
use super::object::Object;

/// The API group of XRDs.
const GROUP: &str = "apiextensions.crossplane.io";

/// A `CompositeResourceDefinition`.
#[derive(Debug, Clone, PartialEq)]
pub struct Xrd(Object);

/// Reason for which an XRD does not apply to an XR.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum XrdError {
    /// The object is something else.
    #[error("{object} is not a CompositeResourceDefinition of {GROUP}/v1 or {GROUP}/v2")]
    NotAnXrd {
        /// Kind and name.
        object: String,
    },
    /// It defines another kind.
    #[error("CompositeResourceDefinition {name:?} defines {defines}, not {kind}")]
    OtherKind {
        /// Its name.
        name: String,
        /// Kind and group that it defines.
        defines: String,
        /// Kind and group of the XR.
        kind: String,
    },
    /// It does not have that version.
    #[error("CompositeResourceDefinition {name:?} has no version {version:?}")]
    NoVersion {
        /// Its name.
        name: String,
        /// Version of the XR.
        version: String,
    },
}

impl Xrd {
    /// Takes an object for an XRD.
    ///
    /// # Errors
    /// When it is something else.
    pub fn new(object: Object) -> Result<Self, XrdError> {
        let is_xrd = object.kind() == "CompositeResourceDefinition"
            && object
                .api_version()
                .split_once('/')
                .is_some_and(|(group, _)| group == GROUP);
        if is_xrd {
            Ok(Self(object))
        } else {
            let object = format!("{} {object}", object.api_version());
            Err(XrdError::NotAnXrd { object })
        }
    }

    /// Returns the location of Crossplane's own fields in XRs of this definition. A v1
    /// definition without scope is a legacy one.
    pub fn machinery(&self) -> Machinery {
        match self.0.get(&["spec", "scope"]).and_then(Value::as_str) {
            Some("LegacyCluster") => Machinery::Legacy,
            None if self.0.api_version().ends_with("/v1") => Machinery::Legacy,
            _ => Machinery::Modern,
        }
    }

    /// Returns whether it defines the kind of an XR, in any version.
    pub fn defines(&self, xr: &Object) -> bool {
        let group = xr.api_version().split_once('/').map(|(group, _)| group);
        let text = |path: &[&str]| self.0.get(path).and_then(Value::as_str);
        text(&["spec", "group"]) == group && text(&["spec", "names", "kind"]) == Some(xr.kind())
    }

    /// Fills in the schema's defaults, as the API server does before anybody sees
    /// the XR.
    ///
    /// # Errors
    /// When the definition is that of another kind, or lacks the XR's version.
    pub fn default_fields(&self, xr: &mut Object) -> Result<(), XrdError> {
        let (group, version) = xr.api_version().split_once('/').unwrap_or_default();
        let text = |path: &[&str]| self.0.get(path).and_then(Value::as_str).unwrap_or_default();
        let defined = (text(&["spec", "names", "kind"]), text(&["spec", "group"]));
        if defined != (xr.kind(), group) {
            return Err(XrdError::OtherKind {
                name: self.0.name().to_owned(),
                defines: format!("{}.{}", defined.0, defined.1),
                kind: format!("{}.{group}", xr.kind()),
            });
        }
        let versions = self.0.get(&["spec", "versions"]).and_then(Value::as_array);
        let mut versions = versions.into_iter().flatten();
        let Some(found) = versions.find(|candidate| candidate["name"] == version) else {
            return Err(XrdError::NoVersion {
                name: self.0.name().to_owned(),
                version: version.to_owned(),
            });
        };
        let schema = &found["schema"]["openAPIV3Schema"];
        for (key, value) in xr.map_mut(&[]) {
            if let Some(property) = schema["properties"].get(key) {
                default_value(value, property);
            }
        }
        Ok(())
    }
}

/// Fills the defaults of `schema` into what is inside `value`.
fn default_value(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(fields) => {
            let properties = schema["properties"].as_object();
            for (key, property) in properties.into_iter().flatten() {
                let Some(default) = property.get("default") else {
                    continue;
                };
                let held = fields.get(key);
                if held.is_none_or(|held| is_no_value(held, property)) {
                    fields.insert(key.clone(), default.clone());
                }
            }
            for (key, field) in fields {
                let property = properties.and_then(|properties| properties.get(key));
                let property = property.or_else(|| schema.get("additionalProperties"));
                if let Some(property) = property {
                    default_inside(field, property);
                }
            }
        }
        Value::Array(items) => {
            if let Some(of_items) = schema.get("items") {
                for item in items {
                    default_inside(item, of_items);
                }
            }
        }
        _ => {}
    }
}

fn default_inside(value: &mut Value, schema: &Value) {
    if let Some(default) = schema.get("default").filter(|_| is_no_value(value, schema)) {
        *value = default.clone();
    }
    default_value(value, schema);
}

/// Returns whether `value` is a null where null is no value.
fn is_no_value(value: &Value, schema: &Value) -> bool {
    value.is_null() && schema["nullable"] != true
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(document: &Value) -> Object {
        Object::from(document.as_object().unwrap().clone())
    }

    fn xrd(api_version: &str, scope: Option<&str>) -> Result<Xrd, XrdError> {
        Xrd::new(object(&json!({
            "apiVersion": api_version, "kind": "CompositeResourceDefinition", "metadata": {"name": "things.example.org"},
            "spec": {"group": "example.org", "names": {"kind": "Thing"}, "scope": scope, "versions": [
                {"name": "v1", "schema": {"openAPIV3Schema": {"properties": {"spec": {"default": {}, "properties": {
                    "size": {"default": 3},
                    "maybe": {"default": 1, "nullable": true},
                    "made": {"default": {}, "properties": {"inner": {"default": "x"}}},
                    "given": {"properties": {"inner": {"default": "x"}}},
                    "list": {"items": {"properties": {"inner": {"default": "x"}}}},
                    "map": {"additionalProperties": {"properties": {"inner": {"default": "x"}}}},
                }}}}}},
            ]},
        })))
    }

    #[test]
    fn scope_and_version_say_whether_an_xr_is_a_legacy_one() {
        let (v1, v2) = (
            "apiextensions.crossplane.io/v1",
            "apiextensions.crossplane.io/v2",
        );
        let cases = [
            (v1, None, Machinery::Legacy, "the default of v1"),
            (
                v1,
                Some("LegacyCluster"),
                Machinery::Legacy,
                "set explicitly",
            ),
            (
                v1,
                Some("Namespaced"),
                Machinery::Modern,
                "v1 can be modern",
            ),
            (v2, None, Machinery::Modern, "the default of v2"),
            (
                v2,
                Some("LegacyCluster"),
                Machinery::Legacy,
                "read back as v2",
            ),
        ];
        for (api_version, scope, expected, reason) in cases {
            assert_eq!(
                xrd(api_version, scope).unwrap().machinery(),
                expected,
                "{reason}"
            );
        }
        assert!(matches!(xrd("v1", None), Err(XrdError::NotAnXrd { .. })));
    }

    #[test]
    fn defaults_are_filled_in_where_the_api_server_fills_them_in() {
        let cases = [
            (json!(null), json!(null), "no spec, no defaults in it"),
            (
                json!({}),
                json!({"size": 3, "maybe": 1, "made": {"inner": "x"}}),
                "at any depth",
            ),
            (
                json!({"size": 5, "maybe": null, "made": {"inner": "y"}}),
                json!({"size": 5, "maybe": null, "made": {"inner": "y"}}),
                "what is set stays, a null too where it is a value",
            ),
            (
                json!({"size": null, "maybe": 2, "made": null, "given": {}, "list": [{}, 1], "map": {"a": {}}}),
                json!({"size": 3, "maybe": 2, "made": {"inner": "x"}, "given": {"inner": "x"},
                    "list": [{"inner": "x"}, 1], "map": {"a": {"inner": "x"}}}),
                "in lists and maps, and for a null that is none",
            ),
        ];
        for (spec, expected, reason) in cases {
            let mut thing = json!({"apiVersion": "example.org/v1", "kind": "Thing", "spec": spec});
            if spec.is_null() {
                thing.as_object_mut().unwrap().remove("spec");
            }
            let mut thing = object(&thing);
            xrd("apiextensions.crossplane.io/v2", None)
                .unwrap()
                .default_fields(&mut thing)
                .unwrap();
            assert_eq!(
                thing.get(&["spec"]).cloned().unwrap_or_default(),
                expected,
                "{reason}"
            );
        }
    }

    #[test]
    fn an_xrd_of_something_else_is_refused() {
        let cases = [
            (
                "example.org/v1",
                "Other",
                "defines Thing.example.org, not Other.example.org",
            ),
            (
                "other.org/v1",
                "Thing",
                "defines Thing.example.org, not Thing.other.org",
            ),
            ("example.org/v2", "Thing", "has no version \"v2\""),
        ];
        for (api_version, kind, message) in cases {
            let mut thing = object(&json!({"apiVersion": api_version, "kind": kind}));
            let xrd = xrd("apiextensions.crossplane.io/v2", None).unwrap();
            let error = xrd.default_fields(&mut thing).unwrap_err().to_string();
            assert!(error.ends_with(message), "{error}");
        }
    }
}
