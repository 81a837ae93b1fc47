//! The protocol of state proxies over HTTP/1.1 on a Unix socket: `runtime/README.md` defines it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream as BlockingStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use http::header::{self, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, BodyStream, Empty, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::UnixListener;
use tokio::task::JoinSet;

use super::key::decode;
use super::{Body, Condition, Entry, Key, Prefix, Stat, StateError, Store};
use crate::stop::Stop;

/// All users of a pod may connect.
const SOCKET_MODE: u32 = 0o666;

/// Pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_secs(1);

/// The largest value of an attribute in a request.
const MAX_ATTRIBUTE: usize = 64 << 10;

/// Time in which the rest of a refused request must arrive.
const DRAIN: Duration = Duration::from_secs(10);

/// True if there is a value at a key.
const IS_FILE: HeaderName = HeaderName::from_static("x-is-file");

/// Says that the connector runs for as long as somebody is connected.
const LEASE: HeaderName = HeaderName::from_static("x-asya-lease");

type Answer = Response<UnsyncBoxBody<Bytes, StateError>>;

/// A socket that is listened on, and deleted with the value.
#[derive(Debug)]
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Listens. The directory is made if it is missing; a socket of an earlier process is replaced.
    ///
    /// # Errors
    /// With the path, also if another process listens there.
    pub fn bind(path: &Path) -> io::Result<Self> {
        let failed = |error: io::Error| {
            let text = format!("cannot listen on {}: {error}", path.display());
            io::Error::new(error.kind(), text)
        };
        if BlockingStream::connect(path).is_ok() {
            return Err(failed(ErrorKind::AddrInUse.into()));
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let listener = UnixListener::bind(path).map_err(failed)?;
        let mode = fs::Permissions::from_mode(SOCKET_MODE);
        fs::set_permissions(path, mode).map_err(failed)?;
        Ok(Self {
            listener,
            path: path.to_owned(),
        })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Without it the next start replaces the file.
        drop(fs::remove_file(&self.path));
    }
}

