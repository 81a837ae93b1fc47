//! A sign of life for what takes longer than a second.

use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

/// How long nothing is said, and how often after that.
const INTERVAL: Duration = Duration::from_secs(1);

/// A line that says what is being done and for how many seconds, until this is dropped.
#[derive(Debug, Default)]
#[must_use = "the line is gone as soon as this is"]
pub struct Progress(Option<(Sender<()>, JoinHandle<()>)>);

impl Progress {
    /// Says nothing at all, for where nobody is looking.
    pub(crate) fn silent() -> Self {
        Self::default()
    }

    /// Says it there.
    pub(crate) fn on(mut terminal: impl Write + Send + 'static, what: &str) -> Self {
        let (sender, over) = channel();
        let what = what.to_owned();
        let thread = spawn(move || tell(&mut terminal, &what, &over, INTERVAL));
        Self(Some((sender, thread)))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.0.take() {
            drop(sender);
            // The line is gone before anything else is written.
            drop(thread.join());
        }
    }
}

/// Writes the line again and again, and at the end spaces over it.
fn tell(terminal: &mut impl Write, what: &str, over: &Receiver<()>, interval: Duration) {
    let mut width = 0;
    let mut seconds = 0;
    while over.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
        seconds += INTERVAL.as_secs();
        let line = format!("{what} … {seconds} s");
        width = line.chars().count();
        // With the terminal gone there is nobody left to tell.
        let _ = write!(terminal, "\r{line}").and_then(|()| terminal.flush());
    }
    if width > 0 {
        let _ = write!(terminal, "\r{:width$}\r", "").and_then(|()| terminal.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    /// A terminal at which the work is done after so many lines.
    struct Terminal {
        lines: usize,
        sender: Option<Sender<()>>,
        text: String,
    }

    impl Write for Terminal {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.text.push_str(&String::from_utf8_lossy(bytes));
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            if self.text.matches('…').count() >= self.lines {
                self.sender = None;
            }
            Ok(())
        }
    }

    fn told(lines: usize) -> String {
        let (sender, over) = channel();
        let mut terminal = Terminal {
            lines,
            sender: Some(sender).filter(|_| lines > 0),
            text: String::new(),
        };
        tell(&mut terminal, "reading", &over, Duration::from_millis(1));
        terminal.text
    }

    #[test]
    fn the_line_is_written_over_and_leaves_nothing() {
        assert_eq!(told(2), "\rreading … 1 s\rreading … 2 s\r             \r");
    }

    #[test]
    fn what_is_done_at_once_is_not_told() {
        assert_eq!(told(0), "");
    }
}
