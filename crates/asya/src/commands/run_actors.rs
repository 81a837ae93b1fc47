//! `asya run`.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use pipeline::{Functions, Inputs, Object, render};
use serde_json::Value;
use tokio::sync::mpsc::{Receiver, channel};

use crate::cli::{Run, RunForm};
use crate::inputs::{self, Arguments};
use crate::printer::Printer;
use crate::run::session;
use crate::run::{End, Form, Output, Plan, Totals, Values, plan};

use super::foreign::Skipped;
use super::{ExitStatus, functions, refuse, refuse_all, render::fail, unusable};

/// Settings for actors without any: a transport, which only a cluster would use.
const PLATFORM: &str = include_str!("../run/platform.yaml");

/// Lines of standard input that wait to be sent.
const WAITING: usize = 100;

pub(super) fn run(arguments: &Run, printer: &Printer) -> io::Result<ExitStatus> {
    let Some(functions) = functions(printer) else {
        return Ok(ExitStatus::Error);
    };
    let settings = arguments
        .variables()
        .and_then(|given| Ok((given, arguments.settings()?)));
    let (given, settings) = match settings {
        Ok(settings) => settings,
        Err(error) => {
            printer.error(&error);
            return Ok(ExitStatus::Error);
        }
    };
    let values = Values {
        given,
        objects: Vec::new(),
    };
    let input = arguments.reads_messages().then(standard_input);
    if input.is_some() && io::stdin().is_terminal() {
        printer.note("each line is a message in JSON; Ctrl-D ends the input");
    }
    let mut output = Terminal {
        printer,
        form: arguments.output,
        failure: None,
    };
    let load = || load(&arguments.arguments(), &values, &functions, printer);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let end = runtime.block_on(session::run(&settings, load, input, &mut output));
    // The thread that reads standard input never ends.
    runtime.shutdown_background();
    if let Some(error) = output.failure {
        return Err(error);
    }
    match end {
        Ok(End::Done(totals)) => {
            printer.summary(totals);
            Ok(if totals.is_good() {
                ExitStatus::Success
            } else {
                ExitStatus::Failure
            })
        }
        Ok(End::NoMessage) => {
            printer.error("there is no message");
            printer.hint("give messages with --send, or as lines of JSON on standard input");
            Ok(ExitStatus::Error)
        }
        Ok(End::Failed) => Ok(ExitStatus::Error),
        Err(error) => {
            printer.error(format_args!("cannot run actors here: {error}"));
            Ok(ExitStatus::Error)
        }
    }
}

/// The actors; none after errors were reported.
fn load(
    arguments: &Arguments,
    values: &Values,
    functions: &Functions,
    printer: &Printer,
) -> Option<Vec<Plan>> {
    let loaded = match inputs::load(arguments) {
        Ok(loaded) => loaded,
        Err(error) => {
            unusable(&error, printer);
            return None;
        }
    };
    for warning in &loaded.warnings {
        printer.warning(warning);
    }
    let mut is_good = refuse_all(&loaded.errors, printer) == ExitStatus::Success;
    let mut skipped = Skipped::uncallable();
    let mut plans: Vec<Plan> = Vec::new();
    for case in loaded.cases {
        let mut inputs = match case.inputs {
            Ok(inputs) => skipped.without_unknown(inputs, functions, printer),
            Err(error) => {
                refuse(&error, printer);
                is_good = false;
                continue;
            }
        };
        complete(&mut inputs);
        let rendered = match render(&inputs, functions) {
            Ok(rendered) => rendered,
            Err(error) => {
                fail(&case.name, &inputs, &error, printer);
                is_good = false;
                continue;
            }
        };
        let values = Values {
            given: values.given.clone(),
            objects: inputs.required,
        };
        let name = inputs.composite.object().name();
        match plan(name, &case.file, &rendered.composed, &values) {
            Ok(plan) => match plans.iter().find(|other| other.name == plan.name) {
                None => plans.push(plan),
                Some(other) => {
                    printer.error(format_args!(
                        "two actors are named {:?}: in {} and in {}",
                        plan.name,
                        other.file.display(),
                        plan.file.display()
                    ));
                    printer.hint("a run has one namespace: give the files of one of them");
                    is_good = false;
                }
            },
            Err(errors) => {
                for error in errors {
                    printer.error(format_args!("{}: {error}", case.file.display()));
                    if let Some(hint) = error.hint() {
                        printer.hint(hint);
                    }
                }
                is_good = false;
            }
        }
    }
    is_good.then_some(plans)
}

/// Adds settings where there are none.
fn complete(inputs: &mut Inputs) {
    let is_platform = |object: &Object| {
        object.kind() == actor::ENVIRONMENT_CONFIG.1 && object.name() == actor::names::PLATFORM
    };
    if inputs.required.iter().any(|object| is_platform(object)) {
        return;
    }
    if let Ok(Value::Object(platform)) = actor::yaml::document(PLATFORM) {
        inputs.required.push(Arc::new(platform.into()));
    }
}

/// Lines of standard input, read by a thread of their own.
fn standard_input() -> Receiver<(usize, String)> {
    let (sender, lines) = channel(WAITING);
    std::thread::spawn(move || {
        session::lines(io::stdin().lock(), |number, line| {
            sender.blocking_send((number, line)).is_ok()
        });
    });
    lines
}

/// Events on standard output, everything else on standard error.
struct Terminal<'a> {
    printer: &'a Printer,
    form: RunForm,
    failure: Option<io::Error>,
}

impl Output for Terminal<'_> {
    fn event(&mut self, line: &dyn Fn(Form) -> Option<String>) {
        let line = line(match self.form {
            RunForm::Text => Form::Text,
            RunForm::Json => Form::Json,
            RunForm::Results => Form::Result,
        });
        if let (Some(line), None) = (line, &self.failure) {
            self.failure = self.printer.data(&line).err();
        }
    }

    fn error(&mut self, text: &dyn std::fmt::Display, hint: Option<String>) {
        self.printer.error(text);
        if let Some(hint) = hint {
            self.printer.hint(hint);
        }
    }

    fn note(&mut self, text: &dyn std::fmt::Display) {
        self.printer.note(text);
    }

    fn totals(&mut self, totals: &Totals) {
        self.printer.summary(totals);
    }

    fn is_broken(&self) -> bool {
        self.failure.is_some()
    }
}
