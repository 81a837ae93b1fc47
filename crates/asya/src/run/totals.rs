//! Counts of a run.

use std::fmt;
use std::time::{Duration, Instant};

use super::event::{Event, What};

/// Counts of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Messages given by the user.
    pub messages: usize,
    /// Lines that are no message, and messages that no actor takes.
    pub invalid: usize,
    /// Calls of handlers, retries included.
    pub calls: usize,
    /// Messages that came to the end of their route.
    pub results: usize,
    /// Messages that went to the sump or to the dead letters.
    pub failed: usize,
    /// Messages that were not processed to their end.
    pub unfinished: usize,
    /// Time of processing before the present period.
    busy: Duration,
    /// First and last event of the present period.
    first: Option<Instant>,
    last: Option<Instant>,
}

impl Totals {
    /// Counts a message of the user.
    pub(super) fn sent(&mut self) {
        self.messages += 1;
        self.first.get_or_insert_with(Instant::now);
    }

    /// Ends a period of processing: the time until the next message is not counted.
    pub(super) fn pause(&mut self) {
        self.busy = self.elapsed();
        (self.first, self.last) = (None, None);
    }

    /// Counts an event.
    pub(super) fn count(&mut self, event: &Event) {
        match &event.what {
            What::Received { .. } => self.calls += 1,
            What::Result { .. } => self.results += 1,
            _ if event.is_failure() => self.failed += 1,
            _ => return,
        }
        let now = Instant::now();
        self.first.get_or_insert(now);
        self.last = Some(now);
    }

    /// Returns whether every message came to a good end.
    pub fn is_good(&self) -> bool {
        self.failed == 0 && self.invalid == 0 && self.unfinished == 0
    }

    /// Returns whether there was no message at all, valid or not.
    pub(super) fn is_empty(&self) -> bool {
        self.messages == 0 && self.invalid == 0 && self.calls == 0
    }

    /// Time in which messages were processed.
    fn elapsed(&self) -> Duration {
        let present = match (self.first, self.last) {
            (Some(first), Some(last)) => last.duration_since(first),
            _ => Duration::ZERO,
        };
        self.busy + present
    }
}

/// `2 messages, 2 results, 0 failed; 4 calls in 0.05 s, 80 a second`.
impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |count: usize, noun: &str| match count {
            1 => format!("1 {noun}"),
            count => format!("{count} {noun}s"),
        };
        write!(
            f,
            "{}, {}, {} failed",
            counted(self.messages, "message"),
            counted(self.results, "result"),
            self.failed
        )?;
        for (count, what) in [(self.invalid, "invalid"), (self.unfinished, "unfinished")] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        let seconds = self.elapsed().as_secs_f64();
        if self.calls > 0 && seconds > 0.0 {
            #[expect(clippy::cast_precision_loss, reason = "a rate")]
            let rate = self.calls as f64 / seconds;
            let calls = counted(self.calls, "call");
            write!(f, "; {calls} in {seconds:.2} s, {rate:.0} a second")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(what: What) -> Event {
        Event::of("a", "m-1", what)
    }

    #[test]
    fn the_time_between_messages_is_not_counted() {
        let result = || {
            event(What::Result {
                payload: 1.into(),
                route: 1.into(),
            })
        };
        let now = Instant::now();
        let second = Duration::from_secs(1);
        let mut totals = Totals::default();
        totals.sent();
        totals.first = now.checked_sub(3 * second);
        totals.last = now.checked_sub(second);
        totals.pause();
        assert_eq!(totals.elapsed(), 2 * second);
        totals.pause();
        assert_eq!(totals.elapsed(), 2 * second, "a pause after a pause");
        totals.sent();
        totals.count(&result());
        assert!(totals.elapsed() < 3 * second, "{:?}", totals.elapsed());
    }
}
