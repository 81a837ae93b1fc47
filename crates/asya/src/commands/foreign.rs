//! Functions of a Composition that are not Asya's: called at an address, else skipped.

use std::collections::BTreeSet;

use pipeline::{Composition, Functions, Inputs};

use crate::printer::Printer;

/// The functions, with those that have an address; none after an error message.
pub(super) fn with_foreign(
    functions: Functions,
    addresses: &[(String, String)],
    printer: &Printer,
) -> Option<Functions> {
    if addresses.is_empty() {
        return Some(functions);
    }
    #[cfg(feature = "foreign-functions")]
    {
        let mut all = functions;
        for (name, address) in addresses {
            match crate::remote::foreign::function(name, address) {
                Ok(function) => all = all.with(name, function),
                Err(error) => {
                    printer.error(function_kit::report(&error));
                    return None;
                }
            }
        }
        Some(all)
    }
    #[cfg(not(feature = "foreign-functions"))]
    {
        printer.error("this build of asya does not call functions at addresses");
        printer.hint("build it with --features foreign-functions, or leave --function-address out to skip them");
        None
    }
}

/// Steps that are skipped, each reported once.
#[derive(Debug)]
pub(super) struct Skipped {
    reported: BTreeSet<[String; 2]>,
    /// True for a command with `--function-address`.
    can_call: bool,
}

impl Skipped {
    /// For a command with `--function-address`.
    pub(super) fn callable() -> Self {
        Self {
            reported: BTreeSet::new(),
            can_call: true,
        }
    }

    /// For a command that calls no functions at addresses.
    pub(super) fn uncallable() -> Self {
        Self {
            reported: BTreeSet::new(),
            can_call: false,
        }
    }

    /// The inputs without steps of unknown functions, as [`Self::known_steps`].
    pub(super) fn without_unknown(
        &mut self,
        mut inputs: Inputs,
        functions: &Functions,
        printer: &Printer,
    ) -> Inputs {
        inputs.composition = self.known_steps(inputs.composition, functions, printer);
        inputs
    }

    /// The Composition without steps of unknown functions. A Composition of such steps alone is left
    /// as it is, and rendering it is an error.
    pub(super) fn known_steps(
        &mut self,
        composition: Composition,
        functions: &Functions,
        printer: &Printer,
    ) -> Composition {
        let (rest, unknown) = composition
            .clone()
            .without_unknown(|name| functions.has(name));
        if unknown.is_empty() || rest.is_empty() {
            return composition;
        }
        for [step, function] in unknown {
            if self.reported.insert([step.clone(), function.clone()]) {
                let flag = format!("--function-address {function}=HOST:PORT");
                let remedy = if self.can_call {
                    format!("{flag} calls it")
                } else {
                    format!("asya render and asya explain call it with {flag}")
                };
                printer.warning(format_args!(
                    "step {step:?} is skipped, and what it would render is missing: function {function:?} is not Asya's; {remedy}"
                ));
            }
        }
        rest
    }
}
