//! A progress line for work that takes longer than a second.

use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

/// Time before the line appears, and between its updates.
const INTERVAL: Duration = Duration::from_secs(1);

/// A line with the name of the work and its seconds, until this is dropped.
#[derive(Debug, Default)]
#[must_use = "dropping this removes the line"]
pub struct Progress(Option<(Sender<()>, JoinHandle<()>)>);

impl Progress {
    /// Writes nothing: for streams that are no terminal.
    pub(crate) fn silent() -> Self {
        Self::default()
    }

    /// Writes the line to a terminal.
    pub(crate) fn on(mut terminal: impl Write + Send + 'static, what: &str) -> Self {
        let (sender, over) = channel();
        let what = what.to_owned();
        let thread = spawn(move || show(&mut terminal, &what, &over, INTERVAL));
        Self(Some((sender, thread)))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.0.take() {
            drop(sender);
            // The line is erased before anything else is written.
            drop(thread.join());
        }
    }
}

/// Updates the line until the work is over, then erases it.
fn show(terminal: &mut impl Write, what: &str, over: &Receiver<()>, interval: Duration) {
    let mut width = 0;
    let mut seconds = 0;
    while over.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
        seconds += INTERVAL.as_secs();
        let line = format!("{what} … {seconds} s");
        width = line.chars().count();
        // Nothing is left to do when the terminal is closed.
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

    /// A terminal on which the work ends after so many lines.
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

    fn shown(lines: usize) -> String {
        let (sender, over) = channel();
        let mut terminal = Terminal {
            lines,
            sender: Some(sender).filter(|_| lines > 0),
            text: String::new(),
        };
        show(&mut terminal, "reading", &over, Duration::from_millis(1));
        terminal.text
    }

    #[test]
    fn a_line_is_updated_and_erased() {
        assert_eq!(shown(2), "\rreading … 1 s\rreading … 2 s\r             \r");
    }

    #[test]
    fn work_under_a_second_shows_no_line() {
        assert_eq!(shown(0), "");
    }
}
