//! Messages of AWS and compatible services, made fit for logs and errors.

/// Longest message, in characters.
const MAX: usize = 300;

/// Begins what a service repeats of a request whose signature it refuses. It contains the session token.
const REPEATED: [&str; 2] = ["The Canonical String", "x-amz-security-token"];

/// A message on one line, without what it repeats of a signed request.
pub(crate) fn message(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let repeated = REPEATED
        .iter()
        .filter_map(|start| lower.find(&start.to_ascii_lowercase()));
    let end = repeated.min().unwrap_or(text.len());
    let words: Vec<&str> = text[..end].split_whitespace().collect();
    words.join(" ").chars().take(MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::message;

    #[test]
    fn a_message_is_one_line_without_the_signed_request() {
        let signature = "The request signature we calculated does not match the signature you provided.\n\n\
            The Canonical String for this request should have been\n'POST\n/\n\nx-amz-security-token:token\n'";
        let cases = [
            ("Access denied", "Access denied"),
            (
                signature,
                "The request signature we calculated does not match the signature you provided.",
            ),
            ("headers: X-Amz-Security-Token: token", "headers:"),
            ("two\nlines", "two lines"),
            ("\u{130} x-amz-security-token:token", "\u{130}"),
        ];
        for (text, expected) in cases {
            assert_eq!(message(text), expected, "{text}");
        }
        assert_eq!(message(&"x".repeat(1000)).len(), 300);
    }
}
