//! Client of the management API of RabbitMQ.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, StatusCode};
use http_body_util::Full;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use prometheus_client::metrics::counter::Counter;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::answer::AnswerBody;
pub use super::answer::Reader;
use super::connector::connector;
use super::limited_json;
use super::limited_object::{self, Fields};
use crate::text;
use crate::transport::limit::{Rate, RateLimit};
use crate::transport::{TransportError, call_times};

/// Characters that are percent-encoded in a path segment.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Largest answer about one object, in bytes. A queue has about 3 KiB, and 700 bytes for each consumer.
const ANSWER_MAX: usize = 2 << 20;

/// Largest list, in bytes. Policies have about 300 bytes for each queue of the virtual host.
const LIST_MAX: usize = 8 << 20;

/// Queues of one page of a list.
const PAGE: usize = 500;
/// Most pages of a list.
const PAGES_MAX: u32 = 100;

/// Number of idle connections that are kept.
const IDLE_CONNECTIONS: usize = 4;

/// Rate limit of all queues of a broker together.
const CALLS: Rate = Rate {
    per_second: 50,
    burst: 500,
};

/// The management API with one user's credentials. Clones share a pool of connections.
#[derive(Clone)]
pub struct Api {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// Without a slash at the end.
    endpoint: String,
    authorization: HeaderValue,
    time_limit: Duration,
    rate: Arc<RateLimit>,
    reader: Reader,
}

/// A successful answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Success; the body, or null.
    Ok(Value),
    /// Created: it did not exist before.
    Created,
    /// It does not exist.
    NotFound,
}

/// Result of a search in the queues of a virtual host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search<T> {
    /// The first queue that was searched for.
    Found(T),
    /// There is none.
    NotFound,
    /// None in the first 50,000 queues; there are more.
    TooMany,
}

/// Endpoint, credentials and trusted authorities.
pub struct Login<'a> {
    /// URL of the management API.
    pub endpoint: &'a str,
    /// Name of the user.
    pub username: &'a str,
    /// Password of the user.
    pub password: &'a str,
    /// Trusted authorities as PEM; default: those of the system.
    pub authorities: Option<&'a [u8]>,
}

