//! The management API of RabbitMQ: one request, one answer.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use prometheus_client::metrics::counter::Counter;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::Value;

use crate::transport::fault::Fault;
use crate::transport::limit::{Rate, RateLimit};

/// Everything but what may stand in a path segment as it is.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Largest answer that is read. One queue's is about 3 KiB; a list of policies has about
/// 300 bytes for each queue of the virtual host.
const ANSWER_MAX: usize = 16 << 20;

/// How many idle connections are kept.
const IDLE_CONNECTIONS: usize = 4;

/// Calls that all queues of a broker may make together.
const CALLS: Rate = Rate {
    per_second: 50,
    burst: 500,
};

/// A user at a broker, with a pool of connections. Clones share it.
#[derive(Clone)]
pub struct Api {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// Without a slash at the end.
    endpoint: String,
    authorization: HeaderValue,
    time_limit: Duration,
    rate: Arc<RateLimit>,
}

/// What the API says to a request that it understood.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Done; the body, or null.
    Done(Value),
    /// Done, and it was not there before.
    Made,
    /// There is no such thing.
    Absent,
}

/// Who asks, and whom to trust.
pub struct Login<'a> {
    /// URL of the management API.
    pub endpoint: &'a str,
    /// The user's name.
    pub username: &'a str,
    /// The user's password.
    pub password: &'a str,
    /// The authorities to trust, as PEM; those of the system unless given.
    pub authorities: Option<&'a [u8]>,
}

