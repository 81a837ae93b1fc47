//! Certificates that are renewed while the function serves.
//!
//! The SDK's server reads its certificates once. When the files have changed, the process therefore
//! ends as if it were asked to, with 0, and the kubelet starts it again with the new ones.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};

const FILES: [&str; 3] = ["tls.crt", "tls.key", "ca.crt"];

/// How often the files are looked at. The kubelet brings them about a minute after the Secret has
/// changed, so that sooner is of no use.
const LOOK: Duration = Duration::from_secs(3);

/// The content of the files; none while one of them cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Certificates(Vec<Vec<u8>>);

impl Certificates {
    fn read(folder: &Path) -> Option<Self> {
        let files = FILES.iter().map(|name| fs::read(folder.join(name)).ok());
        files.collect::<Option<_>>().map(Self)
    }
}

/// Tells new certificates from those that the process has, and from files that are being written.
#[derive(Debug)]
struct Watch {
    ours: Certificates,
    last_look: Certificates,
}

impl Watch {
    fn new(ours: Certificates) -> Self {
        let last_look = ours.clone();
        Self { ours, last_look }
    }

    /// Whether there are other certificates than ours, the same at two looks in a row: with a key
    /// of one pair and a certificate of another the next process could not serve.
    fn sees_renewal(&mut self, found: Option<Certificates>) -> bool {
        let Some(found) = found else { return false };
        let is_new = found != self.ours && found == self.last_look;
        self.last_look = found;
        is_new
    }
}

/// Asks this process to end when the certificates in the folder are others than now. Never
/// completes: whoever handles the signal ends the process.
pub(super) async fn end_when_renewed(folder: Option<&Path>) {
    if let Some(ours) = folder.and_then(Certificates::read)
        && let Some(folder) = folder
    {
        let mut watch = Watch::new(ours);
        loop {
            tokio::time::sleep(LOOK).await;
            // A few kilobytes in memory, for that is where the kubelet puts Secrets.
            if watch.sees_renewal(Certificates::read(folder)) {
                break;
            }
        }
        tracing::info!("the certificates were renewed: ending, to be started with them");
        if let Err(error) = kill_process(getpid(), Signal::TERM) {
            tracing::error!(%error, "cannot end: restart this pod to serve with the new certificates");
        }
    }
    std::future::pending::<()>().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_and_new_certificates_are_a_renewal() {
        let of = |text: &str| Some(Certificates(vec![text.into()]));
        let cases: [(&str, Vec<Option<Certificates>>, bool); 6] = [
            ("nothing happens", vec![of("old"), of("old")], false),
            ("renewed", vec![of("old"), of("new"), of("new")], true),
            ("seen once", vec![of("new")], false),
            ("still being written", vec![of("ne"), of("new")], false),
            ("gone", vec![None, None], false),
            (
                "back to the old ones",
                vec![of("new"), of("old"), of("old")],
                false,
            ),
        ];
        for (reason, looks, expected) in cases {
            let mut watch = Watch::new(Certificates(vec!["old".into()]));
            let seen = looks.into_iter().any(|look| watch.sees_renewal(look));
            assert_eq!(seen, expected, "{reason}");
        }
    }
}
