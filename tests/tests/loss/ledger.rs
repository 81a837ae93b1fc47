//! Ledger of messages that arrived, with their number.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Number of times that each message has come to an end, read from the files of the end actors.
pub(crate) struct Ledger {
    run: String,
    succeeded: Vec<u32>,
    failed: Vec<u32>,
    // How far each file has been read.
    read: BTreeMap<PathBuf, u64>,
}

/// Totals of the messages of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count {
    /// Messages that the broker has confirmed, or that arrived.
    pub(crate) sent: usize,
    /// Messages among these that were lost.
    pub(crate) lost: usize,
    /// Messages that came to an end more than once.
    pub(crate) doubled: usize,
    /// Messages that came to the error end.
    pub(crate) failed: usize,
}

impl Ledger {
    /// Ledger of `messages` messages with the ids of [`id`](Self::id).
    pub(crate) fn new(run: &str, messages: usize) -> Self {
        Self {
            run: run.to_owned(),
            succeeded: vec![0; messages],
            failed: vec![0; messages],
            read: BTreeMap::new(),
        }
    }

    /// Id of a message.
    pub(crate) fn id(run: &str, number: usize) -> String {
        format!("{run}:{number}")
    }

    /// Reads what has been added to the output of an end actor's runtime.
    pub(crate) fn read(&mut self, output: &Path) {
        let Ok(mut file) = File::open(output) else {
            return;
        };
        let start = self.read.entry(output.to_owned()).or_default();
        let mut text = String::new();
        file.seek(SeekFrom::Start(*start))
            .expect("the file can be read");
        file.read_to_string(&mut text).expect("UTF-8");
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        *start += whole as u64;
        let ends: Vec<Value> = text[..whole]
            .lines()
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
            })
            .collect();
        for end in ends {
            self.enter(&end);
        }
    }

    fn enter(&mut self, end: &Value) {
        let id = end["id"].as_str().and_then(|id| id.split_once(':'));
        let Some((run, number)) = id else {
            return;
        };
        if run == self.run {
            let number: usize = number.parse().expect("an id of ours");
            let counts = match end["outcome"].as_str() {
                Some("succeeded") => &mut self.succeeded,
                _ => &mut self.failed,
            };
            counts[number] += 1;
        }
    }

    /// Returns the number of messages that have come to an end at least once.
    pub(crate) fn arrived(&self) -> usize {
        (0..self.succeeded.len())
            .filter(|number| self.times(*number) > 0)
            .count()
    }

    /// Returns whether a message has come to an end.
    pub(crate) fn has(&self, number: usize) -> bool {
        self.times(number) > 0
    }

    fn times(&self, number: usize) -> u32 {
        self.succeeded[number] + self.failed[number]
    }

    /// Counts. `kept` are the messages that the broker has confirmed: another one may arrive, too.
    pub(crate) fn count(&self, kept: &[bool]) -> Count {
        let of =
            |holds: &dyn Fn(usize) -> bool| (0..kept.len()).filter(|number| holds(*number)).count();
        Count {
            sent: of(&|number| kept[number] || self.has(number)),
            lost: of(&|number| kept[number] && !self.has(number)),
            doubled: of(&|number| self.times(number) > 1),
            failed: of(&|number| self.failed[number] > 0),
        }
    }
}

#[test]
fn lost_doubled_and_failed_messages_are_counted_separately() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("end.out");
    let ends = [
        ("run:0", "succeeded"),
        ("run:1", "succeeded"),
        ("run:1", "succeeded"),
        ("run:2", "failed"),
        ("run:4", "succeeded"),
        ("run before:3", "succeeded"),
    ];
    let lines =
        ends.map(|(id, outcome)| format!("{{\"id\":\"{id}\",\"outcome\":\"{outcome}\"}}\n"));
    std::fs::write(&file, lines.concat() + "{\"id\":\"run:3").unwrap();
    let mut ledger = Ledger::new("run", 6);
    ledger.read(&file);
    ledger.read(&file);
    assert_eq!(
        ledger.arrived(),
        4,
        "a line is read once, and when it is whole"
    );
    // The broker has confirmed neither message 4 nor message 5, which is lost.
    let count = ledger.count(&[true, true, true, true, false, false]);
    let expected = Count {
        sent: 5,
        lost: 1,
        doubled: 1,
        failed: 1,
    };
    assert_eq!(count, expected);
}