impl Api {
    /// The way to a broker; nothing is sent yet.
    pub fn new(login: &Login, time_limit: Duration) -> Result<Self, Fault> {
        let endpoint = login.endpoint.trim_end_matches('/').to_owned();
        let pair = BASE64.encode(format!("{}:{}", login.username, login.password));
        let mut authorization = HeaderValue::from_str(&format!("Basic {pair}"))
            .map_err(|error| Fault::Invalid(format!("cannot send the credentials: {error}")))?;
        authorization.set_sensitive(true);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(90))
            .pool_max_idle_per_host(IDLE_CONNECTIONS)
            .build(connector(&endpoint, login.authorities, time_limit)?);
        let rate = Arc::new(RateLimit::of(CALLS));
        Ok(Self {
            client,
            endpoint,
            authorization,
            time_limit,
            rate,
        })
    }

    /// This way, with its calls counted by `calls`.
    #[must_use]
    pub fn counted_by(self, calls: Counter) -> Self {
        let rate = RateLimit::of(CALLS).counted_by(calls);
        Self {
            rate: Arc::new(rate),
            ..self
        }
    }

    /// Where the API is.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Reads what is at this path.
    pub async fn get(&self, path: &[&str]) -> Result<Answer, Fault> {
        let action = format!("read {}", path.join(" "));
        self.call(Method::GET, path, None, action).await
    }

    /// Writes to this path; `false` when what contains it is absent.
    pub async fn put(&self, path: &[&str], body: &Value) -> Result<bool, Fault> {
        Ok(self.declare(path, body).await? != Answer::Absent)
    }

    /// Declares what is at this path, which tells whether it was there before.
    pub async fn declare(&self, path: &[&str], body: &Value) -> Result<Answer, Fault> {
        let action = format!("write {}", path.join(" "));
        self.call(Method::PUT, path, Some(body), action).await
    }

    /// Adds to the list at this path; [`Answer::Absent`] when what contains it is.
    pub async fn post(&self, path: &[&str], body: &Value) -> Result<Answer, Fault> {
        let action = format!("add to {}", path.join(" "));
        self.call(Method::POST, path, Some(body), action).await
    }

    /// Deletes what is at this path, if anything is.
    pub async fn delete(&self, path: &[&str]) -> Result<(), Fault> {
        let action = format!("delete {}", path.join(" "));
        self.call(Method::DELETE, path, None, action)
            .await
            .map(drop)
    }

    async fn call(
        &self,
        method: Method,
        path: &[&str],
        body: Option<&Value>,
        action: String,
    ) -> Result<Answer, Fault> {
        let body = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
        let request = Request::builder()
            .method(method.clone())
            .uri(format!("{}/api{}", self.endpoint, encoded(path)))
            .header(AUTHORIZATION, self.authorization.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(body))
            .map_err(|error| self.unreachable(&error))?;
        self.rate.turn().await;
        let exchange = async {
            let response = self
                .client
                .request(request)
                .await
                .map_err(|error| self.unreachable(&error))?;
            let status = response.status();
            let body = Limited::new(response.into_body(), ANSWER_MAX)
                .collect()
                .await
                .map_err(|error| self.unreachable(error.as_ref()))?;
            Ok((status, body.to_bytes()))
        };
        let (status, body) = tokio::time::timeout(self.time_limit, exchange)
            .await
            .map_err(|_| Fault::Unreachable {
                endpoint: self.endpoint.clone(),
                cause: format!("no answer within {} ms", self.time_limit.as_millis()),
            })??;
        self.read(&method, status, &body, action)
    }

    /// What an answer means.
    fn read(
        &self,
        method: &Method,
        status: StatusCode,
        body: &[u8],
        action: String,
    ) -> Result<Answer, Fault> {
        let json = serde_json::from_slice::<Value>(body).ok();
        let word = |key: &str| json.as_ref().and_then(|json| json[key].as_str());
        let endpoint = self.endpoint.clone();
        if status.is_success() {
            return match json {
                Some(json) => Ok(Answer::Done(json)),
                None if status == StatusCode::CREATED && body.is_empty() => Ok(Answer::Made),
                None if body.is_empty() => Ok(Answer::Done(Value::Null)),
                None => {
                    let cause = "the answer is not JSON: is this the management API?".to_owned();
                    Err(Fault::Failed {
                        endpoint,
                        action,
                        cause,
                    })
                }
            };
        }
        // A proxy or another server says 404 too; taking that for an absent
        // queue would make a second one, or let an object go.
        let is_own_404 = match word("error") {
            Some("Object Not Found") => true,
            // So it says of what a write would need. Many other servers say it of everything.
            Some("not_found") => *method != Method::GET,
            _ => false,
        };
        if status == StatusCode::NOT_FOUND && is_own_404 {
            return Ok(Answer::Absent);
        }
        let cause = word("reason").or_else(|| word("error")).map_or_else(
            || format!("HTTP status {}", status.as_u16()),
            |reason| format!("{} (HTTP status {})", one_line(reason), status.as_u16()),
        );
        Err(match status.as_u16() {
            401 | 403 => Fault::Denied {
                endpoint,
                action,
                cause,
            },
            429 => Fault::Throttled { endpoint, action },
            400 | 405..=428 => Fault::Refused {
                endpoint,
                action,
                cause,
            },
            _ => Fault::Failed {
                endpoint,
                action,
                cause,
            },
        })
    }

    fn unreachable(&self, error: &(dyn std::error::Error + 'static)) -> Fault {
        Fault::Unreachable {
            endpoint: self.endpoint.clone(),
            cause: innermost(error),
        }
    }
}

/// The path of these names, each percent-encoded: the virtual host `/` is `%2F`.
fn encoded(path: &[&str]) -> String {
    let mut encoded = String::new();
    for name in path {
        encoded.push('/');
        encoded.extend(utf8_percent_encode(name, SEGMENT));
    }
    encoded
}

/// The outer errors of an HTTP client say only that it is one.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    one_line(&error.to_string())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn connector(
    endpoint: &str,
    authorities: Option<&[u8]>,
    time_limit: Duration,
) -> Result<HttpsConnector<HttpConnector>, Fault> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_connect_timeout(Some(time_limit));
    tcp.set_nodelay(true);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let invalid = |what: &str| Fault::Invalid(format!("cannot trust {endpoint}: {what}"));
    let builder = HttpsConnectorBuilder::new();
    let builder = match authorities {
        Some(pem) => {
            let mut roots = rustls::RootCertStore::empty();
            for certificate in CertificateDer::pem_slice_iter(pem) {
                let certificate =
                    certificate.map_err(|error| invalid(&format!("the CA is not PEM: {error}")))?;
                roots
                    .add(certificate)
                    .map_err(|error| invalid(&format!("the CA is no certificate: {error}")))?;
            }
            if roots.is_empty() {
                return Err(invalid("the CA holds no certificate"));
            }
            builder.with_tls_config(client_config(provider, roots, &invalid)?)
        }
        // The system's authorities are not even looked for where no TLS is spoken.
        None if endpoint.starts_with("http://") => {
            let roots = rustls::RootCertStore::empty();
            builder.with_tls_config(client_config(provider, roots, &invalid)?)
        }
        None => builder
            .with_provider_and_native_roots(provider)
            .map_err(|error| invalid(&format!("no authorities on this system: {error}")))?,
    };
    Ok(builder.https_or_http().enable_http1().wrap_connector(tcp))
}

