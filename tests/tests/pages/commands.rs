//! Commands of the pages are run, and print what the pages show.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use tests::program::{self, repository};

use tests::page::{Block, Page, pages};

/// Programs that [`STAND_IN`] stands for.
const STOOD_FOR: [&str; 12] = [
    "asya",
    "aws",
    "cargo",
    "crossplane",
    "curl",
    "docker",
    "helm",
    "kubectl",
    "rabbitmqctl",
    "rabbitmq-plugins",
    "rustup",
    "skopeo",
];

/// Program that runs in their place.
const STAND_IN: &str = include_str!("stand-in.sh");

/// Programs of the system that pages may use.
const OF_THE_SYSTEM: [&str; 18] = [
    "base64", "bash", "cat", "cp", "cut", "diff", "grep", "head", "ls", "mkdir", "mv", "python3",
    "rm", "sed", "sh", "sort", "tail", "tr",
];

/// Files of the repository in the folder in which commands run.
const OF_THE_REPOSITORY: [&str; 9] = [
    "Dockerfile",
    "apis",
    "crates",
    "docs",
    "examples",
    "install",
    "package",
    "runtime",
    "tests",
];

/// Blocks that are not run: the page, the beginning of the block, and why.
const NOT_RUN: [(&str, &str, &str); 5] = [
    (
        "crates/asya-sidecar/README.md",
        "",
        "needs a broker, a runtime and the environment of a pod; tests of the crate have them",
    ),
    (
        "docs/performance.md",
        "",
        "measures for minutes what tests of their own hold",
    ),
    (
        "docs/setup/packages.md",
        "skopeo copy",
        "fetches an image; what is made of it, tests/tests/images.rs shows",
    ),
    (
        "package/README.md",
        "mkdir -p build",
        "takes an image of Docker's, and gettext; tests/tests/packages.rs builds the same packages",
    ),
    (
        "runtime/README.md",
        "python3 -W error -m unittest",
        "runs for half a minute, which cargo xtask test does anyway",
    ),
];

/// Pages whose commands run on a real API server, by `tests/tests/pages_on_a_cluster`.
const RUN_ON_A_CLUSTER: [&str; 4] = [
    "docs/setup/install.md",
    "docs/setup/migration.md",
    "docs/setup/uninstall.md",
    "docs/setup/upgrade.md",
];

