//! Limits of time and memory for a request: a function that hangs, or takes all memory, would otherwise end
//! a run without a message about the request.

use std::process;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::Value;

/// Time limit of one request in all functions: a thousand times what any takes.
const LONGEST: Duration = Duration::from_mins(2);
/// Most memory of this process, the corpus included, in bytes.
const MOST_MEMORY: u64 = 512 << 20;

/// The request that is in the functions, and since when.
static AT_WORK: LazyLock<Mutex<Option<(Instant, Value)>>> = LazyLock::new(|| {
    thread::spawn(watch);
    Mutex::default()
});

/// Does the work, and ends this process with the document on standard error where it takes too long.
pub(crate) fn watched<T>(document: &Value, work: impl FnOnce() -> T) -> T {
    set(Some((Instant::now(), document.clone())));
    let done = work();
    set(None);
    done
}

fn set(at_work: Option<(Instant, Value)>) {
    *AT_WORK.lock().unwrap_or_else(PoisonError::into_inner) = at_work;
}

#[expect(
    clippy::print_stderr,
    reason = "nothing else is left of a test that hangs"
)]
fn watch() {
    loop {
        thread::sleep(LONGEST / 8);
        let at_work = AT_WORK.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((since, document)) = &*at_work
            && since.elapsed() > LONGEST
        {
            let yaml = actor::yaml::write(document).unwrap_or_default();
            eprintln!("no answer for {LONGEST:?} to\n{yaml}");
            process::abort();
        }
    }
}

/// Says how much memory this process has had, if that is too much.
pub(crate) fn memory() -> Result<(), String> {
    // Where there is no such file, another machine finds out.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    match number {
        Some(kibibytes) if kibibytes << 10 > MOST_MEMORY => Err(format!("it took {kibibytes} KiB")),
        _ => Ok(()),
    }
}
