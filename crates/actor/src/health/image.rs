//! Kubelet messages about images that cannot be pulled.

/// Waiting reasons. Source: Kubernetes, `pkg/kubelet/images`; cri-api, `pkg/errors`.
pub(super) const REASONS: [&str; 7] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "RegistryUnavailable",
    "SignatureValidationFailed",
    "ImageInspectError",
];

/// The reasons that a kubelet reports in turns while it retries.
pub(super) const RETRIED: [&str; 2] = ["ErrImagePull", "ImagePullBackOff"];

/// Prefix of a kubelet's message between two attempts.
const BACK_OFF: &str = "Back-off pulling image ";

/// Returns the cause for which an image cannot be pulled, in a text that does not change from attempt to
/// attempt, and whether that text names no cause.
///
/// Between two attempts newer kubelets repeat the cause after
/// `Back-off pulling image "…": ErrImagePull: `, older ones omit it.
pub(super) fn cause(words: &str) -> (&str, bool) {
    let Some(image) = words.strip_prefix(BACK_OFF) else {
        return (words, words.is_empty());
    };
    let Some((_, cause)) = image.split_once("\": ") else {
        return (words, true);
    };
    let cause = match cause.split_once(": ") {
        Some((reason, cause)) if REASONS.contains(&reason) => cause,
        _ => cause,
    };
    (cause, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_the_same_while_pulling_and_in_between() {
        let cases = [
            ("not found", ("not found", false), "an attempt"),
            (
                "Back-off pulling image \"a:1\": ErrImagePull: not found",
                ("not found", false),
                "a newer kubelet in between",
            ),
            (
                "Back-off pulling image \"a:1\": try: again",
                ("try: again", false),
                "no reason that is known",
            ),
            (
                "Back-off pulling image \"a:1\"",
                ("Back-off pulling image \"a:1\"", true),
                "an older kubelet in between",
            ),
            ("", ("", true), "a kubelet without words"),
        ];
        for (words, expected, reason) in cases {
            assert_eq!(cause(words), expected, "{reason}");
        }
    }
}
