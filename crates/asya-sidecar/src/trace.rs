//! Spans of messages: what the worker reports, and a tracer that records nothing.

use std::sync::Arc;

use crate::envelope::Envelope;

/// Records spans.
pub trait Tracer: Send + Sync {
    /// Starts the span of a message, as a child of the one that its headers name, and writes its own
    /// context into them: what follows from the message belongs to this span.
    fn message(&self, envelope: &mut Envelope) -> Box<dyn Span>;
}

impl<T: Tracer + ?Sized> Tracer for Arc<T> {
    fn message(&self, envelope: &mut Envelope) -> Box<dyn Span> {
        (**self).message(envelope)
    }
}

/// A span, which ends with the value.
pub trait Span: Send + Sync {
    /// Starts a part of it.
    fn part(&self, part: Part<'_>) -> Box<dyn Span>;

    /// Records the error that it ended with.
    fn failed(&self, r#type: &str);

    /// Records what became of the message.
    fn outcome(&self, outcome: &'static str);
}

/// A part of a message's processing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// The call of the handler.
    Call,
    /// Sending a message to this actor, until the broker has confirmed it.
    Send(&'a str),
}

/// Records nothing, and leaves headers as they are.
#[derive(Debug, Clone, Copy, Default)]
pub struct Untraced;

impl Tracer for Untraced {
    fn message(&self, _: &mut Envelope) -> Box<dyn Span> {
        Box::new(Self)
    }
}

impl Span for Untraced {
    fn part(&self, _: Part<'_>) -> Box<dyn Span> {
        Box::new(Self)
    }

    fn failed(&self, _: &str) {}

    fn outcome(&self, _: &'static str) {}
}