/// Serves a store until it is asked to stop and nobody is connected any more: the runtime stays
/// connected while it runs, and its last call may need its files.
pub async fn serve(socket: Socket, store: Arc<dyn Store>, mut stop: Stop) {
    let mut connections = JoinSet::new();
    loop {
        let is_idle = connections.is_empty();
        tokio::select! {
            accepted = socket.listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let store = Arc::clone(&store);
                    connections.spawn(async move {
                        let answer = service_fn(|request| {
                            let store = Arc::clone(&store);
                            async move { Ok::<_, Infallible>(answer(&*store, request).await) }
                        });
                        let mut server = http1::Builder::new();
                        // A connection may be idle for as long as the runtime lives.
                        server.header_read_timeout(None).half_close(true);
                        let served = server.serve_connection(TokioIo::new(stream), answer).await;
                        if let Err(error) = served {
                            tracing::debug!(%error, "connection of a client");
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
            () = stop.requested(), if is_idle => return,
        }
    }
}

async fn answer(store: &dyn Store, request: Request<Incoming>) -> Answer {
    let (head, body) = request.into_parts();
    let size = head
        .headers
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse().ok());
    let mut body = pieces(body);
    let call = Call {
        store,
        size,
        condition: condition(&head.headers),
        query: query(head.uri.query().unwrap_or_default()),
    };
    let path = head.uri.path();
    let error = match call.route(&head.method, path, &mut body).await {
        Ok(answer) => return answer,
        Err(error) => error,
    };
    let (status, code) = error.answer();
    tracing::debug!(method = %head.method, path, status = status.as_u16(), %error, "refused");
    // To close before the request is read to its end would take the answer with it.
    let rest = async { while let Some(Ok(_)) = body.next().await {} };
    drop(tokio::time::timeout(DRAIN, rest).await);
    json(
        status,
        &json!({"error": code, "message": error.to_string()}),
    )
}

/// A request without its method and path.
struct Call<'a> {
    store: &'a dyn Store,
    size: Option<u64>,
    condition: Condition,
    query: BTreeMap<String, String>,
}

impl Call<'_> {
    async fn route(
        &self,
        method: &Method,
        path: &str,
        body: &mut Body,
    ) -> Result<Answer, StateError> {
        if path == "/healthz" {
            self.store.check().await?;
            let mut answer = json(StatusCode::OK, &json!({"status": "ready"}));
            let yes = HeaderValue::from_static("true");
            answer.headers_mut().insert(LEASE, yes);
            return Ok(answer);
        }
        if matches!(path, "/keys" | "/keys/") && *method == Method::GET {
            return self.list().await;
        }
        if let Some(key) = path.strip_prefix("/keys/") {
            let key = Key::decode(key)?;
            return match *method {
                Method::GET => self.read(&key).await,
                Method::HEAD => self.stat(&key).await,
                Method::PUT => self.write(&key, body).await,
                Method::DELETE => {
                    self.store.delete(&key).await?;
                    Ok(empty(StatusCode::NO_CONTENT))
                }
                _ => Err(unknown(method, path)),
            };
        }
        if let Some(key) = path.strip_prefix("/meta/") {
            let key = Key::decode(key)?;
            return match *method {
                Method::GET => self.attribute(&key).await,
                Method::PUT => self.set_attribute(&key, body).await,
                _ => Err(unknown(method, path)),
            };
        }
        Err(unknown(method, path))
    }

    async fn list(&self) -> Result<Answer, StateError> {
        let text = |name| self.query.get(name).map_or("", String::as_str);
        let descend = match text("delimiter") {
            "" => true,
            "/" => false,
            other => {
                let text = format!("delimiter {other:?}: expected \"/\" or none");
                return Err(StateError::InvalidRequest(text));
            }
        };
        let prefix = Prefix::new(text("prefix"))?;
        let found = self.store.list(&prefix, descend).await?;
        let found = json!({"keys": found.keys, "prefixes": found.prefixes});
        Ok(json(StatusCode::OK, &found))
    }

    async fn read(&self, key: &Key) -> Result<Answer, StateError> {
        let (entry, body) = self.store.read(key).await?;
        let frames = body.map(|piece| piece.map(Frame::data));
        let mut answer = Response::new(StreamBody::new(frames).boxed_unsync());
        describe(&mut answer, &entry);
        Ok(answer)
    }

    async fn stat(&self, key: &Key) -> Result<Answer, StateError> {
        let mut answer = empty(StatusCode::OK);
        let is_file = match self.store.stat(key).await? {
            Stat::File(entry) => {
                describe(&mut answer, &entry);
                "true"
            }
            Stat::Directory => {
                let none = HeaderValue::from(0);
                answer.headers_mut().insert(header::CONTENT_LENGTH, none);
                "false"
            }
        };
        let is_file = HeaderValue::from_static(is_file);
        answer.headers_mut().insert(IS_FILE, is_file);
        Ok(answer)
    }

    async fn write(&self, key: &Key, body: &mut Body) -> Result<Answer, StateError> {
        let write = self.store.write(key, body, self.size, &self.condition);
        write.await?;
        Ok(empty(StatusCode::NO_CONTENT))
    }

    async fn attribute(&self, key: &Key) -> Result<Answer, StateError> {
        let found = match self.query.get("attr") {
            Some(name) => json!({"value": self.store.attribute(key, name).await?}),
            None => {
                let found = self.store.attributes(key).await?;
                json!({"attrs": found.keys().collect::<Vec<_>>()})
            }
        };
        Ok(json(StatusCode::OK, &found))
    }

    async fn set_attribute(&self, key: &Key, body: &mut Body) -> Result<Answer, StateError> {
        #[derive(Deserialize)]
        struct Given {
            value: String,
        }
        let invalid = |text: &str| StateError::InvalidRequest(text.to_owned());
        let Some(name) = self.query.get("attr") else {
            return Err(invalid("parameter \"attr\" is missing"));
        };
        let mut text = Vec::new();
        while let Some(piece) = body.next().await {
            text.extend_from_slice(&piece?);
            if text.len() > MAX_ATTRIBUTE {
                return Err(StateError::TooLarge(format!("attribute {name:?}")));
            }
        }
        let given: Given = serde_json::from_slice(&text)
            .map_err(|_| invalid("the body is not {\"value\": \"<text>\"}"))?;
        self.store.set_attribute(key, name, &given.value).await?;
        Ok(empty(StatusCode::NO_CONTENT))
    }
}

/// The body of a request, piece by piece.
fn pieces(body: Incoming) -> Body {
    let frames = BodyStream::new(body).filter_map(|frame| async {
        match frame {
            Ok(frame) => frame.into_data().ok().map(Ok),
            Err(_) => Some(Err(StateError::BrokenOff)),
        }
    });
    frames.boxed()
}

fn condition(headers: &http::HeaderMap) -> Condition {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    match (text(header::IF_NONE_MATCH), text(header::IF_MATCH)) {
        (Some("*"), _) => Condition::Absent,
        (_, Some(etag)) => Condition::Matches(etag.to_owned()),
        _ => Condition::None,
    }
}

/// Parameters of a request. `+` stands for itself, as runtimes write it.
fn query(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .filter_map(|(name, value)| Some((decode(name).ok()?, decode(value).ok()?)))
        .collect()
}

fn describe(answer: &mut Answer, entry: &Entry) {
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(entry.size));
    if let Ok(etag) = HeaderValue::from_str(&entry.etag) {
        headers.insert(header::ETAG, etag);
    }
    let modified = entry.modified.and_then(|time| {
        let time = Timestamp::try_from(time).ok()?;
        let text = DateTimePrinter::new().timestamp_to_rfc9110_string(&time);
        HeaderValue::from_str(&text.ok()?).ok()
    });
    if let Some(modified) = modified {
        headers.insert(header::LAST_MODIFIED, modified);
    }
}

fn unknown(method: &Method, path: &str) -> StateError {
    StateError::InvalidRequest(format!(
        "{method} {path:?} is no operation of a state proxy"
    ))
}

fn empty(status: StatusCode) -> Answer {
    let body = Empty::new().map_err(|never| match never {}).boxed_unsync();
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer
}

fn json(status: StatusCode, value: &Value) -> Answer {
    let body = Full::from(value.to_string()).map_err(|never| match never {});
    let mut answer = Response::new(body.boxed_unsync());
    *answer.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    answer
}
