//! Documents of one file. One that cannot be parsed is an error with its position; the others are read
//! all the same.

use std::borrow::Cow;
use std::str::Utf8Error;

use actor::yaml::{Located, Position, YamlError, documents, located};

/// Documents of a YAML stream.
#[derive(Debug, Default)]
pub(super) struct Stream<'a> {
    /// The text; lines of documents that cannot be parsed are empty.
    pub(super) text: Cow<'a, str>,
    /// The documents, each with the positions of its fields.
    pub(super) documents: Vec<Located>,
    /// Errors of the documents that cannot be parsed, in their order.
    pub(super) errors: Vec<YamlError>,
}

impl<'a> Stream<'a> {
    /// Reads a stream: in one go, and only if that fails document by document.
    pub(super) fn read(bytes: &'a [u8]) -> Self {
        if let Some(encoding) = other_encoding(bytes) {
            let problem = format!("the text is {encoding}: save it as UTF-8");
            return Self::unreadable(read_error(problem, Position { line: 1, column: 1 }));
        }
        let whole = match text_of(bytes) {
            Ok(text) => match located(text) {
                Ok(documents) => {
                    return Self {
                        text: text.into(),
                        documents,
                        errors: Vec::new(),
                    };
                }
                Err(error) => error,
            },
            Err(error) => error,
        };
        let (readable, errors) = without_unreadable(bytes);
        // Limits of the reader can be exceeded by the stream and by none of its documents.
        match located(&readable) {
            Ok(documents) if !errors.is_empty() => Self {
                text: readable.into(),
                documents,
                errors,
            },
            _ => Self::unreadable(whole),
        }
    }

    fn unreadable(error: YamlError) -> Self {
        Self {
            errors: vec![error],
            ..Self::default()
        }
    }
}

/// The stream with empty lines in place of documents that cannot be parsed, and their errors.
fn without_unreadable(bytes: &[u8]) -> (String, Vec<YamlError>) {
    let mut readable = String::with_capacity(bytes.len());
    let mut errors = Vec::new();
    let mut lines_before = 0;
    for part in parts(bytes) {
        let lines = line_breaks(part);
        match text_of(part).and_then(|text| documents(text).map(|_| text)) {
            Ok(text) => readable.push_str(text),
            Err(error) => {
                let last = lines + usize::from(!part.ends_with(b"\n"));
                errors.push(moved(error, lines_before, last as u64));
                // Begins a document: a text block before it would take the empty lines as its own.
                readable.push_str("---");
                readable.extend(std::iter::repeat_n('\n', lines));
            }
        }
        lines_before += lines as u64;
    }
    (readable, errors)
}

/// The stream in parts with at most one document each. In YAML, lines that begin with `---` or `...`
/// separate documents wherever they stand, also in quoted texts and in text blocks.
fn parts(bytes: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    // Comments and directives belong to the document after them.
    let mut has_content = false;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if is_marker(line, b"---") {
            if has_content {
                parts.push(&bytes[start..at]);
                start = at;
            }
            has_content = true;
        }
        at += line.len();
        if is_marker(line, b"...") {
            parts.push(&bytes[start..at]);
            start = at;
            has_content = false;
        }
        let first = line.iter().find(|byte| !byte.is_ascii_whitespace());
        let is_directive = !has_content && line.first() == Some(&b'%');
        has_content |= first.is_some_and(|byte| *byte != b'#') && !is_directive && start != at;
    }
    parts.push(&bytes[start..]);
    parts
}

fn line_breaks(bytes: &[u8]) -> usize {
    bytes.split(|byte| *byte == b'\n').count() - 1
}

fn is_marker(line: &[u8], marker: &[u8]) -> bool {
    let rest = line.strip_prefix(marker);
    rest.is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
}

fn text_of(bytes: &[u8]) -> Result<&str, YamlError> {
    std::str::from_utf8(bytes).map_err(|error| not_utf8(bytes, error))
}

fn not_utf8(bytes: &[u8], error: Utf8Error) -> YamlError {
    let (before, rest) = bytes.split_at(error.valid_up_to());
    let line = line_breaks(before) + 1;
    let last = before.rsplit(|byte| *byte == b'\n').next();
    let column = String::from_utf8_lossy(last.unwrap_or_default())
        .chars()
        .count()
        + 1;
    let byte = rest.first().copied().unwrap_or_default();
    let problem = format!("byte 0x{byte:02X} is not UTF-8");
    read_error(
        problem,
        Position {
            line: line as u64,
            column: column as u64,
        },
    )
}

