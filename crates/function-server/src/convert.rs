//! Conversion between the messages of `function-proto` and those of the SDK.
//!
//! Both are generated from the same protocol. Documents (`Struct`) are of one type in both and are
//! moved, so that a conversion costs one small allocation per object, not per field.

use std::collections::HashMap;

use function_proto::v1 as ours;
use function_sdk_rust::proto::v1 as sdk;

/// The SDK's request as ours.
pub(crate) fn request(request: sdk::RunFunctionRequest) -> ours::RunFunctionRequest {
    ours::RunFunctionRequest {
        meta: request.meta.map(|meta| ours::RequestMeta {
            tag: meta.tag,
            capabilities: meta.capabilities,
        }),
        observed: request.observed.map(state),
        desired: request.desired.map(state),
        input: request.input,
        context: request.context,
        extra_resources: values(request.extra_resources, resources),
        credentials: values(request.credentials, credentials),
        required_resources: values(request.required_resources, resources),
        required_schemas: values(request.required_schemas, |schema| ours::Schema {
            openapi_v3: schema.openapi_v3,
        }),
    }
}

/// Our response as the SDK's.
pub(crate) fn response(response: ours::RunFunctionResponse) -> sdk::RunFunctionResponse {
    sdk::RunFunctionResponse {
        meta: response.meta.map(|meta| sdk::ResponseMeta {
            tag: meta.tag,
            ttl: meta.ttl,
        }),
        desired: response.desired.map(|state| sdk::State {
            composite: state.composite.map(sdk_resource),
            resources: values(state.resources, sdk_resource),
        }),
        results: response.results.into_iter().map(result).collect(),
        context: response.context,
        requirements: response.requirements.map(requirements),
        conditions: response.conditions.into_iter().map(condition).collect(),
        output: response.output,
    }
}

fn values<V, W>(map: HashMap<String, V>, convert: impl Fn(V) -> W) -> HashMap<String, W> {
    let entries = map.into_iter();
    entries.map(|(key, value)| (key, convert(value))).collect()
}

fn state(state: sdk::State) -> ours::State {
    ours::State {
        composite: state.composite.map(resource),
        resources: values(state.resources, resource),
    }
}

fn resource(resource: sdk::Resource) -> ours::Resource {
    ours::Resource {
        resource: resource.resource,
        connection_details: resource.connection_details,
        ready: resource.ready,
    }
}

fn sdk_resource(resource: ours::Resource) -> sdk::Resource {
    sdk::Resource {
        resource: resource.resource,
        connection_details: resource.connection_details,
        ready: resource.ready,
    }
}

fn resources(resources: sdk::Resources) -> ours::Resources {
    ours::Resources {
        items: resources.items.into_iter().map(resource).collect(),
    }
}

fn credentials(credentials: sdk::Credentials) -> ours::Credentials {
    use ours::credentials::Source;
    ours::Credentials {
        source: credentials.source.map(|source| match source {
            sdk::credentials::Source::CredentialData(data) => {
                Source::CredentialData(ours::CredentialData { data: data.data })
            }
        }),
    }
}

fn result(result: ours::Result) -> sdk::Result {
    sdk::Result {
        severity: result.severity,
        message: result.message,
        reason: result.reason,
        target: result.target,
    }
}

fn condition(condition: ours::Condition) -> sdk::Condition {
    sdk::Condition {
        r#type: condition.r#type,
        status: condition.status,
        reason: condition.reason,
        message: condition.message,
        target: condition.target,
    }
}

fn requirements(requirements: ours::Requirements) -> sdk::Requirements {
    sdk::Requirements {
        extra_resources: values(requirements.extra_resources, selector),
        resources: values(requirements.resources, selector),
        schemas: values(requirements.schemas, |schema| sdk::SchemaSelector {
            api_version: schema.api_version,
            kind: schema.kind,
        }),
    }
}

fn selector(selector: ours::ResourceSelector) -> sdk::ResourceSelector {
    use sdk::resource_selector::Match;
    sdk::ResourceSelector {
        api_version: selector.api_version,
        kind: selector.kind,
        namespace: selector.namespace,
        r#match: selector.r#match.map(|r#match| match r#match {
            ours::resource_selector::Match::MatchName(name) => Match::MatchName(name),
            ours::resource_selector::Match::MatchLabels(labels) => {
                Match::MatchLabels(sdk::MatchLabels {
                    labels: labels.labels,
                })
            }
        }),
    }
}

