//! A fake of AWS's security token service, for what moto does not do: it denies roles, with another
//! request id each time as the service does, and remembers the tokens that it was shown.

use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;

use super::fake::{Answer, Server};

/// The session token of the credentials that it issues.
pub const SESSION_TOKEN: &str = "session-token-of-the-role";

/// A running service. It ends when this value is dropped.
pub struct FakeSts {
    /// URL of the service.
    pub endpoint: String,
    state: Arc<Mutex<State>>,
    _server: Server,
}

#[derive(Default)]
struct State {
    /// True if roles are given.
    gives: bool,
    /// The bodies of the requests, oldest first.
    asked: Vec<String>,
}

impl FakeSts {
    /// Starts a service that denies every role.
    pub async fn start() -> Self {
        let state = Arc::<Mutex<State>>::default();
        let of_server = state.clone();
        let server = Server::start(move |_, _, body| {
            let mut state = of_server.lock().expect("no holder panics");
            state.answer(String::from_utf8_lossy(body).into_owned())
        });
        let server = server.await;
        Self {
            endpoint: server.endpoint.clone(),
            state,
            _server: server,
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

impl State {
    fn answer(&mut self, form: String) -> Answer {
        self.asked.push(form);
        let number = self.asked.len();
        let id = format!("00000000-0000-0000-0000-{number:012}");
        let (status, body) = if self.gives {
            (StatusCode::OK, given(&id))
        } else {
            (StatusCode::FORBIDDEN, denied(&id))
        };
        let response = Response::builder()
            .status(status)
            .header("content-type", "text/xml")
            .header("x-amzn-requestid", id)
            .body(Full::new(Bytes::from(body)));
        response.expect("a response")
    }
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
