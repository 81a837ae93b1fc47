//! Characters that people do not see as they are.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text as one line in which hidden characters are escaped as JSON escapes them: `\u001b`.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_hidden(letter) {
            escape(letter, &mut shown);
        } else {
            shown.push(letter);
        }
    }
    Cow::Owned(shown)
}

/// Appends the escape of a character: two of them beyond the first plane of Unicode.
pub fn escape(letter: char, shown: &mut String) {
    for unit in letter.encode_utf16(&mut [0; 2]) {
        // Writing to a text does not fail.
        let _ = write!(shown, "\\u{unit:04x}");
    }
}

/// Returns whether a terminal shows something else than the letter, or nothing at all: control characters,
/// line breaks and tabs among them, those that change the direction of text, and those without a width.
///
/// Of the characters that Unicode lets programs ignore (`Default_Ignorable_Code_Point`), the selectors of a
/// variant are left out, because emoji have them.
pub fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_escaped() {
        let cases = [
            ("ä b", "ä b"),
            ("a\n\tb\u{7f}", "a\\u000a\\u0009b\\u007f"),
            ("a\u{e0041}b", "a\\udb40\\udc41b"),
        ];
        for (text, expected) in cases {
            assert_eq!(escaped(text), expected);
        }
    }

    #[test]
    fn control_and_invisible_characters_are_hidden() {
        for letter in
            "\u{1b}\n\t\u{9b}\u{61c}\u{180e}\u{200b}\u{202e}\u{2066}\u{206a}\u{fff9}\u{e0041}"
                .chars()
        {
            assert!(is_hidden(letter), "{letter:?}");
        }
        for letter in "aä 中🦀❤\u{fe0f}é\u{301}".chars() {
            assert!(!is_hidden(letter), "{letter:?}");
        }
    }
}