#[cfg(test)]
mod tests {
    use filled::{filled_request, filled_response};
    use prost::Message as _;

    use super::*;

    mod filled {
        //! Messages in which every field has a value of its own.

        use super::*;
        use pbjson_types::{Duration, Struct, Value, value::Kind};

        fn document(text: &str) -> Struct {
            let value = Value {
                kind: Some(Kind::StringValue(text.to_owned())),
            };
            Struct {
                fields: HashMap::from([("key".to_owned(), value)]),
            }
        }

        fn one<V>(key: &str, value: V) -> HashMap<String, V> {
            HashMap::from([(key.to_owned(), value)])
        }

        fn resource(name: &str, ready: i32) -> sdk::Resource {
            sdk::Resource {
                resource: Some(document(name)),
                connection_details: one(name, name.as_bytes().to_vec()),
                ready,
            }
        }

        fn state(name: &str) -> sdk::State {
            sdk::State {
                composite: Some(resource(name, 1)),
                resources: one(name, resource(name, 2)),
            }
        }

        pub(super) fn filled_request() -> sdk::RunFunctionRequest {
            let items = |name| sdk::Resources {
                items: vec![resource(name, 0)],
            };
            let data = sdk::CredentialData {
                data: one("token", vec![1, 2]),
            };
            sdk::RunFunctionRequest {
                meta: Some(sdk::RequestMeta {
                    tag: "tag".to_owned(),
                    capabilities: vec![1, 3],
                }),
                observed: Some(state("observed")),
                desired: Some(state("desired")),
                input: Some(document("input")),
                context: Some(document("context")),
                extra_resources: one("extra", items("extra")),
                credentials: one(
                    "aws",
                    sdk::Credentials {
                        source: Some(sdk::credentials::Source::CredentialData(data)),
                    },
                ),
                required_resources: one("required", items("required")),
                required_schemas: one(
                    "schema",
                    sdk::Schema {
                        openapi_v3: Some(document("schema")),
                    },
                ),
            }
        }

        pub(super) fn filled_response() -> ours::RunFunctionResponse {
            let state = super::state(state("desired"));
            let by_name = ours::ResourceSelector {
                api_version: "v1".to_owned(),
                kind: "ConfigMap".to_owned(),
                namespace: Some("prod".to_owned()),
                r#match: Some(ours::resource_selector::Match::MatchName("a".to_owned())),
            };
            let labels = ours::MatchLabels {
                labels: one("app", "a".to_owned()),
            };
            let by_labels = ours::ResourceSelector {
                r#match: Some(ours::resource_selector::Match::MatchLabels(labels)),
                ..by_name.clone()
            };
            ours::RunFunctionResponse {
                meta: Some(ours::ResponseMeta {
                    tag: "tag".to_owned(),
                    ttl: Some(Duration {
                        seconds: 60,
                        nanos: 1,
                    }),
                }),
                desired: Some(state),
                results: vec![ours::Result {
                    severity: 1,
                    message: "message".to_owned(),
                    reason: Some("Reason".to_owned()),
                    target: Some(1),
                }],
                context: Some(document("context")),
                requirements: Some(ours::Requirements {
                    extra_resources: one("extra", by_labels),
                    resources: one("required", by_name),
                    schemas: one(
                        "schema",
                        ours::SchemaSelector {
                            api_version: "keda.sh/v1alpha1".to_owned(),
                            kind: "ScaledObject".to_owned(),
                        },
                    ),
                }),
                conditions: vec![ours::Condition {
                    r#type: "ActorReady".to_owned(),
                    status: 2,
                    reason: "Running".to_owned(),
                    message: Some("message".to_owned()),
                    target: Some(2),
                }],
                output: Some(document("output")),
            }
        }
    }

    #[test]
    fn request_keeps_its_encoding() {
        let encoded = filled_request().encode_to_vec();
        assert_eq!(request(filled_request()).encode_to_vec(), encoded);
    }

    #[test]
    fn response_keeps_its_encoding() {
        let encoded = filled_response().encode_to_vec();
        assert_eq!(response(filled_response()).encode_to_vec(), encoded);
    }
}
