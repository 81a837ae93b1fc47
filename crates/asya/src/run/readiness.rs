//! Waits until a runtime is ready, and finds out why it is not.

use std::path::Path;
use std::time::{Duration, Instant};

use asya_sidecar::runtime::Runtime;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::{sleep, timeout};

/// Interval between checks of a runtime that loads its handler.
const READY_INTERVAL: Duration = Duration::from_millis(10);

/// Interval between checks of a runtime that has been reported as not ready.
const WAITING_INTERVAL: Duration = Duration::from_millis(100);

/// Time after which a runtime that is not ready is reported.
const REPORTED_AFTER: Duration = Duration::from_secs(2);

/// Timeout of a health report, and its largest size in bytes.
const REPORT_TIMEOUT: Duration = Duration::from_secs(1);
const REPORT_LIMIT: u64 = 64 << 10;

/// The runtime's socket in its folder, as the runtime names it.
const SOCKET: &str = "asya-runtime.sock";

/// Text for a runtime that gives no reason: its socket does not exist until the handler is imported.
const LOADING: &str = "the handler is loading";

/// Waits until the runtime is ready, without the growing pauses of a sidecar. Calls `report` with the
/// reason if that takes longer than [`REPORTED_AFTER`], and again whenever the reason changes.
pub(super) async fn ready(runtime: &Runtime, sockets: &Path, report: impl Fn(String)) {
    let start = Instant::now();
    let mut reported = None;
    while !runtime.is_ready().await {
        if start.elapsed() < REPORTED_AFTER {
            sleep(READY_INTERVAL).await;
            continue;
        }
        let reason = match unready_reason(&sockets.join(SOCKET)).await {
            Some(reason) => format!("not ready: {reason}"),
            None => LOADING.to_owned(),
        };
        if reported.as_ref() != Some(&reason) {
            report(reason.clone());
            reported = Some(reason);
        }
        sleep(WAITING_INTERVAL).await;
    }
}

/// The reason in the runtime's health report; none if it does not answer, or gives no reason.
async fn unready_reason(socket: &Path) -> Option<String> {
    let ask = async {
        let mut stream = UnixStream::connect(socket).await.ok()?;
        let request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(request).await.ok()?;
        let mut response = Vec::new();
        let mut stream = stream.take(REPORT_LIMIT);
        stream.read_to_end(&mut response).await.ok()?;
        reason_in(&response)
    };
    timeout(REPORT_TIMEOUT, ask).await.ok()?
}

/// The reason in a response whose body is `{"status": "not_ready", "reason": …}`.
fn reason_in(response: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(response).ok()?;
    let (_, body) = text.split_once("\r\n\r\n")?;
    let report: Value = serde_json::from_str(body).ok()?;
    let reason = report["reason"].as_str().filter(|it| !it.is_empty())?;
    Some(reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_read_from_the_body_of_a_report() {
        let cases = [
            (
                r#"{"status": "not_ready", "reason": "no target"}"#,
                Some("no target"),
                "a reason",
            ),
            (
                r#"{"status": "not_ready", "reason": ""}"#,
                None,
                "an empty reason",
            ),
            (r#"{"status": "ready"}"#, None, "no reason"),
            ("<html>", None, "no JSON"),
        ];
        for (body, expected, why) in cases {
            let response =
                format!("HTTP/1.1 503 x\r\nContent-Type: application/json\r\n\r\n{body}");
            assert_eq!(reason_in(response.as_bytes()).as_deref(), expected, "{why}");
        }
        assert_eq!(reason_in(b"HTTP/1.1 503"), None, "no body");
    }
}
