//! Restart on renewed certificates.
//!
//! The SDK's server reads its certificates once. When the files have changed, the process sends
//! itself SIGTERM, exits with 0, and the kubelet starts it again with the new ones.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::drain;

const FILES: [&str; 3] = ["tls.crt", "tls.key", "ca.crt"];

/// Interval at which the files are read. The kubelet updates them about a minute after the Secret
/// has changed, so a shorter one would not help.
const POLL_INTERVAL: Duration = Duration::from_secs(3);

/// The content of the files; none while one of them cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Certificates(Vec<Vec<u8>>);

impl Certificates {
    fn read(folder: &Path) -> Option<Self> {
        let files = FILES.iter().map(|name| fs::read(folder.join(name)).ok());
        files.collect::<Option<_>>().map(Self)
    }
}

/// Distinguishes new certificates from those in use and from files that are being written.
#[derive(Debug)]
struct Watch {
    in_use: Certificates,
    last_read: Certificates,
}

impl Watch {
    fn new(in_use: Certificates) -> Self {
        let last_read = in_use.clone();
        Self { in_use, last_read }
    }

    /// Returns whether new certificates were read, the same twice in a row: with the key of one
    /// pair and the certificate of another the next process could not serve.
    fn is_renewed_by(&mut self, found: Option<Certificates>) -> bool {
        let Some(found) = found else { return false };
        let is_new = found != self.in_use && found == self.last_read;
        self.last_read = found;
        is_new
    }
}

/// Sends this process SIGTERM when the certificates in the folder have changed. Never completes:
/// the handler of the signal ends the process.
pub(crate) async fn end_when_renewed(folder: Option<&Path>) {
    if let Some(in_use) = folder.and_then(Certificates::read)
        && let Some(folder) = folder
    {
        let mut watch = Watch::new(in_use);
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            // A few kilobytes, in memory: the kubelet mounts Secrets as tmpfs.
            if watch.is_renewed_by(Certificates::read(folder)) {
                break;
            }
        }
        tracing::info!(
            "certificates renewed: exiting, the kubelet restarts this container with them"
        );
        drain::terminate();
    }
    std::future::pending::<()>().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renewal_needs_complete_new_certificates_read_twice() {
        let of = |text: &str| Some(Certificates(vec![text.into()]));
        let cases: [(&str, Vec<Option<Certificates>>, bool); 6] = [
            ("unchanged", vec![of("old"), of("old")], false),
            ("renewed", vec![of("old"), of("new"), of("new")], true),
            ("read once", vec![of("new")], false),
            ("still being written", vec![of("ne"), of("new")], false),
            ("missing", vec![None, None], false),
            (
                "back to the old ones",
                vec![of("new"), of("old"), of("old")],
                false,
            ),
        ];
        for (reason, reads, expected) in cases {
            let mut watch = Watch::new(Certificates(vec!["old".into()]));
            let renewed = reads.into_iter().any(|read| watch.is_renewed_by(read));
            assert_eq!(renewed, expected, "{reason}");
        }
    }
}