impl Api {
    /// A client; it sends nothing yet. `time_limit` is the timeout of each call.
    ///
    /// # Errors
    /// The credentials or authorities are invalid.
    pub fn new(login: &Login, time_limit: Duration) -> Result<Self, TransportError> {
        let endpoint = login.endpoint.trim_end_matches('/').to_owned();
        let pair = BASE64.encode(format!("{}:{}", login.username, login.password));
        let mut authorization =
            HeaderValue::from_str(&format!("Basic {pair}")).map_err(|error| {
                TransportError::Invalid(format!("the credentials cannot be sent: {error}"))
            })?;
        authorization.set_sensitive(true);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(90))
            .pool_max_idle_per_host(IDLE_CONNECTIONS)
            .build(connector(&endpoint, login.authorities, time_limit)?);
        let rate = Arc::new(RateLimit::new(CALLS));
        Ok(Self {
            client,
            endpoint,
            authorization,
            time_limit,
            rate,
            reader: Reader::default(),
        })
    }

    /// This client, with its calls counted by `calls`.
    #[must_use]
    pub fn counted_by(self, calls: Counter) -> Self {
        let rate = RateLimit::new(CALLS).counted_by(calls);
        Self {
            rate: Arc::new(rate),
            ..self
        }
    }

    /// This client, whose large answers are read by `reader`, one at a time.
    #[must_use]
    pub fn reading_with(self, reader: Reader) -> Self {
        Self { reader, ..self }
    }

    /// URL of the API, without a slash at the end.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Reads the object at a path, with the fields that the provider reads.
    pub(super) async fn read(&self, path: &[&str]) -> Result<Answer, TransportError> {
        let action = format!("read {}", path.join(" "));
        self.call(Method::GET, path, None, action, Fields::Read)
            .await
    }

    /// Reads the object or list at a path with every field, for other programs than the provider.
    pub async fn get(&self, path: &[&str]) -> Result<Answer, TransportError> {
        let action = format!("read {}", path.join(" "));
        self.call(Method::GET, path, None, action, Fields::All)
            .await
    }

    /// Reads a list, and passes each of its objects to `visit` until that breaks; no object where it does
    /// not exist. Only the fields of `T` are read.
    ///
    /// # Errors
    /// The broker cannot be reached, refuses, or answers no list.
    pub(super) async fn visit_list<T: DeserializeOwned>(
        &self,
        path: &[&str],
        visit: impl FnMut(T) -> ControlFlow<()>,
    ) -> Result<(), TransportError> {
        let action = format!("read {}", path.join(" "));
        let (status, body) = self.exchange(&Method::GET, path, None, LIST_MAX).await?;
        if status.is_success() {
            let parsed = limited_json::parse_list(&body, visit);
            return parsed.map_err(|error| self.failed(action, error));
        }
        self.interpret(&Method::GET, status, &body, action, Fields::Read)
            .map(drop)
    }

    /// Reads the queues of a virtual host in pages, with only these columns, which are the fields of `T`,
    /// until `is_searched` returns true for one. One queue at a time is in memory.
    ///
    /// # Errors
    /// The broker cannot be reached, refuses, or answers no page of the size that was asked for.
    pub async fn find_queue<T: DeserializeOwned>(
        &self,
        vhost: &str,
        columns: &str,
        is_searched: impl Fn(&T) -> bool,
    ) -> Result<Search<T>, TransportError> {
        let mut page = 1;
        loop {
            let query = format!("?page={page}&page_size={PAGE}&columns={columns}");
            let action = format!("list queues of {vhost}");
            let uri = format!("{}{query}", encoded(&["queues", vhost]));
            let (status, body) = self.exchange_at(&Method::GET, &uri, None, LIST_MAX).await?;
            if !status.is_success() {
                self.interpret(&Method::GET, status, &body, action, Fields::Read)?;
                return Ok(Search::NotFound);
            }
            let mut found = None;
            let visit = |queue: T| {
                if is_searched(&queue) {
                    found = Some(queue);
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            };
            let pages = limited_json::parse_page(&body, PAGE, visit)
                .map_err(|error| self.failed(action, error))?;
            if let Some(found) = found {
                return Ok(Search::Found(found));
            }
            if page >= pages {
                return Ok(Search::NotFound);
            }
            if page >= PAGES_MAX {
                return Ok(Search::TooMany);
            }
            page += 1;
        }
    }

    fn failed(&self, action: String, cause: limited_json::Error) -> TransportError {
        TransportError::Failed {
            endpoint: self.endpoint.clone(),
            action,
            cause: format!("{cause}: is this the management API?"),
        }
    }

    /// Writes the object at a path; `false` where its parent does not exist.
    pub async fn put(&self, path: &[&str], body: &Value) -> Result<bool, TransportError> {
        Ok(self.declare(path, body).await? != Answer::NotFound)
    }

    /// Declares the object at a path; returns whether it existed before.
    pub async fn declare(&self, path: &[&str], body: &Value) -> Result<Answer, TransportError> {
        let action = format!("write {}", path.join(" "));
        self.call(Method::PUT, path, Some(body), action, Fields::Read)
            .await
    }

    /// Adds to the list at a path; [`Answer::NotFound`] where its parent does not exist.
    pub(super) async fn add(&self, path: &[&str], body: &Value) -> Result<Answer, TransportError> {
        let action = format!("add to {}", path.join(" "));
        self.call(Method::POST, path, Some(body), action, Fields::Read)
            .await
    }

    /// Posts to a path, and returns every field of the answer, for other programs than the provider.
    pub async fn post(&self, path: &[&str], body: &Value) -> Result<Answer, TransportError> {
        let action = format!("add to {}", path.join(" "));
        self.call(Method::POST, path, Some(body), action, Fields::All)
            .await
    }

    /// Deletes the object at a path, where it exists.
    pub async fn delete(&self, path: &[&str]) -> Result<(), TransportError> {
        let action = format!("delete {}", path.join(" "));
        self.call(Method::DELETE, path, None, action, Fields::Read)
            .await
            .map(drop)
    }

    /// Deletes the exchange at a path, unless something is bound to it.
    pub(super) async fn delete_unused(&self, path: &[&str]) -> Result<(), TransportError> {
        let action = format!("delete {}", path.join(" "));
        let uri = format!("{}?if-unused=true", encoded(path));
        let method = Method::DELETE;
        let (status, body) = self.exchange_at(&method, &uri, None, ANSWER_MAX).await?;
        self.interpret(&method, status, &body, action, Fields::Read)
            .map(drop)
    }

    async fn call(
        &self,
        method: Method,
        path: &[&str],
        body: Option<&Value>,
        action: String,
        fields: Fields,
    ) -> Result<Answer, TransportError> {
        let (status, body) = self.exchange(&method, path, body, ANSWER_MAX).await?;
        self.interpret(&method, status, &body, action, fields)
    }

    /// Sends a request; status and body of the answer.
    async fn exchange(
        &self,
        method: &Method,
        path: &[&str],
        body: Option<&Value>,
        answer_max: usize,
    ) -> Result<(StatusCode, AnswerBody), TransportError> {
        self.exchange_at(method, &encoded(path), body, answer_max)
            .await
    }

    /// Sends a request to an encoded path.
    async fn exchange_at(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
        answer_max: usize,
    ) -> Result<(StatusCode, AnswerBody), TransportError> {
        let body = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
        let request = Request::builder()
            .method(method.clone())
            .uri(format!("{}/api{path}", self.endpoint))
            .header(AUTHORIZATION, self.authorization.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(body))
            .map_err(|error| self.unreachable(&error))?;
        self.rate.acquire().await;
        call_times::timed(self.send(request, answer_max)).await
    }

    async fn send(
        &self,
        request: Request<Full<Bytes>>,
        answer_max: usize,
    ) -> Result<(StatusCode, AnswerBody), TransportError> {
        let response = tokio::time::timeout(self.time_limit, self.client.request(request));
        let response = response.await.map_err(|_| TransportError::Unreachable {
            endpoint: self.endpoint.clone(),
            cause: format!("no answer within {} ms", self.time_limit.as_millis()),
        })?;
        let response = response.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        let body = response.into_body();
        let body = self.reader.read(body, answer_max, self.time_limit).await;
        let body = body.map_err(|error| self.unreachable(error.as_ref()))?;
        Ok((status, body))
    }

    /// Interprets an answer.
    fn interpret(
        &self,
        method: &Method,
        status: StatusCode,
        body: &[u8],
        action: String,
        fields: Fields,
    ) -> Result<Answer, TransportError> {
        let parsed = limited_object::parse(body, fields);
        if let Err(error @ limited_json::Error::TooLarge { .. }) = parsed {
            return Err(self.failed(action, error));
        }
        let json = parsed.ok();
        let text = |key: &str| json.as_ref().and_then(|json| json[key].as_str());
        let endpoint = self.endpoint.clone();
        if status.is_success() {
            return match json {
                Some(json) => Ok(Answer::Ok(json)),
                None if status == StatusCode::CREATED && body.is_empty() => Ok(Answer::Created),
                None if body.is_empty() => Ok(Answer::Ok(Value::Null)),
                None => {
                    let cause = "the answer is not JSON: is this the management API?".to_owned();
                    Err(TransportError::Failed {
                        endpoint,
                        action,
                        cause,
                    })
                }
            };
        }
        // A proxy or another server also answers 404. Taking that for a missing queue would create a
        // second one, or remove a finalizer too early.
        let is_own_404 = match text("error") {
            Some("Object Not Found") => true,
            // The API's answer for a missing parent of a write, and other servers' for anything.
            Some("not_found") => *method != Method::GET,
            _ => false,
        };
        if status == StatusCode::NOT_FOUND && is_own_404 {
            return Ok(Answer::NotFound);
        }
        let cause = text("reason").or_else(|| text("error")).map_or_else(
            || format!("HTTP status {}", status.as_u16()),
            |reason| format!("{} (HTTP status {})", one_line(reason), status.as_u16()),
        );
        Err(match status.as_u16() {
            401 | 403 => TransportError::Denied {
                endpoint,
                action,
                cause,
            },
            429 => TransportError::Throttled { endpoint, action },
            400 | 405..=428 => TransportError::Refused {
                endpoint,
                action,
                cause,
            },
            _ => TransportError::Failed {
                endpoint,
                action,
                cause,
            },
        })
    }

    fn unreachable(&self, error: &(dyn std::error::Error + 'static)) -> TransportError {
        TransportError::Unreachable {
            endpoint: self.endpoint.clone(),
            cause: innermost(error),
        }
    }
}

/// Path of these names, each percent-encoded: the virtual host `/` is `%2F`.
fn encoded(path: &[&str]) -> String {
    let mut encoded = String::new();
    for name in path {
        encoded.push('/');
        encoded.extend(utf8_percent_encode(name, SEGMENT));
    }
    encoded
}

/// Message of the innermost error; outer errors of an HTTP client contain no cause.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    one_line(&error.to_string())
}

fn one_line(text: &str) -> String {
    text::clean(text, text::FOREIGN_MAX)
}

#[cfg(test)]
mod tests;
