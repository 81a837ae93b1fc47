//! `asya logs`.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use owo_colors::{OwoColorize as _, Style};
use serde_json::json;

use crate::cli::{Logs, OperateForm};
use crate::inputs::pods_of;
use crate::kubectl::Kubectl;
use crate::operate::{Line, Source, merged, sources, split};
use crate::printer::Printer;
use crate::visible::visible;

use super::{ExitStatus, unusable};

/// Between two reads of the pods while logs are followed.
const INTERVAL: Duration = Duration::from_secs(5);

pub(super) fn run(arguments: &Logs, printer: &Printer) -> io::Result<ExitStatus> {
    let cluster = arguments.cluster();
    let kubectl = Kubectl {
        context: cluster.context.clone(),
    };
    if arguments.follow {
        return follow(arguments, &kubectl, printer);
    }
    let pods = match pods_of(&cluster, &arguments.actor) {
        Ok(pods) => pods,
        Err(error) => return Ok(unusable(&error, printer)),
    };
    let sources = sources(&pods, &arguments.container);
    if sources.is_empty() {
        let actor = &arguments.actor;
        printer.error(format_args!(
            "actor {actor:?} has no such container with a log"
        ));
        printer.hint(format_args!(
            "asya status {actor} shows its pods; an actor without work has none"
        ));
        return Ok(ExitStatus::Failure);
    }
    let mut status = ExitStatus::Success;
    let mut logs = Vec::new();
    for source in &sources {
        let flags = flags(arguments, source, None);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        logs.push(kubectl.read("logs", &flags, "").unwrap_or_else(|error| {
            // Of a container that has not restarted there is no previous log.
            if !arguments.previous {
                printer.error(format_args!("pod {}: {error}", source.pod));
                status = ExitStatus::Error;
            }
            String::new()
        }));
    }
    let mut text = String::new();
    for line in merged(&logs) {
        text += &shown(&line, &sources[line.source], arguments);
    }
    printer.data(&text)?;
    Ok(status)
}

/// Prints lines as they come, and follows new containers, until the user stops it.
fn follow(arguments: &Logs, kubectl: &Kubectl, printer: &Printer) -> io::Result<ExitStatus> {
    let cluster = arguments.cluster();
    let (sender, lines) = channel();
    // Containers that are followed, with the time of their last line.
    let mut seen: BTreeMap<Source, (bool, String)> = BTreeMap::new();
    loop {
        let pods = match pods_of(&cluster, &arguments.actor) {
            Ok(pods) => pods,
            Err(error) => return Ok(unusable(&error, printer)),
        };
        for source in sources(&pods, &arguments.container) {
            let (is_followed, last) = seen.entry(source.clone()).or_default();
            if !*is_followed {
                *is_followed = true;
                spawn(
                    kubectl,
                    &flags(arguments, &source, Some(last)),
                    source,
                    sender.clone(),
                );
            }
        }
        let next = Instant::now() + INTERVAL;
        loop {
            match lines.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok((source, Some(line))) => {
                    let (_, last) = seen.entry(source.clone()).or_default();
                    // The last line is read again after the connection was lost.
                    if line.time.is_empty() || line.time > *last {
                        last.clone_from(&line.time);
                        printer.data(&shown(&line, &source, arguments))?;
                    }
                }
                Ok((source, None)) => seen.entry(source).or_default().0 = false,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
    }
}

/// Follows the log of a container by a thread of its own. The end of the log is the end of its lines.
fn spawn(
    kubectl: &Kubectl,
    flags: &[String],
    source: Source,
    lines: Sender<(Source, Option<Line>)>,
) {
    let child = kubectl.stream("logs", flags);
    std::thread::spawn(move || {
        if let Ok(mut child) = child {
            // kubectl waits for its reader, so both outputs are read at the same time.
            let stderr = child.stderr.take().map(BufReader::new);
            let relay = std::thread::spawn(move || {
                for line in stderr.into_iter().flat_map(|stderr| stderr.split(b'\n')) {
                    let Ok(line) = line else { break };
                    Printer.relay(&format!("{}\n", String::from_utf8_lossy(&line)));
                }
            });
            let output = child.stdout.take().map(BufReader::new);
            for line in output.into_iter().flat_map(|output| output.split(b'\n')) {
                let Ok(line) = line else { break };
                let line = split(&String::from_utf8_lossy(&line), 0);
                if lines.send((source.clone(), Some(line))).is_err() {
                    break;
                }
            }
            let _ = child.kill();
            let _ = child.wait();
            let _ = relay.join();
        }
        let _ = lines.send((source, None));
    });
}

/// The arguments of `kubectl logs` for a container; `since` is the time of the last line that was read.
fn flags(arguments: &Logs, source: &Source, since: Option<&str>) -> Vec<String> {
    let mut flags = vec![
        source.pod.clone(),
        format!("--container={}", source.container),
        format!("--namespace={}", source.namespace),
        "--timestamps".to_owned(),
    ];
    match (since, arguments.since) {
        (Some(time), _) if !time.is_empty() => flags.push(format!("--since-time={time}")),
        (_, Some(since)) => flags.push(format!("--since={}s", since.as_secs().max(1))),
        (_, None) => {}
    }
    if let Some(count) = arguments.tail {
        flags.push(format!("--tail={count}"));
    }
    if arguments.follow {
        flags.push("--follow".to_owned());
    }
    if arguments.previous {
        flags.push("--previous".to_owned());
    }
    flags
}

fn shown(line: &Line, source: &Source, arguments: &Logs) -> String {
    if arguments.output == OperateForm::Json {
        let line = json!({"pod": source.pod, "container": source.container, "time": line.time,
            "line": line.text});
        return format!("{line}\n");
    }
    let style = match source.short() {
        "runtime" => Style::new().green(),
        "sidecar" => Style::new().blue(),
        _ => Style::new().magenta(),
    };
    let time = if arguments.timestamps {
        format!("{} ", visible(&line.time))
    } else {
        String::new()
    };
    let prefix = format!("{} {:7} |", source.pod, source.short());
    let (prefix, text) = (visible(&prefix), visible(&line.text));
    format!("{time}{} {text}\n", prefix.style(style))
}
