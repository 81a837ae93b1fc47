//! Errors of serde in the words of the other messages.

use crate::nearest::nearest;

/// The position of an error in JSON, and the problem.
pub(crate) fn json_problem(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let (line, column) = (error.line(), error.column());
    let suffix = format!(" at line {line} column {column}");
    let problem = text.strip_suffix(&suffix).unwrap_or(&text);
    let problem = match problem {
        "expected value" => "expected a JSON value",
        "expected ident" => "expected true, false or null",
        "trailing characters" => "expected the end of the value",
        "key must be a string" => "expected a key in double quotes",
        "recursion limit exceeded" => "it is nested too deep",
        other => match other.strip_prefix("EOF while parsing ") {
            Some(_) => "the text ends before the value does",
            None => other,
        },
    };
    if line == 0 {
        problem.to_owned()
    } else {
        format!("line {line} column {column}: {problem}")
    }
}

/// A problem of a field: ``unknown field `expct`, expected one of `actor`, `expect` `` becomes
/// `unknown field "expct": did you mean "expect"?`.
pub(crate) fn field_problem(error: &str) -> String {
    let quoted = |text: &str| -> Vec<String> {
        let parts = text.split('`').skip(1).step_by(2);
        parts.map(str::to_owned).collect()
    };
    let names = quoted(error);
    let (first, known) = match names.split_first() {
        Some((first, known)) => (first.as_str(), known),
        None => ("", &[][..]),
    };
    let known = || known.iter().map(String::as_str);
    let choice = || match nearest(first, known()) {
        Some(meant) => format!(": did you mean {meant:?}?"),
        None => match known().collect::<Vec<_>>().as_slice() {
            [] => String::new(),
            known => format!(": expected {}", known.join(", ")),
        },
    };
    if error.starts_with("unknown field `") {
        format!("unknown field {first:?}{}", choice())
    } else if error.starts_with("unknown variant `") {
        format!("{first:?} is not a value of this field{}", choice())
    } else if error.starts_with("missing field `") {
        format!("field {first:?} is missing")
    } else if error.starts_with("duplicate field `") {
        format!("field {first:?} is given twice")
    } else if let Some((found, expected)) = error
        .strip_prefix("invalid type: ")
        .and_then(|rest| rest.split_once(", expected "))
    {
        format!("expected {}, found {}", kind(expected), kind(found))
    } else {
        error.to_owned()
    }
}

/// A kind of value as users call it.
fn kind(text: &str) -> &str {
    const KINDS: [(&str, &str); 12] = [
        ("a sequence", "a list"),
        ("sequence", "a list"),
        ("a map", "a map"),
        ("map", "a map"),
        ("struct ", "a map"),
        ("a string", "a text"),
        ("string ", "a text"),
        ("boolean ", "true or false"),
        ("a boolean", "true or false"),
        ("integer ", "a number"),
        ("floating point ", "a number"),
        ("null", "nothing"),
    ];
    let known = KINDS.iter().find(|(prefix, _)| text.starts_with(prefix));
    known.map_or(text, |(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_no_terms_of_rust() {
        let cases = [
            (
                "unknown field `expct`, expected one of `actor`, `expect`",
                "unknown field \"expct\": did you mean \"expect\"?",
            ),
            (
                "unknown field `x`, expected `actor` or `expect`",
                "unknown field \"x\": expected actor, expect",
            ),
            (
                "unknown variant `errr`, expected `error` or `warning`",
                "\"errr\" is not a value of this field: did you mean \"error\"?",
            ),
            ("missing field `name`", "field \"name\" is missing"),
            (
                "invalid type: string \"a\", expected a sequence",
                "expected a list, found a text",
            ),
            (
                "invalid type: null, expected struct Expectation with 5 elements",
                "expected a map, found nothing",
            ),
            ("give a code", "give a code"),
        ];
        for (error, expected) in cases {
            assert_eq!(field_problem(error), expected);
        }
    }

    #[test]
    fn errors_in_json_begin_with_their_position() {
        let cases = [
            ("{\"a\" 1}", "line 1 column 6: expected `:`"),
            (
                "[1,\n",
                "line 2 column 0: the text ends before the value does",
            ),
            ("nope", "line 1 column 2: expected true, false or null"),
            ("x", "line 1 column 1: expected a JSON value"),
        ];
        for (text, expected) in cases {
            let error = serde_json::from_str::<serde_json::Value>(text).unwrap_err();
            assert_eq!(json_problem(&error), expected);
        }
    }
}
