//! Names in a formula.
//!
//! KEDA compiles formulas with the expression language Expr. This looks only for the
//! names of triggers, and not at all at formulas with names of their own.

/// Words of the expression language that are no names.
const WORDS: [&str; 13] = [
    "and",
    "or",
    "not",
    "in",
    "if",
    "else",
    "true",
    "false",
    "nil",
    "matches",
    "contains",
    "startsWith",
    "endsWith",
];
/// Syntax that defines names in a formula: variables, closures, texts, pipes.
const BEYOND: [&str; 8] = ["let ", "{", "#", "$", "|", "\"", "'", "`"];

/// The names that `formula` uses, functions and fields apart. None are returned for a
/// formula that has names of its own.
pub(super) fn names(formula: &str) -> Vec<&str> {
    if BEYOND.iter().any(|beyond| formula.contains(beyond)) {
        return Vec::new();
    }
    let mut names = Vec::new();
    let mut rest = formula;
    while let Some(start) = rest.find(is_word) {
        let before = rest[..start].chars().next_back();
        let name = &rest[start..];
        let end = name.find(|c| !is_word(c)).unwrap_or(name.len());
        let (name, after) = name.split_at(end);
        rest = after;
        let is_name = name.starts_with(|c: char| !c.is_ascii_digit());
        let is_field = before == Some('.');
        let is_function = after.trim_start().starts_with('(');
        if is_name && !is_field && !is_function && !WORDS.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_formula_are_found() {
        let cases: [(&str, &[&str], &str); 8] = [
            ("queue", &["queue"], "a name"),
            (
                "max(queue, lag_2) * 1.5e3",
                &["queue", "lag_2"],
                "functions and numbers are none",
            ),
            (
                "queue > 5 and not true ? 1 : 0",
                &["queue"],
                "words of the language are none",
            ),
            ("my-cron", &["my", "cron"], "a dash subtracts"),
            ("a.b", &["a"], "a field is none"),
            (
                "float (queue)",
                &["queue"],
                "a space before the parenthesis",
            ),
            ("let x = queue; x + 1", &[], "variables are beyond this"),
            ("sum([1], {# * queue})", &[], "closures are beyond this"),
        ];
        for (formula, expected, reason) in cases {
            assert_eq!(names(formula), expected, "{formula}: {reason}");
        }
    }
}
