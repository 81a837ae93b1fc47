//! A comparison as a unified diff of the objects, for other tools.

use owo_colors::OwoColorize as _;
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use super::super::{ActorChange, ChangeKind, Comparison};
use crate::diagnostics::note_line;
use crate::visible::{visible, visible_line};

/// Lines of context around a difference.
const CONTEXT: usize = 3;

/// The objects that differ, as `diff -u` shows their YAML. Refusals, warnings and effects on pods and
/// queues are lines that begin with `#`.
///
/// # Errors
/// When an object cannot be written as YAML.
pub fn unified(comparison: &Comparison) -> Result<String, actor::yaml::YamlError> {
    let mut lines = Vec::new();
    for actor in &comparison.actors {
        remarks(actor, &mut lines);
        for object in &actor.objects {
            let path = format!("{}/{}", actor.id, object.object.replace(' ', "/"));
            let [old, new] = &object.shown;
            let (from, to) = (yaml(old)?, yaml(new)?);
            let head = |prefix: &str, side: &Value| match side {
                Value::Null => "/dev/null".to_owned(),
                _ => format!("{prefix}/{path}"),
            };
            for name in [
                format!("--- {}", head("a", old)),
                format!("+++ {}", head("b", new)),
            ] {
                lines.push(visible_line(&name).bold().to_string());
            }
            hunks(&from, &to, &mut lines);
        }
    }
    Ok(lines.into_iter().map(|line| line + "\n").collect())
}

fn remarks(actor: &ActorChange, lines: &mut Vec<String>) {
    let verb = match actor.kind {
        ChangeKind::Fixed => "was refused",
        _ => "refused",
    };
    let errors = actor.errors.iter().map(|error| format!("{verb}: {error}"));
    let warnings = actor.warnings.iter().map(note_line);
    let warnings = warnings.map(|warning| format!("begins to warn: {warning}"));
    let pods = actor.pods.iter();
    let pods = pods.map(|pods| format!("pods: {}", pods.sentence(pods.workload())));
    let queue = actor.queue.iter();
    let queue = queue.map(|queue| format!("queue: it {}", queue.sentence()));
    let remarks = errors.chain(pods).chain(queue).chain(warnings);
    let remarks = remarks.map(|remark| format!("# {}: {remark}", actor.id));
    lines.extend(remarks.map(|line| visible_line(&line).into_owned()));
}

/// The object as YAML without the separator of documents; empty for a missing object.
fn yaml(object: &Value) -> Result<String, actor::yaml::YamlError> {
    if object.is_null() {
        return Ok(String::new());
    }
    actor::yaml::write(object)
}

/// Appends the hunks in which two texts differ.
fn hunks(old: &str, new: &str, lines: &mut Vec<String>) {
    let diff = TextDiff::from_lines(old, new);
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        lines.push(hunk.header().to_string().cyan().to_string());
        lines.extend(hunk.iter_changes().map(|change| {
            let line = format!("{}{}", change.tag(), change.value().trim_end_matches('\n'));
            let line = visible(&line);
            match change.tag() {
                ChangeTag::Equal => line.into_owned(),
                ChangeTag::Delete => line.red().to_string(),
                ChangeTag::Insert => line.green().to_string(),
            }
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_are_those_of_diff() {
        let numbers = |from: u32, to: u32| {
            let numbers: Vec<String> = (from..=to).map(|n| n.to_string()).collect();
            numbers.join("\n") + "\n"
        };
        let cases = [
            ("a\n", "a\n".to_owned(), "", "no difference"),
            ("a\n", "b\n".to_owned(), "@@ -1 +1 @@\n-a\n+b\n", "one line"),
            (
                "",
                "a\nb\n".to_owned(),
                "@@ -0,0 +1,2 @@\n+a\n+b\n",
                "a new object",
            ),
            (
                &numbers(1, 9),
                numbers(1, 4) + "x\n" + &numbers(5, 9),
                "@@ -2,6 +2,7 @@\n 2\n 3\n 4\n+x\n 5\n 6\n 7\n",
                "three lines of context",
            ),
            (
                &numbers(1, 9),
                numbers(2, 7) + &numbers(9, 9),
                "@@ -1,9 +1,7 @@\n-1\n 2\n 3\n 4\n 5\n 6\n 7\n-8\n 9\n",
                "near changes share a hunk",
            ),
            (
                &numbers(1, 11),
                numbers(2, 10),
                "@@ -1,4 +1,3 @@\n-1\n 2\n 3\n 4\n@@ -8,4 +7,3 @@\n 8\n 9\n 10\n-11\n",
                "far changes have hunks of their own",
            ),
        ];
        for (old, new, expected, reason) in cases {
            let mut lines = Vec::new();
            hunks(old, &new, &mut lines);
            let text: String = lines.into_iter().map(|line| line + "\n").collect();
            let plain = anstream::adapter::strip_str(&text).to_string();
            assert_eq!(plain, expected, "{reason}");
        }
    }
}
