//! One line for an error and everything behind it.

use std::error::Error;

/// The error and its sources, joined by `: `. The same text goes to the Fatal
/// result, the condition, the log and the terminal.
pub fn report(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let cause = error.to_string();
        // A message that already ends with its cause does not repeat it.
        if !text.ends_with(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
        source = error.source();
    }
    text
}
