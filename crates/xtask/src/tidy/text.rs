//! Invariants of single files: a first line about what the file owns, a size that one person
//! can keep in mind, and no path of somebody's machine.

use std::path::Path;

use super::Violation;

/// Most lines of a Rust source file, its unit tests included.
const SOURCE_LINES: usize = 500;

/// Most lines of a Rust file below a `tests` folder: tables of cases may be longer than code.
const TEST_LINES: usize = 600;

/// Folders in which checkouts and home folders of build machines lie.
/// In pieces, since this file is checked too.
const PRIVATE_FOLDERS: [&str; 2] = [concat!("/", "work/"), concat!("/", "root/")];

/// Violations in one file; `path` is relative to the repository root.
pub(super) fn check(path: &str, text: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    if is_module(path) && !text.starts_with("//!") {
        let message = "the first line is no `//!` comment: write what the module owns";
        violations.push(Violation::new(path, message));
    }
    if let Some(limit) = line_limit(path) {
        let lines = text.lines().count();
        if lines > limit {
            let message = format!("{lines} lines, over the limit of {limit}: split it by subject");
            violations.push(Violation::new(path, message));
        }
    }
    for (index, line) in text.lines().enumerate() {
        if let Some(folder) = private_folder(line) {
            let place = format!("{path}:{}", index + 1);
            let message = format!("names a path below {folder}, which exists on one machine only");
            violations.push(Violation::new(place, message));
        }
    }
    violations
}

/// Returns whether this is a module of one of our crates.
fn is_module(path: &str) -> bool {
    let mut folders = path.split('/');
    let of_a_crate = folders.next() == Some("crates") && folders.nth(1) == Some("src");
    of_a_crate && is_rust(path)
}

fn line_limit(path: &str) -> Option<usize> {
    let is_test = path.split('/').any(|folder| folder == "tests");
    is_rust(path).then_some(if is_test { TEST_LINES } else { SOURCE_LINES })
}

fn is_rust(path: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|extension| extension == "rs")
}

/// The private folder that an absolute path in this line begins with.
fn private_folder(line: &str) -> Option<&'static str> {
    PRIVATE_FOLDERS.into_iter().find(|folder| {
        line.match_indices(folder)
            .any(|(at, _)| begins_a_path(line[..at].chars().next_back()))
    })
}

/// Returns whether a `/` after this character starts an absolute path, and does not continue a relative
/// one such as `../work/` or `$HOME/work/`.
fn begins_a_path(before: Option<char>) -> bool {
    before.is_none_or(|letter| !letter.is_alphanumeric() && !"_-.~})]*".contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages for one file.
    fn messages(path: &str, text: &str) -> Vec<String> {
        check(path, text).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn modules_begin_with_their_purpose() {
        let wrong = "crates/merge/src/path.rs: the first line is no `//!` comment: write what the \
                     module owns";
        let cases: [(&str, &str, &str, &[&str]); 5] = [
            (
                "documented",
                "crates/merge/src/path.rs",
                "//! Paths.\n",
                &[],
            ),
            (
                "code first",
                "crates/merge/src/path.rs",
                "use x;\n//! Paths.\n",
                &[wrong],
            ),
            ("empty", "crates/merge/src/path.rs", "", &[wrong]),
            ("a test file", "crates/merge/tests/laws.rs", "use x;\n", &[]),
            ("no Rust", "crates/actor/src/schema.json", "{}\n", &[]),
        ];
        for (reason, path, text, expected) in cases {
            assert_eq!(messages(path, text), expected, "{reason}");
        }
    }

    #[test]
    fn files_have_a_size_limit_by_kind() {
        let cases = [
            ("a module at the limit", "crates/merge/src/a.rs", 500, None),
            ("a module above it", "crates/merge/src/a.rs", 501, Some(500)),
            ("an integration test", "crates/merge/tests/a.rs", 600, None),
            (
                "a long integration test",
                "crates/merge/tests/a.rs",
                601,
                Some(600),
            ),
            (
                "the runtime script is one file by nature",
                "runtime/asya_runtime.py",
                501,
                None,
            ),
            (
                "checksums",
                "crates/xtask/real/crossplane-cli/go.sum",
                9000,
                None,
            ),
        ];
        for (reason, path, lines, limit) in cases {
            let expected = limit.map(|limit| {
                format!("{path}: {lines} lines, over the limit of {limit}: split it by subject")
            });
            let found = messages(path, &"//! line\n".repeat(lines));
            assert_eq!(found, Vec::from_iter(expected), "{reason}");
        }
    }

    #[test]
    fn paths_of_one_machine_are_found_by_line() {
        for folder in PRIVATE_FOLDERS {
            let named = format!(
                "README.md:2: names a path below {folder}, which exists on one machine only"
            );
            let cases = [
                ("alone", format!("{folder}x"), true),
                ("quoted", format!("see `{folder}x`"), true),
                ("as a URL", format!("file://{folder}x"), true),
                ("after an equals sign", format!("DIR={folder}"), true),
                ("relative", format!("..{folder}x"), false),
                ("below a variable", format!("${{HOME}}{folder}x"), false),
                ("inside another path", format!("/home{folder}x"), false),
            ];
            for (reason, line, is_found) in cases {
                let expected = if is_found {
                    vec![named.clone()]
                } else {
                    Vec::new()
                };
                assert_eq!(
                    messages("README.md", &format!("# Title\n{line}\n")),
                    expected,
                    "{reason}"
                );
            }
        }
    }
}
