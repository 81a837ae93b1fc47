//! Names of queues and exchanges.

/// Longest name of an exchange or queue, and longest routing key, in bytes. Source: AMQP 0.9.1, 4.2.5.3,
/// short strings; names of SQS are shorter.
pub(crate) const LONGEST_NAME: usize = 255;

/// Returns whether the name or URL is that of a FIFO queue: SQS identifies them by a suffix.
#[expect(
    clippy::case_sensitive_file_extension_comparisons,
    reason = "names of queues are case-sensitive, and no names of files"
)]
pub(crate) fn is_fifo(name: &str) -> bool {
    name.ends_with(".fifo")
}
