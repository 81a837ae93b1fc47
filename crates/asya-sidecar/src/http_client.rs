//! The HTTP client for gateways and collectors, made when it is first needed: the authorities of a
//! system take a megabyte of memory.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
#[cfg(feature = "tls")]
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::sync::OnceCell;

#[cfg(feature = "tls")]
type Connector = HttpsConnector<HttpConnector>;
#[cfg(not(feature = "tls"))]
type Connector = HttpConnector;

/// The longest answer that is read.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// A client that waits this long for an answer.
#[derive(Debug)]
pub(crate) struct HttpClient {
    client: OnceCell<Client<Connector, Full<Bytes>>>,
    timeout: Duration,
}

impl HttpClient {
    pub(crate) fn new(timeout: Duration) -> Self {
        Self {
            client: OnceCell::new(),
            timeout,
        }
    }

    /// Sends a request, and reads the whole answer, whatever its status.
    ///
    /// # Errors
    /// When there is no answer in time, or it is too long.
    pub(crate) async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
        let client = self.client.get_or_try_init(|| async { connect() }).await?;
        let exchange = async {
            let response = client.request(request.map(Full::new)).await;
            let (head, body) = response.map_err(|error| cause(&error))?.into_parts();
            let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await;
            let body = body.map_err(|error| error.to_string())?.to_bytes();
            Ok(Response::from_parts(head, body))
        };
        let timeout = self.timeout;
        let answer = tokio::time::timeout(timeout, exchange).await;
        answer.unwrap_or_else(|_| Err(format!("no answer within {timeout:?}")))
    }
}

/// The error with what led to it: the client's own text names no reason.
fn cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", cause(source)),
        None => error.to_string(),
    }
}

/// A client for plain HTTP.
#[cfg(not(feature = "tls"))]
#[expect(clippy::unnecessary_wraps, reason = "the other one can fail")]
fn connect() -> Result<Client<Connector, Full<Bytes>>, String> {
    Ok(Client::builder(TokioExecutor::new()).build(HttpConnector::new()))
}

/// A client that trusts the system's authorities. A system without any can still speak plain HTTP.
#[cfg(feature = "tls")]
fn connect() -> Result<Client<Connector, Full<Bytes>>, String> {
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let builder = HttpsConnectorBuilder::new();
    let native = builder.with_provider_and_native_roots(provider.clone());
    let connector = if let Ok(builder) = native {
        builder.https_or_http().enable_http1().build()
    } else {
        let config = rustls::ClientConfig::builder_with_provider(std::sync::Arc::new(provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("no TLS: {error}"))?
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        let builder = HttpsConnectorBuilder::new().with_tls_config(config);
        builder.https_or_http().enable_http1().build()
    };
    Ok(Client::builder(TokioExecutor::new()).build(connector))
}
