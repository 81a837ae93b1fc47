//! Spans exported by OTLP. Endpoint, protocol, headers, sampler and batches are those of
//! OpenTelemetry's standard variables, which its SDK reads from the process's environment.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use opentelemetry::propagation::{Extractor, Injector, TextMapPropagator as _};
use opentelemetry::trace::{
    SpanKind, Status, TraceContextExt as _, Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::HttpError;
use opentelemetry_otlp::tonic_types::transport::ClientTlsConfig;
use opentelemetry_otlp::{
    ExporterBuildError, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
    WithTonicConfig as _,
};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::span_processor_with_async_runtime::BatchSpanProcessor;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use opentelemetry_sdk::{Resource, runtime};
use serde_json::value::to_raw_value;

use crate::config::{OtlpProtocol, TracesConfig};
use crate::envelope::{Envelope, Members};
use crate::http_client::HttpClient;
use crate::trace::{Part, Span, Tracer};

/// Timeout of a batch to the collector, the SDK's default.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout of the last batch when the sidecar ends.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Exports spans in the background. A collector that is down delays nothing and costs only spans.
#[derive(Debug)]
pub struct Otlp {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    propagator: TraceContextPropagator,
    attributes: Vec<KeyValue>,
    actor: String,
}

impl Otlp {
    /// A tracer of an actor's messages. It has to be made within the asynchronous runtime, in which it
    /// exports.
    ///
    /// # Errors
    /// When one of the standard variables is not valid.
    pub fn start(
        config: &TracesConfig,
        actor: &str,
        namespace: &str,
        queue: &str,
        system: &'static str,
    ) -> Result<Self, ExporterBuildError> {
        let exporter = exporter(config)?;
        let processor = BatchSpanProcessor::builder(exporter, runtime::Tokio).build();
        let mut resource = Resource::builder();
        if !config.is_service_named {
            resource = resource.with_service_name(actor.to_owned());
        }
        let resource =
            resource.with_attribute(KeyValue::new("k8s.namespace.name", namespace.to_owned()));
        let provider = SdkTracerProvider::builder()
            .with_resource(resource.build())
            .with_span_processor(processor)
            .build();
        Ok(Self {
            tracer: provider.tracer("asya-sidecar"),
            provider,
            propagator: TraceContextPropagator::new(),
            // Source: OpenTelemetry's semantic conventions for messaging.
            attributes: vec![
                KeyValue::new("messaging.system", system),
                KeyValue::new("messaging.destination.name", queue.to_owned()),
                KeyValue::new("messaging.operation.type", "process"),
                KeyValue::new("asya.actor", actor.to_owned()),
            ],
            actor: actor.to_owned(),
        })
    }

    /// Exports what is left, for a few seconds at most.
    pub async fn shutdown(&self) {
        let provider = self.provider.clone();
        // It blocks its thread until the asynchronous runtime has exported everything.
        let ending = tokio::task::spawn_blocking(move || provider.shutdown());
        match tokio::time::timeout(SHUTDOWN_TIMEOUT, ending).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => tracing::warn!(%error, "the last spans are not exported"),
            Ok(Err(error)) => tracing::warn!(%error, "the last spans are not exported"),
            Err(_) => tracing::warn!("the last spans are not exported: no answer in time"),
        }
    }
}

fn exporter(config: &TracesConfig) -> Result<SpanExporter, ExporterBuildError> {
    match config.protocol {
        OtlpProtocol::HttpProtobuf => SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_http_client(HttpClient::new(EXPORT_TIMEOUT))
            .build(),
        OtlpProtocol::Grpc => {
            let builder = SpanExporter::builder().with_tonic();
            if config.endpoint.starts_with("https:") {
                let tls = ClientTlsConfig::new().with_native_roots();
                builder.with_tls_config(tls).build()
            } else {
                builder.build()
            }
        }
    }
}

#[async_trait::async_trait]
impl opentelemetry_http::HttpClient for HttpClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        Ok(self.send(request).await?)
    }
}

impl Tracer for Otlp {
    fn message(&self, envelope: &mut Envelope) -> Box<dyn Span> {
        let parent = self
            .propagator
            .extract_with_context(&Context::new(), &Headers(&envelope.headers));
        let mut attributes = self.attributes.clone();
        let id = envelope.id().to_owned();
        attributes.push(KeyValue::new("messaging.message.id", id));
        let attempt = i64::from(envelope.attempt());
        attributes.push(KeyValue::new("asya.attempt", attempt));
        if let Some(parent_id) = envelope.parent_id() {
            attributes.push(KeyValue::new("asya.parent_id", parent_id.to_owned()));
        }
        let span = self
            .tracer
            .span_builder(format!("process {}", self.actor))
            .with_kind(SpanKind::Consumer)
            .with_attributes(attributes)
            .start_with_context(&self.tracer, &parent);
        let context = Context::new().with_span(span);
        let mut headers = HeadersMut(&mut envelope.headers);
        self.propagator.inject_context(&context, &mut headers);
        Box::new(Recorded {
            context,
            tracer: self.tracer.clone(),
        })
    }
}

/// A span that is recorded.
struct Recorded {
    context: Context,
    tracer: SdkTracer,
}

impl Span for Recorded {
    fn part(&self, part: Part<'_>) -> Box<dyn Span> {
        let (name, kind) = match part {
            Part::Call => ("call handler".to_owned(), SpanKind::Internal),
            Part::Send(actor) => (format!("send {actor}"), SpanKind::Producer),
        };
        let span = self
            .tracer
            .span_builder(name)
            .with_kind(kind)
            .start_with_context(&self.tracer, &self.context);
        Box::new(Self {
            context: Context::new().with_span(span),
            tracer: self.tracer.clone(),
        })
    }

    fn failed(&self, r#type: &str) {
        let span = self.context.span();
        span.set_attribute(KeyValue::new("error.type", r#type.to_owned()));
        span.set_status(Status::error(r#type.to_owned()));
    }

    fn outcome(&self, outcome: &'static str) {
        let attribute = KeyValue::new("asya.outcome", outcome);
        self.context.span().set_attribute(attribute);
    }
}

/// Headers of an envelope, as far as they are texts without escapes, which those of a trace are.
struct Headers<'a>(&'a Members);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        let text = self.0.get(key)?.get();
        let text = text.strip_prefix('"')?.strip_suffix('"')?;
        (!text.contains('\\')).then_some(text)
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }
}

struct HeadersMut<'a>(&'a mut Members);

impl Injector for HeadersMut<'_> {
    fn set(&mut self, key: &str, value: String) {
        if value.is_empty() {
            self.0.remove(key);
        } else if let Ok(value) = to_raw_value(&value) {
            self.0.insert(key.to_owned(), value);
        }
    }
}