/// The name of an encoding that files of other systems begin with; none for UTF-8.
fn other_encoding(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16"),
        _ => None,
    }
}

fn read_error(problem: String, position: Position) -> YamlError {
    YamlError::Read {
        problem,
        position: Some(position),
    }
}

/// The error of a document with its position in the stream. One at the end of the document is on its last line,
/// not on that of the next one.
fn moved(error: YamlError, lines_before: u64, last: u64) -> YamlError {
    let (problem, position) = match error {
        YamlError::Read { problem, position } => (problem, position),
        YamlError::Write(problem) => (problem, None),
    };
    let Position { line, column } = position.unwrap_or(Position { line: 1, column: 1 });
    let position = if line > last {
        Position {
            line: lines_before + last,
            column: 1,
        }
    } else {
        Position {
            line: lines_before + line,
            column,
        }
    };
    read_error(problem, position)
}

#[cfg(test)]
mod tests {
    use super::*;
    use merge::FieldPath;

    /// Names of the documents with their lines, and positions of the errors.
    type Read = (Vec<(String, u64)>, Vec<(u64, u64)>);

    fn read(text: &[u8]) -> Read {
        let stream = Stream::read(text);
        let documents = stream.documents.iter().map(|it| {
            let line = it.positions.of(&FieldPath::from(["name"])).line;
            (it.value["name"].to_string(), line)
        });
        let errors = stream.errors.iter().map(|error| match error {
            YamlError::Read {
                position: Some(it), ..
            } => (it.line, it.column),
            _ => (0, 0),
        });
        (documents.collect(), errors.collect())
    }

    #[test]
    fn unreadable_documents_hide_no_others() {
        type Case = (
            &'static [u8],
            &'static [(&'static str, u64)],
            &'static [(u64, u64)],
            &'static str,
        );
        let cases: [Case; 10] = [
            (
                b"name: 1\n---\nname: [\n---\nname: 3\n",
                &[("1", 1), ("3", 5)],
                &[(3, 7)],
                "one in the middle",
            ),
            (
                b"a: b: c\n---\nname: 2\n",
                &[("2", 3)],
                &[(1, 5)],
                "the first, without a marker",
            ),
            (
                b"name: 1\n--- [\n--- {name: 3}\n---\n a: 1\nb: 2\n",
                &[("1", 1), ("3", 3)],
                &[(2, 5), (6, 1)],
                "two, and content beside a marker",
            ),
            (
                b"name: |+\n  text\n---\na: \"x\n---\nname: 2\n",
                &[("\"text\\n\"", 1), ("2", 6)],
                &[(4, 1)],
                "after a text block that keeps empty lines",
            ),
            (
                b"name: 1\n...\n# comment\n%YAML 1.2\n---\nname: 2\n---\na: [\n",
                &[("1", 1), ("2", 6)],
                &[(8, 4)],
                "beside a directive",
            ),
            (
                b"name: 1\r\n---\r\na: b: c\r\n---\r\nname: 3\r\n",
                &[("1", 1), ("3", 5)],
                &[(3, 5)],
                "line ends of Windows",
            ),
            (
                b"name: 1\n---\na: \xff\n---\nname: 3\n",
                &[("1", 1), ("3", 5)],
                &[(3, 4)],
                "a byte that is no text",
            ),
            (b"\xff\xfen\0", &[], &[(1, 1)], "another encoding"),
            (
                b"base: &b 1\n---\nname: *b\n---\na: [\n---\nname: 4",
                &[("4", 7)],
                &[(3, 7), (5, 4)],
                "an alias to another document",
            ),
            (b"a: [\n", &[], &[(1, 4)], "the only one"),
        ];
        for (text, documents, errors, reason) in cases {
            let (found, positions) = read(text);
            let found: Vec<(&str, u64)> = found
                .iter()
                .filter(|(name, _)| name != "null")
                .map(|(name, line)| (name.as_str(), *line))
                .collect();
            assert_eq!(
                (found.as_slice(), positions.as_slice()),
                (documents, errors),
                "{reason}"
            );
        }
    }
}
