//! Texts of other programs, made fit for conditions, events and logs.

use actor::hidden::is_hidden;

/// Longest text that is taken over from a broker or service, in characters.
pub const FOREIGN_MAX: usize = 300;

/// A text on one line without hidden characters, cut to `max` characters.
///
/// Escape sequences and characters that change the direction of text would change what a terminal shows.
pub fn clean(text: &str, max: usize) -> String {
    let visible = text.chars().map(|letter| {
        if letter.is_whitespace() || is_hidden(letter) {
            ' '
        } else {
            letter
        }
    });
    let mut cleaned = String::new();
    let mut length = 0;
    for letter in visible {
        if letter == ' ' && (cleaned.is_empty() || cleaned.ends_with(' ')) {
            continue;
        }
        if length == max {
            cleaned.push('…');
            break;
        }
        cleaned.push(letter);
        length += 1;
    }
    cleaned.truncate(cleaned.trim_end().len());
    cleaned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_and_long_texts_are_removed() {
        let cases = [
            ("plain", "plain"),
            ("two\n lines\r\n", "two lines"),
            ("\u{1b}[31mred\u{7}", "[31mred"),
            ("a\u{202e}b\u{0}c", "a b c"),
            ("a\u{61c}b\u{206a}c", "a b c"),
            ("", ""),
            ("0123456789ab", "0123456789…"),
        ];
        for (text, expected) in cases {
            assert_eq!(clean(text, 10), expected, "{text:?}");
        }
    }
}
