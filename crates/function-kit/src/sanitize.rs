//! Makes messages and reasons valid: one line of limited length, and a CamelCase reason.
//!
//! Messages of the steps' own meet these rules already. Texts that they copy, such as the reason of
//! an observed object's condition, may be anything.

use actor::hidden::is_hidden;

/// Most bytes of a message, which is the limit that Kubernetes sets for those of conditions.
const LONGEST: usize = 32_768;

/// Stands for a reason that is none.
const NO_REASON: &str = "Unspecified";

/// The reason, if Kubernetes takes it for one.
pub(crate) fn reason(text: &str) -> &str {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"_,:".contains(&byte);
    let is_word = text.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && !text.ends_with([',', ':'])
        && text.bytes().all(is_inner);
    if is_word { text } else { NO_REASON }
}

/// The message as one line of at most [`LONGEST`] bytes.
pub(crate) fn message(text: &str) -> String {
    let mut line = if text.contains(is_hidden) {
        text.replace(is_hidden, " ")
    } else {
        text.to_owned()
    };
    if line.len() > LONGEST {
        let more = format!("… ({} bytes in all)", line.len());
        line.truncate(line.floor_char_boundary(LONGEST - more.len()));
        line.push_str(&more);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_has_the_syntax_of_kubernetes() {
        let cases = [
            ("ConfigError", "ConfigError", "ours"),
            ("Foo_1:Bar", "Foo_1:Bar", "all that Kubernetes takes"),
            ("", NO_REASON, "nothing"),
            ("not a word", NO_REASON, "spaces"),
            ("1st", NO_REASON, "a digit first"),
            ("Foo:", NO_REASON, "a colon last"),
            ("Größe", NO_REASON, "letters of other alphabets"),
        ];
        for (given, expected, why) in cases {
            assert_eq!(reason(given), expected, "{why}");
        }
    }

    #[test]
    fn a_message_is_one_line_that_ends() {
        assert_eq!(message("a \"b\": ä"), "a \"b\": ä");
        assert_eq!(message("a\nb\r\tc\u{0}"), "a b  c ");
        assert_eq!(message("a\u{202e}b\u{61c}c"), "a b c");
        for text in ["x".repeat(LONGEST), "ä".repeat(LONGEST / 2)] {
            assert_eq!(message(&text), text, "as long as may be");
        }
        let long = message(&"ä".repeat(LONGEST));
        assert!(long.len() <= LONGEST, "{}", long.len());
        assert!(
            long.ends_with("ä… (65536 bytes in all)"),
            "{}",
            &long[long.len() - 40..]
        );
    }
}
