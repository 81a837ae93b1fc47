//! Readiness probes of processes on loopback.

use crate::http;

/// Returns whether `/readyz` on this port answers 200.
pub async fn is_ready(port: u16) -> bool {
    let answer = http::ask(port, ("GET", "/readyz"), &[], None).await;
    answer.is_ok_and(|(status, _)| status == 200)
}
