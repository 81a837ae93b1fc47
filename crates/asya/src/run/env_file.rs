//! Files of environment variables, as `docker run --env-file` and shells read them.

use std::collections::BTreeMap;

/// A line that sets no variable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: expected NAME=VALUE")]
pub struct EnvFileError {
    /// Counted from 1. The line itself may hold a secret.
    pub line: usize,
}

/// The variables of a file: `NAME=VALUE` on each line, with an optional `export`. A value in single
/// quotes is taken as it is; in double quotes `\n`, `\t`, `\"` and `\\` are escapes. Empty lines and
/// lines that begin with `#` are skipped. Of two values for a name the later one counts.
///
/// # Errors
/// With the number of the first line that is none of these.
pub fn parse(text: &str) -> Result<BTreeMap<String, String>, EnvFileError> {
    let mut variables = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let invalid = EnvFileError { line: index + 1 };
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').ok_or_else(|| invalid.clone())?;
        if !is_name(name.trim()) {
            return Err(invalid);
        }
        variables.insert(name.trim().to_owned(), unquoted(value.trim()));
    }
    Ok(variables)
}

/// Returns whether the text can name a variable: letters, digits, `_`, `.` and `-`, no digit first, as the API
/// server checks it.
pub fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(is_part)
}

fn unquoted(value: &str) -> String {
    let inside = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    if let Some(value) = inside('\'') {
        return value.to_owned();
    }
    let Some(value) = inside('"') else {
        return value.to_owned();
    };
    let mut text = String::new();
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match (character, characters.clone().next()) {
            ('\\', Some(escaped @ ('n' | 't' | '"' | '\\'))) => {
                characters.next();
                text.push(match escaped {
                    'n' => '\n',
                    't' => '\t',
                    other => other,
                });
            }
            (other, _) => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_shells_read_them() {
        let cases = [
            ("A=b", "b"),
            ("export A=b", "b"),
            ("A=", ""),
            ("A=b=c", "b=c"),
            (" A = b ", "b"),
            ("A='b # $c \\n'", "b # $c \\n"),
            ("A=\"b\\n\\\"c\\\\\"", "b\n\"c\\"),
            ("A=\"b", "\"b"),
            ("# x\n\nA=1\nA=2", "2"),
        ];
        for (text, expected) in cases {
            let expected = BTreeMap::from([("A".to_owned(), expected.to_owned())]);
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn other_lines_are_errors_that_do_not_repeat_them() {
        for text in ["A", "=b", "1A=b", "A B=c"] {
            assert_eq!(
                parse(&format!("X=1\n{text}")),
                Err(EnvFileError { line: 2 })
            );
        }
    }
}
