//! Text of objects as a terminal can show it.
//!
//! Conditions, names and files hold texts of others. Control characters in them could move the cursor,
//! hide lines or set the title of a terminal, and characters that change the direction of text could
//! show another text than there is.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text with control characters and those that change its direction escaped, as `\u001b`. Line
/// breaks and tabs stay.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, |_| None)
}

/// The same for text with colours of this program, which stay.
pub(crate) fn visible_beside_colours(text: &str) -> Cow<'_, str> {
    escaped(text, colour)
}

fn escaped(text: &str, kept: impl Fn(&str) -> Option<usize>) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let length = match kept(rest) {
            Some(length) => {
                shown.push_str(rest.get(..length).unwrap_or_default());
                length
            }
            None if is_hidden(letter) => {
                // Writing to a text does not fail.
                let _ = write!(shown, "\\u{:04x}", u32::from(letter));
                letter.len_utf8()
            }
            None => {
                shown.push(letter);
                letter.len_utf8()
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    Cow::Owned(shown)
}

/// Length of the sequence at the start of the text that sets a colour or weight.
fn colour(text: &str) -> Option<usize> {
    let codes = text.strip_prefix("\u{1b}[")?;
    let end = codes.find('m')?;
    let (codes, _) = codes.split_at(end);
    let is_colour = codes.len() <= 8 && codes.chars().all(|c| c.is_ascii_digit() || c == ';');
    is_colour.then_some("\u{1b}[".len() + end + 1)
}

fn is_hidden(letter: char) -> bool {
    (letter.is_control() && !matches!(letter, '\n' | '\t'))
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        let cases = [
            ("plain ä\n\tx", "plain ä\n\tx", "line breaks and tabs stay"),
            ("\u{1b}[2Jx", "\\u001b[2Jx", "clears the screen"),
            ("\u{1b}[31mx", "\\u001b[31mx", "a colour of others"),
            ("a\rb\u{8}\u{7f}", "a\\u000db\\u0008\\u007f", "overwrites"),
            ("\u{9b}2J", "\\u009b2J", "the one-byte form"),
            ("\u{202e}cba\u{2066}", "\\u202ecba\\u2066", "direction"),
        ];
        for (text, expected, reason) in cases {
            assert_eq!(visible(text), expected, "{reason}");
        }
    }

    #[test]
    fn colours_of_this_program_stay() {
        let cases = [
            ("\u{1b}[31mred\u{1b}[0m", "\u{1b}[31mred\u{1b}[0m"),
            ("\u{1b}[2J\u{1b}[1mx", "\\u001b[2J\u{1b}[1mx"),
            ("\u{1b}]0;title\u{7}", "\\u001b]0;title\\u0007"),
            ("\u{1b}", "\\u001b"),
        ];
        for (text, expected) in cases {
            assert_eq!(visible_beside_colours(text), expected);
        }
    }
}