fn client_config(
    provider: Arc<rustls::crypto::CryptoProvider>,
    roots: rustls::RootCertStore,
    invalid: &dyn Fn(&str) -> Fault,
) -> Result<rustls::ClientConfig, Fault> {
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| invalid(&error.to_string()))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api() -> Api {
        let login = Login {
            endpoint: "http://broker:15672/",
            username: "guest",
            password: "s3cret",
            authorities: None,
        };
        Api::new(&login, Duration::from_secs(1)).unwrap()
    }

    #[test]
    fn names_are_encoded_whole() {
        let cases: [(&[&str], &str); 4] = [
            (&["queues", "/", "asya-cart"], "/queues/%2F/asya-cart"),
            (&["queues", "v/x", "a b"], "/queues/v%2Fx/a%20b"),
            (&["queues", "%2F", "ä?#"], "/queues/%252F/%C3%A4%3F%23"),
            (&["policies", "v.x_y~z", "q"], "/policies/v.x_y~z/q"),
        ];
        for (path, expected) in cases {
            assert_eq!(encoded(path), expected);
        }
    }

    #[test]
    fn only_the_api_itself_can_say_that_something_is_absent() {
        let read = |status: u16, body: &str| {
            let status = StatusCode::from_u16(status).unwrap();
            api().read(
                &Method::GET,
                status,
                body.as_bytes(),
                "read queue".to_owned(),
            )
        };
        let own = r#"{"error":"Object Not Found","reason":"Not Found"}"#;
        assert_eq!(read(404, own), Ok(Answer::Absent));
        assert_eq!(read(201, ""), Ok(Answer::Made));
        assert_eq!(read(204, ""), Ok(Answer::Done(Value::Null)));
        let cases = [
            (
                404,
                "<html>no route</html>",
                "http://broker:15672 failed to read queue: HTTP status 404",
            ),
            (
                404,
                r#"{"error":"not_found"}"#,
                "http://broker:15672 failed to read queue: not_found (HTTP status 404)",
            ),
            (
                404,
                "{}",
                "http://broker:15672 failed to read queue: HTTP status 404",
            ),
            (
                200,
                "<html>login</html>",
                "http://broker:15672 failed to read queue: the answer is not JSON: is this the management API?",
            ),
            (
                401,
                r#"{"error":"not_authorized","reason":"Login failed"}"#,
                "http://broker:15672 denies read queue: Login failed (HTTP status 401)",
            ),
            (
                400,
                r#"{"error":"bad_request","reason":"inequivalent\n arg"}"#,
                "http://broker:15672 refuses to read queue: inequivalent arg (HTTP status 400)",
            ),
            (
                503,
                "",
                "http://broker:15672 failed to read queue: HTTP status 503",
            ),
            (
                429,
                "",
                "http://broker:15672 asks for fewer calls while asked to read queue: it is tried again",
            ),
        ];
        for (status, body, expected) in cases {
            assert_eq!(
                read(status, body).unwrap_err().to_string(),
                expected,
                "{status} {body}"
            );
        }
    }

    #[test]
    fn authorities_that_are_none_are_refused() {
        for (pem, expected) in [
            (
                "",
                "cannot trust https://broker: the CA holds no certificate",
            ),
            (
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
                "cannot trust https://broker: the CA is no certificate: ",
            ),
        ] {
            let error = connector(
                "https://broker",
                Some(pem.as_bytes()),
                Duration::from_secs(1),
            )
            .unwrap_err()
            .to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
