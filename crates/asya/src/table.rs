//! Tables in plain text.

use anstream::adapter::strip_str;
use serde_json::Value;

/// Longest value in a table, in characters; JSON and YAML have all of it.
const VALUE_MAX: usize = 80;

/// Characters between two columns.
const GAP: usize = 2;
/// Fewest characters to which a column is cut.
const COLUMN_MIN: usize = 10;

/// Appends an empty line and a table. Cells may be coloured. If the table is wider than `fit`, the
/// values of its widest columns are cut in the middle. If that is not enough, the last column, which has the
/// longest texts, goes below each row, in lines that end between words.
pub(crate) fn columns<const N: usize>(
    head: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
    fit: Option<usize>,
    text: &mut String,
) {
    let rows: Vec<_> = std::iter::once(head.map(str::to_owned))
        .chain(rows)
        .collect();
    let mut widths = [0; N];
    for row in &rows {
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = width(cell).max(*widest);
        }
    }
    let mut beside = N;
    if let Some(fit) = fit {
        let natural = widths;
        narrow(&mut widths, fit);
        if total(&widths) > fit && N > 2 {
            beside = N - 1;
            widths = natural;
            // A name can be recognised by both ends, a status only whole.
            let excess = total(&widths[..beside]).saturating_sub(fit);
            widths[0] = widths[0]
                .saturating_sub(excess)
                .max(COLUMN_MIN.min(widths[0]));
            narrow(&mut widths[..beside], fit);
        }
    }
    text.push('\n');
    for (index, row) in rows.iter().enumerate() {
        let (row, below) = row.split_at(beside);
        let mut line = String::new();
        for (cell, most) in row.iter().zip(widths) {
            let cell = if width(cell) > most {
                cut(&strip_str(cell).to_string(), most)
            } else {
                cell.clone()
            };
            line.push_str(&cell);
            line.push_str(&" ".repeat(most - width(&cell) + GAP));
        }
        text.push_str(line.trim_end());
        text.push('\n');
        // Below the head there would be a name without a column.
        for cell in below.iter().filter(|_| index > 0) {
            for line in wrapped(&strip_str(cell).to_string(), fit.unwrap_or_default()) {
                text.push_str(&format!("{INDENT}{line}\n"));
            }
        }
    }
}

/// Before lines of a last column that goes below its row.
const INDENT: &str = "    ";

fn width(cell: &str) -> usize {
    strip_str(cell).to_string().chars().count()
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// Lines of at most `fit` characters with their indentation; a longer word has a line of its own, and is cut.
fn wrapped(text: &str, fit: usize) -> Vec<String> {
    let most = fit.saturating_sub(INDENT.len()).max(COLUMN_MIN);
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = cut(word, most);
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(&word) <= most => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// The value in one short line: a text without quotes, unless it would read as another type.
pub(crate) fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) if stands_for_itself(text) => text.clone(),
        other => other.to_string(),
    };
    cut(&text, VALUE_MAX)
}

/// Takes from the widest columns what the table has too much; none becomes narrower than
/// [`COLUMN_MIN`].
fn narrow(widths: &mut [usize], fit: usize) {
    loop {
        let total = total(widths);
        let widest = widths.iter().copied().max().unwrap_or_default();
        if total <= fit || widest <= COLUMN_MIN {
            return;
        }
        // Down to the second widest, so that the loop ends after a few rounds.
        let second = widths.iter().copied().filter(|it| *it < widest).max();
        let count = widths.iter().filter(|it| **it == widest).count();
        let floor = second.unwrap_or(COLUMN_MIN).max(COLUMN_MIN);
        let step = (total - fit).div_ceil(count).min(widest - floor).max(1);
        for it in widths.iter_mut().filter(|it| **it == widest) {
            *it -= step;
        }
    }
}

/// The text with `…` in the middle if it is longer than `most` characters: both ends of a name or
/// path contain more than its beginning.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(1);
    let head = kept.div_ceil(2);
    let tail = letters.len() - (kept - head);
    let parts = [&letters[..head], &['…'], &letters[tail..]];
    parts.concat().into_iter().collect()
}

fn stands_for_itself(text: &str) -> bool {
    let is_plain = !text.is_empty() && text.trim() == text && !text.contains(char::is_control);
    is_plain && serde_json::from_str::<Value>(text).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_in_the_middle() {
        let cases = [
            ("abcdefgh", 8, "abcdefgh"),
            ("abcdefgh", 7, "abc…fgh"),
            ("abcdefgh", 4, "ab…h"),
            ("äöüäöü", 5, "äö…öü"),
        ];
        for (text, most, expected) in cases {
            assert_eq!(cut(text, most), expected);
        }
    }

    #[test]
    fn a_table_fits_into_the_width() {
        let row = || [["a-name".to_owned(), "x".repeat(60), "y".repeat(50)]].into_iter();
        let head = ["NAME", "FIRST", "SECOND"];
        let mut text = String::new();
        columns(head, row(), Some(60), &mut text);
        let longest = text.lines().map(|line| line.chars().count()).max();
        assert_eq!(longest, Some(60), "{text}");
        assert!(text.contains("a-name") && text.contains('…'), "{text}");
        let mut whole = String::new();
        columns(head, row(), None, &mut whole);
        assert!(whole.contains(&"x".repeat(60)) && !whole.contains('…'));
        let mut narrow = String::new();
        columns(head, row(), Some(5), &mut narrow);
        assert!(
            narrow.lines().all(|line| line.chars().count() <= 30),
            "{narrow}"
        );
    }

    #[test]
    fn a_table_of_many_columns_has_its_last_one_below_each_row() {
        let head = [
            "ACTOR",
            "STATUS",
            "PODS",
            "QUEUED",
            "PROCESSING",
            "DEAD",
            "MESSAGE",
        ];
        let row = |actor: &str, status: &str, message: &str| {
            [actor, status, "1/1", "120", "3", "-", message].map(str::to_owned)
        };
        let message = "container \"asya-runtime\" of pod a-1 crashes: ModuleNotFoundError";
        let rows = [
            row("ml-platform/batch-inference", "ImagePullError", message),
            row("prod/one", "Running", ""),
        ];
        let mut text = String::new();
        columns(head, rows.into_iter(), Some(60), &mut text);
        let expected = "
ACTOR         STATUS          PODS  QUEUED  PROCESSING  DEAD
ml-pla…rence  ImagePullError  1/1   120     3           -
    container \"asya-runtime\" of pod a-1 crashes:
    ModuleNotFoundError
prod/one      Running         1/1   120     3           -
";
        assert_eq!(text, expected);
    }
}
