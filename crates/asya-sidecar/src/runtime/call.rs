//! One call of the handler, whose answer is read as it comes.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use http::{Response, StatusCode, header};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::task::JoinHandle;

use super::Broken;
use super::events::Parser;
use crate::failure::Failure;

/// One frame may be as large as RabbitMQ takes a message by default before version 4.
const MAX_FRAME_BYTES: usize = 128 << 20;

/// Ends a task with the value.
#[derive(Debug)]
pub(super) struct AbortOnDrop(pub(super) JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Result of a call, as the runtime reports it.
#[derive(Debug)]
pub enum Event {
    /// A result, as JSON: `{payload, route, headers}`.
    Downstream(Bytes),
    /// Data for the gateway, as JSON.
    Upstream(Bytes),
    /// The handler has failed. Nothing follows.
    Failed(Failure),
    /// The handler has ended. Nothing follows.
    Done,
}

/// A call that is answered.
#[derive(Debug)]
pub struct Call {
    response: Response<Incoming>,
    state: State,
    socket: String,
    _connection: AbortOnDrop,
}

#[derive(Debug)]
enum State {
    /// The answer's body is JSON, and not read yet.
    Whole,
    /// Events of such a body, in reverse.
    Read(VecDeque<Event>),
    /// The answer is a stream of events.
    Stream(Parser),
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    frames: Vec<&'a RawValue>,
}

impl Call {
    pub(super) fn new(
        response: Response<Incoming>,
        connection: AbortOnDrop,
        socket: String,
    ) -> Self {
        let kind = response.headers().get(header::CONTENT_TYPE);
        let is_stream = kind
            .and_then(|kind| kind.to_str().ok())
            .is_some_and(|kind| kind.starts_with("text/event-stream"));
        let state = if response.status() == StatusCode::NO_CONTENT {
            State::Read(VecDeque::from([Event::Done]))
        } else if is_stream && response.status() == StatusCode::OK {
            State::Stream(Parser::default())
        } else {
            State::Whole
        };
        Self {
            response,
            state,
            socket,
            _connection: connection,
        }
    }

    /// The next event. After the last one there is nothing to wait for.
    ///
    /// # Errors
    /// When the connection ends before the answer does.
    pub async fn next(&mut self) -> Result<Event, Broken> {
        loop {
            match &mut self.state {
                State::Read(events) => return Ok(events.pop_front().unwrap_or(Event::Done)),
                State::Whole => {
                    let body = self.whole().await?;
                    let events = understand(self.response.status(), &body);
                    self.state = State::Read(events);
                }
                State::Stream(parser) => {
                    if let Some(event) = parser.next() {
                        if let Some(event) = known(&event.name, event.data) {
                            return Ok(event);
                        }
                    } else if parser.held() > MAX_FRAME_BYTES {
                        let text = format!("a frame is larger than {MAX_FRAME_BYTES} bytes");
                        return Ok(Event::Failed(Failure::protocol(text)));
                    } else {
                        match self.response.body_mut().frame().await {
                            Some(Ok(frame)) => {
                                parser.push(frame.data_ref().map_or(&[], |data| data));
                            }
                            Some(Err(error)) => {
                                return Err(Broken::new(self.socket.clone(), &error));
                            }
                            // A stream without its last event: the process has ended.
                            None => return Err(Broken::early(self.socket.clone())),
                        }
                    }
                }
            }
        }
    }

    async fn whole(&mut self) -> Result<Bytes, Broken> {
        let mut body = BytesMut::new();
        while let Some(frame) = self.response.body_mut().frame().await {
            let frame = frame.map_err(|error| Broken::new(self.socket.clone(), &error))?;
            body.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
        }
        Ok(body.freeze())
    }
}

/// An event of the protocol; none for one that this program does not know.
fn known(name: &str, data: Bytes) -> Option<Event> {
    match name {
        "downstream" => Some(Event::Downstream(data)),
        "upstream" => Some(Event::Upstream(data)),
        "done" => Some(Event::Done),
        "error" => Some(Event::Failed(failure(
            StatusCode::INTERNAL_SERVER_ERROR,
            &data,
        ))),
        _ => None,
    }
}

/// The events of an answer in JSON.
fn understand(status: StatusCode, body: &Bytes) -> VecDeque<Event> {
    if status != StatusCode::OK {
        return VecDeque::from([Event::Failed(failure(status, body))]);
    }
    match serde_json::from_slice::<Answer>(body) {
        Ok(answer) => {
            let frames = answer.frames.into_iter();
            let frames =
                frames.map(|frame| Event::Downstream(body.slice_ref(frame.get().as_bytes())));
            frames.chain([Event::Done]).collect()
        }
        Err(error) => {
            let text = format!("the runtime's answer is not {{\"frames\": [...]}}: {error}");
            VecDeque::from([Event::Failed(Failure::protocol(text))])
        }
    }
}

fn failure(status: StatusCode, body: &[u8]) -> Failure {
    match serde_json::from_slice(body) {
        Ok(answer) => Failure::of_handler(&answer, status.as_u16()),
        Err(_) => Failure::protocol(format!("the runtime answered {status} without JSON")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_slices_of_the_answer() {
        let body = Bytes::from_static(br#"{"frames":[{"payload": 1}, {"payload":2.0}]}"#);
        let events: Vec<Event> = understand(StatusCode::OK, &body).into();
        let [
            Event::Downstream(first),
            Event::Downstream(second),
            Event::Done,
        ] = &events[..]
        else {
            panic!("{events:?}");
        };
        assert_eq!(
            (&first[..], &second[..]),
            (&br#"{"payload": 1}"#[..], &br#"{"payload":2.0}"#[..])
        );
    }

    #[test]
    fn answers_that_cannot_be_understood_are_failures() {
        for (status, body) in [(200, "{}"), (200, "<html>"), (502, "<html>"), (404, "{}")] {
            let status = StatusCode::from_u16(status).unwrap();
            let events = understand(status, &Bytes::from(body));
            assert!(matches!(events[0], Event::Failed(_)), "{status} {body}");
        }
    }
}
