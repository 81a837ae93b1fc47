//! A comparison as a unified diff of the objects, which other tools can show.

use owo_colors::OwoColorize as _;
use serde_json::Value;

use super::super::align::{Pair, align};
use super::super::{ActorChange, Comparison, Fate};

/// Lines that are shown around a difference.
const CONTEXT: usize = 3;

/// The objects that differ, as `diff -u` would show their YAML. What cannot be shown
/// so, such as an actor that is refused, stands in lines that begin with `#`.
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
                lines.push(name.bold().to_string());
            }
            hunks(&from, &to, &mut lines);
        }
    }
    Ok(lines.into_iter().map(|line| line + "\n").collect())
}

fn remarks(actor: &ActorChange, lines: &mut Vec<String>) {
    let word = match actor.fate {
        Fate::Mended => "was refused",
        _ => "refused",
    };
    let faults = actor.faults.iter().map(|fault| format!("{word}: {fault}"));
    let warnings = actor.warnings.iter();
    let warnings = warnings.map(|warning| format!("begins to warn: {warning}"));
    let pods = actor.pods.iter();
    let pods = pods.map(|pods| format!("pods: {}", pods.sentence(pods.workload())));
    let queue = actor.queue.iter();
    let queue = queue.map(|queue| format!("queue: it {}", queue.sentence()));
    let remarks = faults.chain(pods).chain(queue).chain(warnings);
    lines.extend(remarks.map(|remark| format!("# {}: {remark}", actor.id)));
}

fn yaml(object: &Value) -> Result<String, actor::yaml::YamlError> {
    if object.is_null() {
        return Ok(String::new());
    }
    actor::yaml::write_stream(std::slice::from_ref(object))
}

/// Appends the hunks by which two texts differ.
fn hunks(old: &str, new: &str, lines: &mut Vec<String>) {
    // A stream of YAML documents begins with a mark that says nothing here.
    let split =
        |text| -> Vec<&str> { str::lines(text).skip_while(|line| *line == "---").collect() };
    let (old, new) = (split(old), split(new));
    let pairs = align(&old, &new);
    let is_change = |pair: &Pair| !matches!(pair, Pair::Both(..));
    let mut start = 0;
    while let Some(first) = pairs[start..].iter().position(is_change) {
        let first = start + first;
        let begin = first.saturating_sub(CONTEXT).max(start);
        let mut end = first;
        // A hunk goes on while the next change is near.
        while let Some(next) = pairs[end..].iter().position(is_change) {
            if end > first && next > 2 * CONTEXT {
                break;
            }
            end += next + 1;
        }
        let end = (end + CONTEXT).min(pairs.len());
        hunk(&pairs[begin..end], &pairs[..begin], [&old, &new], lines);
        start = end;
    }
}

fn hunk(pairs: &[Pair], before: &[Pair], [old, new]: [&[&str]; 2], lines: &mut Vec<String>) {
    let counted = |pairs: &[Pair]| {
        let olds = pairs.iter().filter(|pair| !matches!(pair, Pair::New(_)));
        let news = pairs.iter().filter(|pair| !matches!(pair, Pair::Old(_)));
        (olds.count(), news.count())
    };
    let (old_before, new_before) = counted(before);
    let (old_count, new_count) = counted(pairs);
    // A range without lines is named by the line before it.
    let range = |before: usize, count: usize| match count {
        0 => format!("{before},0"),
        1 => format!("{}", before + 1),
        count => format!("{},{count}", before + 1),
    };
    let head = format!(
        "@@ -{} +{} @@",
        range(old_before, old_count),
        range(new_before, new_count)
    );
    lines.push(head.cyan().to_string());
    lines.extend(pairs.iter().map(|pair| match *pair {
        Pair::Both(index, _) => format!(" {}", old[index]),
        Pair::Old(index) => format!("-{}", old[index]).red().to_string(),
        Pair::New(index) => format!("+{}", new[index]).green().to_string(),
    }));
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
            ("a\n", "a\n".to_owned(), "", "nothing"),
            ("a\n", "b\n".to_owned(), "@@ -1 +1 @@\n-a\n+b\n", "one line"),
            (
                "",
                "a\nb\n".to_owned(),
                "@@ -0,0 +1,2 @@\n+a\n+b\n",
                "all new",
            ),
            (
                &numbers(1, 9),
                numbers(1, 4) + "x\n" + &numbers(5, 9),
                "@@ -2,6 +2,7 @@\n 2\n 3\n 4\n+x\n 5\n 6\n 7\n",
                "three lines around",
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
                "far changes do not",
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
