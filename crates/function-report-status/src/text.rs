//! Other programs' words, made fit for a message of ours.

/// Longest quotation of another program's words, in characters.
const QUOTE_MAX: usize = 300;

/// `words` on one line, cut after [`QUOTE_MAX`] characters.
pub(crate) fn quote(words: &str) -> String {
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(QUOTE_MAX) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotations_are_one_short_line() {
        let long = "ä".repeat(301);
        let cases = [
            (
                "secret \"a\" not found",
                "secret \"a\" not found",
                "as it is",
            ),
            ("  one\n\ttwo\r\n", "one two", "no line breaks"),
            (&long[..600], &long[..600], "300 characters are kept"),
            (&long, &format!("{}…", &long[..600]), "one more is not"),
        ];
        for (words, quoted, reason) in cases {
            assert_eq!(quote(words), quoted, "{reason}");
        }
    }
}
