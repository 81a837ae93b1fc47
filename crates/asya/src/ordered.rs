//! Work on many actors with all processors.

use std::panic::resume_unwind;
use std::thread::{ScopedJoinHandle, available_parallelism, scope};

/// Items per thread that are taken at once. A batch ends with its slowest item, and its results wait in
/// memory.
const BATCH: usize = 32;

/// Calls `work` on each item in several threads, and `done` with each result, in the order of the items.
///
/// # Errors
/// The first error of `done`. No further items are taken.
pub(crate) fn ordered<T: Send, R: Send, E>(
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> R + Sync,
    mut done: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let threads = available_parallelism().map_or(1, usize::from);
    let mut items = items.into_iter();
    loop {
        let mut parts: Vec<Vec<T>> = Vec::new();
        for _ in 0..threads {
            let part: Vec<T> = items.by_ref().take(BATCH).collect();
            if part.is_empty() {
                break;
            }
            parts.push(part);
        }
        if parts.len() < 2 {
            let Some(part) = parts.pop() else {
                return Ok(());
            };
            for item in part {
                done(work(item))?;
            }
            continue;
        }
        let results: Vec<Vec<R>> = scope(|threads| {
            let work = &work;
            let started: Vec<_> = parts
                .into_iter()
                .map(|part| threads.spawn(move || part.into_iter().map(work).collect()))
                .collect();
            let ended = started.into_iter().map(ScopedJoinHandle::join);
            ended
                .map(|result| result.unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        });
        for result in results.into_iter().flatten() {
            done(result)?;
        }
    }
}

/// The results of `work` on each item, in the order of the items.
pub(crate) fn all<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let mut results = Vec::new();
    let done = |result| {
        results.push(result);
        Ok::<(), std::convert::Infallible>(())
    };
    let Ok(()) = ordered(items, work, done);
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_items() {
        for count in [0, 1, 31, 33, 1000] {
            let expected: Vec<usize> = (0..count).map(|item| item * 2).collect();
            assert_eq!(all(0..count, |item| item * 2), expected, "{count}");
        }
    }

    #[test]
    fn an_error_ends_the_work() {
        let mut seen = Vec::new();
        let ended = ordered(
            0..1_000_000,
            |item| item,
            |item| {
                seen.push(item);
                if item == 3 { Err("over") } else { Ok(()) }
            },
        );
        assert_eq!((ended, seen), (Err("over"), vec![0, 1, 2, 3]));
    }
}
