//! The only way to the terminal: data to standard output, talk to standard error.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write};

use owo_colors::{OwoColorize as _, Style};

use crate::progress::Progress;

/// Writes in colours where somebody is looking, and in plain text where not: when
/// the stream is no terminal, or `NO_COLOR` is set.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Printer;

impl Printer {
    /// Writes what was asked for.
    ///
    /// # Errors
    /// When standard output cannot be written to.
    pub fn data(&self, text: &str) -> io::Result<()> {
        let mut stdout = anstream::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    }

    /// Tells what is wrong.
    pub fn error(&self, message: impl Display) {
        talk(Style::new().red().bold(), "error", message);
    }

    /// Tells what to do about it.
    pub fn hint(&self, message: impl Display) {
        talk(Style::new().cyan().bold(), "hint", message);
    }

    /// Tells what may be wrong.
    pub fn warning(&self, message: impl Display) {
        talk(Style::new().yellow().bold(), "warning", message);
    }

    /// Tells what another program has said, as it has said it.
    pub fn pass_on(&self, talk: &str) {
        let _ = anstream::stderr().write_all(talk.as_bytes());
    }

    /// Tells what is being done, where that takes longer than a second and somebody is
    /// looking: until the answer is dropped, which must be before anything is written.
    pub fn progress(&self, what: &str) -> Progress {
        let stderr = io::stderr();
        if stderr.is_terminal() {
            Progress::on(stderr, what)
        } else {
            Progress::silent()
        }
    }

    /// Tells what is worth knowing.
    pub fn note(&self, message: impl Display) {
        talk(Style::new().bold(), "note", message);
    }
}

fn talk(style: Style, kind: &str, message: impl Display) {
    // With standard error gone there is nobody left to tell.
    let _ = writeln!(anstream::stderr(), "{}: {message}", kind.style(style));
}
