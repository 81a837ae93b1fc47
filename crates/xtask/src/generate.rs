//! Files that follow from Rust types or tables, kept in git and proven fresh.
//!
//! To add one, add an entry to [`GENERATED`].
//! A producer must be deterministic: same sources, same bytes, on every machine.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};

use crate::{Verdict, cannot, real};

/// One generated file.
struct Generated {
    /// Relative to the repository root.
    path: &'static str,
    /// Its whole content, with a final newline. Reads sources below the root only.
    content: fn(root: &Path) -> Result<String>,
}

const GENERATED: &[Generated] = &[Generated {
    path: "crates/xtask/real/README.md",
    content: real::readme,
}];

/// Writes the files that differ, or with `check` only names them and asks for a new run.
pub(crate) fn run(root: &Path, check: bool, out: &mut impl Write) -> Result<Verdict> {
    refresh(root, GENERATED, check, out)
}

fn refresh(
    root: &Path,
    generated: &[Generated],
    check: bool,
    out: &mut impl Write,
) -> Result<Verdict> {
    let mut stale = 0;
    for file in generated {
        let content =
            (file.content)(root).with_context(|| format!("cannot generate {:?}", file.path))?;
        let path = root.join(file.path);
        if holds(&path, &content)? {
            continue;
        }
        stale += 1;
        if check {
            writeln!(out, "stale: {}", file.path)?;
        } else {
            write(&path, &content)?;
            writeln!(out, "wrote {}", file.path)?;
        }
    }
    if check && stale > 0 {
        writeln!(out, "run `cargo xtask generate` and commit the result")?;
        return Ok(Verdict::Fails);
    }
    if stale == 0 {
        writeln!(out, "generated files are fresh ({})", generated.len())?;
    }
    Ok(Verdict::Holds)
}

/// Whether the file exists with exactly this content.
fn holds(path: &Path, content: &str) -> Result<bool> {
    match fs::read(path) {
        Ok(found) => Ok(found == content.as_bytes()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| cannot("read", path)),
    }
}

fn write(path: &Path, content: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| cannot("create", folder))?;
    }
    fs::write(path, content).with_context(|| cannot("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEMO: &[Generated] = &[
        Generated {
            path: "docs/one.md",
            content: |_| Ok("one\n".to_owned()),
        },
        Generated {
            path: "two.md",
            content: |_| Ok("two\n".to_owned()),
        },
    ];

    /// The verdict and the printed lines of one run over `DEMO`.
    fn run_demo(root: &Path, check: bool) -> (Verdict, String) {
        let mut out = Vec::new();
        let verdict = refresh(root, DEMO, check, &mut out).unwrap();
        (verdict, String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_check_names_every_stale_file_and_writes_nothing() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("two.md"), "old\n").unwrap();
        let (verdict, printed) = run_demo(root.path(), true);
        assert_eq!(verdict, Verdict::Fails);
        assert_eq!(
            printed,
            "stale: docs/one.md\nstale: two.md\nrun `cargo xtask generate` and commit the result\n"
        );
        assert!(!root.path().join("docs").exists());
        assert_eq!(
            fs::read_to_string(root.path().join("two.md")).unwrap(),
            "old\n"
        );
    }

    #[test]
    fn a_run_writes_what_differs_and_a_check_after_it_holds() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("two.md"), "two\n").unwrap();
        assert_eq!(
            run_demo(root.path(), false),
            (Verdict::Holds, "wrote docs/one.md\n".to_owned())
        );
        assert_eq!(
            run_demo(root.path(), true),
            (Verdict::Holds, "generated files are fresh (2)\n".to_owned())
        );
    }

    #[test]
    fn a_producer_that_fails_is_named_by_its_file() {
        let root = tempfile::tempdir().unwrap();
        let broken = [Generated {
            path: "apis/x.yaml",
            content: |_| Err(anyhow::anyhow!("no schema")),
        }];
        let error = refresh(root.path(), &broken, true, &mut Vec::new()).unwrap_err();
        assert_eq!(
            format!("{error:#}"),
            "cannot generate \"apis/x.yaml\": no schema"
        );
    }
}
