//! The processor time and the memory of the programs that a test has started, from Linux's `/proc`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The unit of times in `/proc`, on every machine of today.
const TICKS_PER_SECOND: u32 = 100;

/// Processor time and memory of a program; of several processes with one name, the sum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time since it began, in units of 10 ms.
    ticks: u64,
    /// Resident memory, in KiB.
    pub resident: u64,
    /// The most of it since [`forget_peaks`], in KiB.
    pub peak: u64,
}

impl Usage {
    /// Processor time since an earlier measurement, in seconds.
    ///
    /// # Panics
    /// If that was more than a year.
    pub fn seconds_since(&self, before: &Self) -> f64 {
        let ticks = self.ticks.saturating_sub(before.ticks);
        f64::from(u32::try_from(ticks).expect("less than a year")) / f64::from(TICKS_PER_SECOND)
    }
}

/// The programs that this process has started, and those that they have, by name.
///
/// # Panics
/// Where there is no `/proc`.
pub fn measure() -> BTreeMap<String, Usage> {
    let mut usages = BTreeMap::<String, Usage>::new();
    for process in descendants() {
        let Some((name, usage)) = read(process) else {
            continue;
        };
        let sum = usages.entry(name).or_default();
        sum.ticks += usage.ticks;
        sum.resident += usage.resident;
        sum.peak += usage.peak;
    }
    usages
}

/// Restarts the measurement of peaks for each of these programs.
///
/// # Panics
/// Where there is no `/proc`.
pub fn forget_peaks() {
    for process in descendants() {
        // 5 stands for the peak of the resident memory. A process that ends just now has none.
        drop(fs::write(format!("/proc/{process}/clear_refs"), "5"));
    }
}

/// The processes below this one.
fn descendants() -> BTreeSet<u32> {
    let entries = fs::read_dir("/proc").expect("Linux has /proc");
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let parents: BTreeMap<u32, u32> = ids.filter_map(|id| Some((id, parent(id)?))).collect();
    let mut found = BTreeSet::from([std::process::id()]);
    // A child may have a smaller number than its parent: until nothing is added.
    loop {
        let is_new = |(id, parent): &(&u32, &u32)| found.contains(*parent) && !found.contains(*id);
        let new: Vec<u32> = parents.iter().filter(is_new).map(|(id, _)| *id).collect();
        if new.is_empty() {
            break;
        }
        found.extend(new);
    }
    found.remove(&std::process::id());
    found
}

fn parent(process: u32) -> Option<u32> {
    fields(process)?.get(1)?.parse().ok()
}

/// The fields of a process's `stat` after its name, which is in brackets and may have spaces. `None` if
/// it has ended just now.
fn fields(process: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    Some(fields.split_whitespace().map(str::to_owned).collect())
}

fn read(process: u32) -> Option<(String, Usage)> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let kibibytes = |field: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(field))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let fields = fields(process)?;
    let time = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let usage = Usage {
        ticks: time(11)? + time(12)?,
        resident: kibibytes("VmRSS:")?,
        peak: kibibytes("VmHWM:")?,
    };
    let command = fs::read_to_string(format!("/proc/{process}/cmdline")).ok()?;
    Some((name(&command)?, usage))
}

/// The file's name of a program, or of the script that Python runs.
fn name(command: &str) -> Option<String> {
    let mut arguments = command.split('\0').map(|argument| {
        let file = Path::new(argument).file_name();
        file.and_then(|file| file.to_str()).unwrap_or_default()
    });
    let name = arguments.next().filter(|name| !name.is_empty())?;
    let name = if name.starts_with("python") {
        arguments.next()?
    } else {
        name
    };
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn programs_are_named_by_their_executable() {
        let cases = [
            ("/usr/bin/etcd\0--data-dir\0/tmp\0", Some("etcd")),
            (
                "/venv/bin/python3\0/venv/bin/moto_server\0-p\0",
                Some("moto_server"),
            ),
            ("", None),
        ];
        for (command, expected) in cases {
            assert_eq!(name(command).as_deref(), expected, "{command:?}");
        }
    }

    #[tokio::test]
    async fn programs_that_children_have_started_are_measured() {
        // `cat` ends with its input.
        let mut shell = Command::new("sh");
        let mut shell = shell
            .args(["-c", "cat; true"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let usage = crate::until("cat runs", || async { measure().get("cat").copied() }).await;
        assert!(usage.peak >= usage.resident, "{usage:?}");
        drop(shell.stdin.take());
        assert!(shell.wait().unwrap().success());
    }
}
