//! Verdicts of Kubernetes and Go about texts.

use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::process::{ChildStdin, Command, Stdio};
use std::thread;

use serde_json::{Value, json};

use crate::components;

/// The value that the parser of that name gives to each text, in a form that is the same for equal
/// values; none where it refuses the text.
pub(crate) fn values<'a>(
    parser: &str,
    texts: impl IntoIterator<Item = &'a str>,
) -> Vec<Option<String>> {
    let questions: Vec<Value> = texts
        .into_iter()
        .map(|text| json!([parser, text]))
        .collect();
    let mut program = Command::new(components::program("reference-parsers"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the reference starts");
    let stdin = program.stdin.take().expect("its input is piped");
    let stdout = program.stdout.take().expect("its output is piped");
    let values: Vec<Option<String>> = thread::scope(|scope| {
        scope.spawn(|| ask(stdin, &questions));
        let lines = BufReader::new(stdout).lines();
        lines
            .map(|line| serde_json::from_str(&line.expect("a line")).expect("a text or null"))
            .collect()
    });
    let status = program.wait().expect("the reference ends");
    assert!(status.success(), "the reference ended with {status}");
    assert_eq!(values.len(), questions.len(), "a line answers a line");
    values
}

/// Writes one question a line; the end of the input, when `stdin` goes, is the end of the program.
fn ask(stdin: ChildStdin, questions: &[Value]) {
    let mut stdin = BufWriter::new(stdin);
    for question in questions {
        writeln!(stdin, "{question}").expect("the reference reads on");
    }
    stdin.flush().expect("the reference reads to the end");
}
