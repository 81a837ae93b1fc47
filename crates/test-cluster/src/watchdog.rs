//! A shell beside the test program, which stops what is still running when the program ends.
//!
//! Values stop their processes when they are dropped. That does not happen for what a `static` holds,
//! nor if the test program is killed. The shell reads from a pipe that only the test program holds
//! open: at its end the shell kills the process groups that are left, and removes their folders.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};

use tempfile::TempDir;

/// Reads `start GROUP`, `end GROUP` and `folder PATH`.
const SCRIPT: &str = r#"
groups=
while read -r event value; do
  case $event in
  start) groups="$groups $value" ;;
  end)
    left=
    for group in $groups; do
      [ "$group" = "$value" ] || left="$left $group"
    done
    groups=$left
    ;;
  folder) set -- "$@" "$value" ;;
  esac
done
for group in $groups; do
  kill -s KILL -- "-$group"
done
for folder in "$@"; do
  rm -rf -- "$folder"
done
"#;

static PIPE: LazyLock<Mutex<ChildStdin>> = LazyLock::new(|| Mutex::new(start()));

/// In a process group of its own, so that an interrupt at the terminal does not end it first.
fn start() -> ChildStdin {
    let shell = Command::new("sh")
        .args(["-c", SCRIPT])
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let pipe = shell.expect("sh is installed").stdin;
    pipe.expect("the pipe was asked for")
}

fn write(event: &str, value: &str) {
    let mut pipe = PIPE.lock().unwrap_or_else(PoisonError::into_inner);
    writeln!(pipe, "{event} {value}").expect("the watchdog runs");
}

/// Has a process group killed with the test program.
pub(crate) fn started(group: u32) {
    write("start", &group.to_string());
}

/// Forgets a process group that was killed; its number may be given to another.
pub(crate) fn ended(group: u32) {
    write("end", &group.to_string());
}

/// A temporary folder, which is removed with this value or with the test program.
#[derive(Debug)]
pub struct Folder(TempDir);

impl Folder {
    /// A new, empty folder.
    ///
    /// # Panics
    /// If it cannot be made.
    #[expect(clippy::new_without_default, reason = "it does something")]
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        write("folder", &folder.path().display().to_string());
        Self(folder)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::fs;
    use std::process;

    use super::*;
    use crate::process::Process;
    use crate::until;

    /// Set in the program that ends without dropping anything.
    const REPORT: &str = "ASYA_TEST_WATCHDOG";

    #[tokio::test]
    async fn processes_and_folders_of_a_program_that_ends_without_dropping_them_are_removed() {
        if let Some(report) = env::var_os(REPORT) {
            let folder = Folder::new();
            let mut sleep = Command::new("sh");
            sleep.args(["-c", "sleep 600 & wait"]);
            let process = Process::start("sleep", &mut sleep, folder.path());
            let text = format!("{} {}", process.id(), folder.path().display());
            fs::write(report, text).unwrap();
            process::exit(0);
        }
        let own = tempfile::NamedTempFile::new().unwrap();
        let name = "watchdog::tests::\
            processes_and_folders_of_a_program_that_ends_without_dropping_them_are_removed";
        let output = Command::new(env::current_exe().unwrap())
            .args(["--exact", name])
            .env(REPORT, own.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = fs::read_to_string(own.path()).unwrap();
        let (id, folder) = text.split_once(' ').unwrap();
        until("the process is killed and its folder removed", || async {
            // A killed process whose parent has ended is reaped by the system.
            let is_running = fs::read_to_string(format!("/proc/{id}/stat"))
                .is_ok_and(|stat| !stat.contains(") Z "));
            (!is_running && !Path::new(folder).exists()).then_some(())
        })
        .await;
    }
}
