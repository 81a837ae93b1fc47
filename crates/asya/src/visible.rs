//! Text of objects as a terminal can show it.
//!
//! Conditions, names and files hold texts of others. Control characters in them could move the cursor,
//! hide lines or set the title of a terminal, and characters that change the direction of text could
//! show another text than there is.

use std::borrow::Cow;

use actor::hidden;
use actor::yaml::YamlError;
use serde_json::Value;

/// The text with control characters and those that change its direction escaped, as `\u001b`. Line
/// breaks and tabs stay.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, |_| None)
}

/// The same for a text that stands in one line: line breaks and tabs are escaped too.
pub(crate) fn visible_line(text: &str) -> Cow<'_, str> {
    hidden::escaped(text)
}

/// Documents as a YAML stream in which control characters and those that change the direction of text
/// are escaped. A document with a character that only a quoted text can escape is written as JSON,
/// which is YAML too.
pub(crate) fn yaml_stream<'a>(
    documents: impl IntoIterator<Item = &'a Value>,
) -> Result<String, YamlError> {
    let documents = documents.into_iter();
    let texts = documents.map(|document| Ok(format!("---\n{}", yaml(document)?)));
    texts.collect()
}

/// The same for one document, without the separator.
pub(crate) fn yaml(document: &Value) -> Result<String, YamlError> {
    let text = actor::yaml::write(document)?;
    Ok(if text.contains(is_hidden) {
        format!("{}\n", visible(&format!("{document:#}")))
    } else {
        text
    })
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
                hidden::escape(letter, &mut shown);
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

/// Returns whether a terminal shows something else than the letter. Line breaks and tabs are no such
/// letters.
pub(crate) fn is_hidden(letter: char) -> bool {
    !matches!(letter, '\n' | '\t') && hidden::is_hidden(letter)
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
            ("a\u{e0041}b", "a\\udb40\\udc41b", "two units"),
        ];
        for (text, expected, reason) in cases {
            assert_eq!(visible(text), expected, "{reason}");
        }
        assert_eq!(visible_line("a\n\tb\u{7f}"), "a\\u000a\\u0009b\\u007f");
    }

    #[test]
    fn escaped_documents_have_the_same_values() {
        for text in [
            "plain",
            "a\u{9b}2J",
            "\u{202e}cba",
            "\u{200b}",
            "\u{feff}",
            "\u{e0041}",
            "🦀\u{200d}",
        ] {
            let document = serde_json::json!({"a": text, text: [text]});
            let json = serde_json::to_string_pretty(&document).unwrap();
            let yaml = yaml_stream([&document]).unwrap();
            for shown in [visible(&json).into_owned(), yaml] {
                assert!(!shown.contains(is_hidden), "{shown:?}");
                assert_eq!(actor::yaml::document(&shown).unwrap(), document, "{shown}");
            }
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
