//! Processes inside a cluster that stay when the command that started them ends.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::instance::Instance;
use super::poll::until;
use crate::cannot;
use crate::workspace::shown;

/// Lines of a log that an error shows.
const SHOWN_LINES: usize = 8;

/// Processes that were started, and the time since then.
pub(super) struct Processes<'a> {
    instance: &'a Instance,
    out: &'a mut dyn Write,
    started: Vec<(String, Child)>,
    start: Instant,
}

impl<'a> Processes<'a> {
    pub(super) fn new(instance: &'a Instance, out: &'a mut dyn Write) -> Self {
        Self {
            instance,
            out,
            started: Vec::new(),
            start: Instant::now(),
        }
    }

    /// Starts a process in the state folder with its output in `log/<name>.log`.
    pub(super) fn start(&mut self, name: &str, command: &mut Command) -> Result<()> {
        let path = self.instance.path(&format!("log/{name}.log"));
        let log = File::create(&path).with_context(|| cannot("create", &path))?;
        let errors = log.try_clone().with_context(|| cannot("write", &path))?;
        let child = command
            .current_dir(&self.instance.state)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start `{}`", shown(command)))?;
        self.started.push((name.to_owned(), child));
        Ok(())
    }

    /// Waits until the command succeeds, and prints the time since the first start.
    ///
    /// # Errors
    /// If it does not within that time, or a process that was started has ended.
    pub(super) fn wait(
        &mut self,
        what: &str,
        timeout: Duration,
        command: impl Fn() -> Command,
    ) -> Result<()> {
        until(what, timeout, || {
            let output = command()
                .stdin(Stdio::null())
                .output()
                .with_context(|| format!("cannot start `{}`", shown(&command())))?;
            if output.status.success() {
                return Ok(Ok(()));
            }
            self.check()?;
            let complaint = String::from_utf8_lossy(&output.stderr);
            Ok(Err(format!(
                "`{}`: {}",
                shown(&command()),
                complaint.trim()
            )))
        })?;
        self.print(what)
    }

    /// Prints what has happened, and when.
    pub(super) fn print(&mut self, what: &str) -> Result<()> {
        writeln!(
            self.out,
            "{:6.1} s  {what}",
            self.start.elapsed().as_secs_f64()
        )?;
        Ok(self.out.flush()?)
    }

    fn check(&mut self) -> Result<()> {
        for (name, child) in &mut self.started {
            let status = child
                .try_wait()
                .with_context(|| format!("cannot wait for {name}"))?;
            if let Some(status) = status {
                let log = self.instance.path(&format!("log/{name}.log"));
                let text = fs::read_to_string(&log).unwrap_or_default();
                let lines: Vec<&str> = text.lines().collect();
                let end = lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n  ");
                bail!(
                    "{name} has ended with {status}; the end of `{}`:\n  {end}",
                    log.display()
                );
            }
        }
        Ok(())
    }
}
