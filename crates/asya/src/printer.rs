//! The only module that writes to the terminal: data to standard output, messages to standard
//! error.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write};

use owo_colors::{OwoColorize as _, Style};

use crate::progress::Progress;
use crate::visible::{visible, visible_beside_colours};

/// Writes in colours to a terminal, and plain text if the stream is no terminal or `NO_COLOR` is
/// set.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Printer;

impl Printer {
    /// Columns of the terminal that standard output is; none for files and pipes, which get
    /// everything.
    pub fn width(&self) -> Option<usize> {
        let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
        Some(usize::from(width.0)).filter(|width| *width > 0)
    }

    /// Writes data to standard output: text with colours of this program, JSON or YAML. Control
    /// characters and those that change the direction of text are escaped, which is the same value in
    /// a text of JSON. Texts of others may contain colours too: forms escape them with [`visible`].
    ///
    /// # Errors
    /// When standard output cannot be written to.
    pub fn data(&self, text: &str) -> io::Result<()> {
        let text = visible_beside_colours(text);
        let mut stdout = anstream::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    }

    /// Writes an error.
    pub fn error(&self, message: impl Display) {
        write_line(Style::new().red().bold(), "error", message);
    }

    /// Writes a remedy for the error before it.
    pub fn hint(&self, message: impl Display) {
        write_line(Style::new().cyan().bold(), "hint", message);
    }

    /// Writes a warning.
    pub fn warning(&self, message: impl Display) {
        write_line(Style::new().yellow().bold(), "warning", message);
    }

    /// Writes the standard error of another program.
    pub fn relay(&self, stderr: &str) {
        // Nothing is left to do when standard error is closed.
        let _ = anstream::stderr().write_all(visible(stderr).as_bytes());
    }

    /// Shows a progress line on a terminal once the work takes longer than a second. Drop the
    /// returned value before anything else is written.
    pub fn progress(&self, what: &str) -> Progress {
        let stderr = io::stderr();
        if stderr.is_terminal() {
            Progress::on(stderr, what)
        } else {
            Progress::silent()
        }
    }

    /// Writes the counts of the input, the last line of a command.
    pub fn summary(&self, counts: impl Display) {
        let _ = writeln!(anstream::stderr(), "{}", visible(&counts.to_string()));
    }

    /// Writes a note.
    pub fn note(&self, message: impl Display) {
        write_line(Style::new().bold(), "note", message);
    }
}

fn write_line(style: Style, kind: &str, message: impl Display) {
    // Nothing is left to do when standard error is closed.
    // Further lines are indented: none can pass for a message of its own.
    let message = message.to_string().replace('\n', "\n  ");
    let message = visible(&message);
    let _ = writeln!(anstream::stderr(), "{}: {message}", kind.style(style));
}
