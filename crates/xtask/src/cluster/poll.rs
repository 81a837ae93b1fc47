//! Waiting for what other processes do, with a deadline.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// Pause between two questions.
const INTERVAL: Duration = Duration::from_millis(100);

/// Asks until there is an answer; an error of the inner result is what was found instead.
///
/// # Errors
/// If there is no answer within `timeout`, or a question fails.
pub(super) fn until<T>(
    what: &str,
    timeout: Duration,
    mut ask: impl FnMut() -> Result<Result<T, String>>,
) -> Result<T> {
    let deadline = Instant::now() + timeout;
    loop {
        let found = match ask()? {
            Ok(answer) => return Ok(answer),
            Err(found) => found,
        };
        if Instant::now() > deadline {
            bail!(
                "waited {} s until {what}; found: {found}",
                timeout.as_secs()
            );
        }
        thread::sleep(INTERVAL);
    }
}