#[test]
fn every_command_prints_the_shown_output() {
    let mut faults = Vec::new();
    let mut run = 0;
    for page in pages() {
        let folder = Folder::new(&page);
        let mut shown: Option<(String, String)> = None;
        for block in page.blocks() {
            match block.language.as_str() {
                "yaml" => folder.keep(&block),
                "sh" if is_run(&block) => {
                    run += 1;
                    match folder.run(&block) {
                        Ok(output) => {
                            shown = Some((block.place.clone(), output));
                            continue;
                        }
                        Err(fault) => faults.push(fault),
                    }
                }
                "text" if block.follows => {
                    if let Some((place, output)) = &shown {
                        let expected: Vec<&str> = block.text.lines().collect();
                        let mut found: Vec<&str> = output.lines().map(str::trim_end).collect();
                        found.retain(|line| expected.contains(line) || !is_input_count(line));
                        if !is_like(&expected, &found) {
                            faults.push(format!("{place}: prints\n{output}"));
                        }
                    }
                }
                _ => {}
            }
            shown = None;
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    assert!(run >= 30, "only {run} blocks were run");
}

#[test]
fn exempt_commands_exist_on_their_pages() {
    for (path, begin, reason) in NOT_RUN {
        let is_there = pages().iter().filter(|page| page.path == path).any(|page| {
            let blocks = page.blocks();
            let mut commands = blocks.iter().filter(|block| block.language == "sh");
            commands.any(|block| block.text.starts_with(begin))
        });
        assert!(
            is_there,
            "{path}: no block begins with {begin:?} ({reason})"
        );
    }
}

#[test]
fn dots_match_any_number_of_lines() {
    let cases: [(&[&str], &[&str], bool); 6] = [
        (&["a", "b"], &["a", "b"], true),
        (&["a"], &["a", "b"], false),
        (&["a", "..."], &["a", "b", "c"], true),
        (&["...", "c"], &["a", "b", "c"], true),
        (&["a", "...", "b"], &["a", "b"], true),
        (&["a", "...", "b"], &["a", "c"], false),
    ];
    for (expected, found, is_expected) in cases {
        assert_eq!(
            is_like(expected, found),
            is_expected,
            "{expected:?} {found:?}"
        );
    }
}

fn is_run(block: &Block) -> bool {
    let page = block.place.split(':').next().unwrap_or_default();
    let is_left_out = NOT_RUN
        .iter()
        .any(|(path, begin, _)| page == *path && block.text.starts_with(begin));
    !is_left_out && !RUN_ON_A_CLUSTER.contains(&page)
}

/// Returns whether the line counts the input, as every command of `asya` does on standard error. Pages may
/// leave it out.
fn is_input_count(line: &str) -> bool {
    let is_count = |text: &str| {
        let number = text.split(' ').next().unwrap_or_default();
        number.parse::<u32>().is_ok()
    };
    line.split_once(" in ").is_some_and(|(counts, files)| {
        counts.split(", ").all(is_count) && is_count(files) && files.contains(" file")
    })
}

#[test]
fn counts_of_the_input_are_recognised() {
    let cases = [
        ("1 actor, 3 flavors, 1 platform in 3 files", true),
        ("1 test in 1 file", true),
        (
            "1 actor in 2 files; 1 file with output of render skipped",
            true,
        ),
        ("1 of 1 actors changes: 1 restarts its pods", false),
        ("RuntimeError in 1 of 10", false),
    ];
    for (line, expected) in cases {
        assert_eq!(is_input_count(line), expected, "{line}");
    }
}

/// Returns whether the lines are the expected ones.
fn is_like(expected: &[&str], found: &[&str]) -> bool {
    match expected.split_first() {
        None => found.is_empty(),
        Some((&"...", rest)) => (0..=found.len()).any(|from| is_like(rest, &found[from..])),
        Some((line, rest)) => found
            .split_first()
            .is_some_and(|(first, others)| first == line && is_like(rest, others)),
    }
}

/// Folder in which the commands of a page run.
struct Folder {
    folder: TempDir,
}

impl Folder {
    fn new(page: &Page) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let programs = folder.path().join("bin");
        fs::create_dir(&programs).unwrap();
        for name in STOOD_FOR {
            let path = programs.join(name);
            fs::write(&path, STAND_IN).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        for name in OF_THE_SYSTEM {
            let paths = [
                Path::new("/usr/bin").join(name),
                Path::new("/bin").join(name),
            ];
            let path = paths.iter().find(|path| path.exists());
            symlink(
                path.unwrap_or_else(|| panic!("there is no {name}")),
                programs.join(name),
            )
            .unwrap();
        }
        let work = folder.path().join("work");
        fs::create_dir(&work).unwrap();
        for name in OF_THE_REPOSITORY {
            symlink(repository().join(name), work.join(name)).unwrap();
        }
        fs::write(folder.path().join("cluster.yaml"), of_a_cluster(page)).unwrap();
        Self { folder }
    }

    /// Writes the files of the page.
    fn keep(&self, block: &Block) {
        if let Some(name) = block.note("file") {
            let path = self.folder.path().join("work").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, &block.text).unwrap();
        }
    }

    /// Output of the block, or its error.
    fn run(&self, block: &Block) -> Result<String, String> {
        let root = self.folder.path();
        let output = Command::new("/bin/bash")
            .args(["-c", &script(&block.text)])
            .current_dir(root.join("work"))
            .env_clear()
            .env("ASYA", program::path("asya"))
            .env("CLUSTER", root.join("cluster.yaml"))
            .env("HOME", root)
            .env("NO_COLOR", "1")
            .env("PASSWORD", "a-password")
            .env("PATH", root.join("bin"))
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            Ok(text)
        } else {
            Err(format!("{}: {}: {text}", block.place, output.status))
        }
    }
}

/// The objects that a page shows and that a cluster would have: of several of a name the first.
fn of_a_cluster(page: &Page) -> String {
    let mut seen = Vec::new();
    let mut text = String::new();
    for block in page
        .blocks()
        .iter()
        .filter(|block| block.language == "yaml")
    {
        for document in actor::yaml::documents(&block.text).unwrap_or_default() {
            let key = (
                document["kind"].clone(),
                document["metadata"]["name"].clone(),
            );
            let is_read = ["AsyncActor", "EnvironmentConfig"]
                .map(Into::into)
                .contains(&key.0);
            if is_read && !seen.contains(&key) {
                seen.push(key);
                text.push_str("---\n");
                text.push_str(&actor::yaml::write(&document).unwrap());
            }
        }
    }
    text
}

/// The block as a script that ends with the first line that fails, and where lines fail that must.
fn script(text: &str) -> String {
    let mut script = "exec 2>&1; set -euo pipefail\n".to_owned();
    for line in text.lines() {
        if let Some((command, code)) = line.split_once(" # exits ") {
            let code = code.split(|letter: char| !letter.is_ascii_digit()).next();
            let code = code.unwrap_or_default();
            script += "code=0; ";
            script += command;
            script += " || code=$?; [ $code = ";
            script += code;
            script += " ] || { echo \"exits $code\"; exit 65; }";
        } else {
            script += line;
        }
        script += "\n";
    }
    script
}
