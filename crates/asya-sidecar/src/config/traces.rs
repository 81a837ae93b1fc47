//! OpenTelemetry's standard variables, as far as they decide whether and how spans are exported. The
//! SDK reads the others by itself.

use super::{OtlpProtocol, TracesConfig, Variables};

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";

/// Reads them. None where no spans are exported.
pub(super) fn read(variables: &mut Variables) -> Option<TracesConfig> {
    let is_disabled = variables.switch("OTEL_SDK_DISABLED");
    let is_otlp = variables.choice(
        "OTEL_TRACES_EXPORTER",
        &[("otlp", true), ("none", false)],
        true,
    );
    let general = variables.http_url(ENDPOINT);
    let endpoint = variables.http_url(TRACES_ENDPOINT).or(general)?;
    if is_disabled || !is_otlp {
        return None;
    }
    let mut protocol = OtlpProtocol::HttpProtobuf;
    // The second one counts, where both are set.
    for variable in [
        "OTEL_EXPORTER_OTLP_PROTOCOL",
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
    ] {
        let choices = [
            ("http/protobuf", OtlpProtocol::HttpProtobuf),
            ("grpc", OtlpProtocol::Grpc),
        ];
        protocol = variables.choice(variable, &choices, protocol);
    }
    let attributes = variables.optional("OTEL_RESOURCE_ATTRIBUTES");
    let is_service_named = variables.optional("OTEL_SERVICE_NAME").is_some()
        || attributes.is_some_and(|all| {
            let mut all = all.split(',');
            all.any(|one| one.trim().starts_with("service.name="))
        });
    Some(TracesConfig {
        endpoint,
        protocol,
        is_service_named,
    })
}
