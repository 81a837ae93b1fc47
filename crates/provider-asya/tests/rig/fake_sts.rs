//! A fake of AWS's security token service, for what moto does not do: it denies roles, with another
//! request id each time as the service does, and remembers the tokens that it was shown.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The session token that goes with the credentials it gives.
pub const SESSION_TOKEN: &str = "session-token-of-the-role";

/// A running service. It ends when this value goes.
pub struct FakeSts {
    /// URL of the service.
    pub endpoint: String,
    state: Arc<Mutex<State>>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    /// Whether roles are given.
    gives: bool,
    /// The bodies of the requests, oldest first.
    asked: Vec<String>,
}

impl FakeSts {
    /// Starts a service that denies every role.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener");
        let state = Arc::<Mutex<State>>::default();
        Self {
            endpoint: format!("http://{address}"),
            state: state.clone(),
            task: tokio::spawn(serve(listener, state)),
        }
    }

    /// Gives credentials from now on.
    pub fn give(&self) {
        self.lock().gives = true;
    }

    /// The forms of the requests, oldest first.
    pub fn asked(&self) -> Vec<String> {
        self.lock().asked.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }
}

impl Drop for FakeSts {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, state: Arc<Mutex<State>>) {
    while let Ok((connection, _)) = listener.accept().await {
        let state = state.clone();
        let service = service_fn(move |request| answer(request, state.clone()));
        let connection = http1::Builder::new().serve_connection(TokioIo::new(connection), service);
        tokio::spawn(async move { drop(connection.await) });
    }
}

async fn answer(
    request: Request<Incoming>,
    state: Arc<Mutex<State>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await;
    let body = body.map(http_body_util::Collected::to_bytes);
    let form = String::from_utf8_lossy(&body.unwrap_or_default()).into_owned();
    let (number, gives) = {
        let mut state = state.lock().expect("no holder panics");
        state.asked.push(form);
        (state.asked.len(), state.gives)
    };
    let id = format!("00000000-0000-0000-0000-{number:012}");
    let (status, body) = if gives {
        (StatusCode::OK, given(&id))
    } else {
        (StatusCode::FORBIDDEN, denied(&id))
    };
    let response = Response::builder()
        .status(status)
        .header("content-type", "text/xml")
        .header("x-amzn-requestid", id)
        .body(Full::new(Bytes::from(body)));
    Ok(response.expect("a response"))
}

fn denied(id: &str) -> String {
    format!(
        "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error><Type>Sender</Type>\
         <Code>AccessDenied</Code><Message>Not authorized to perform sts:AssumeRoleWithWebIdentity</Message>\
         </Error><RequestId>{id}</RequestId></ErrorResponse>"
    )
}

fn given(id: &str) -> String {
    format!(
        "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\
         <AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>ASIAROLE</AccessKeyId>\
         <SecretAccessKey>secret</SecretAccessKey><SessionToken>{SESSION_TOKEN}</SessionToken>\
         <Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult>\
         <ResponseMetadata><RequestId>{id}</RequestId></ResponseMetadata></AssumeRoleWithWebIdentityResponse>"
    )
}
