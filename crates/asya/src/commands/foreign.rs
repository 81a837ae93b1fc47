//! Functions of a Composition that are not Asya's: called at an address, else skipped.

use std::collections::BTreeSet;

use pipeline::{Functions, Inputs};

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
#[derive(Debug, Default)]
pub(super) struct Skipped(BTreeSet<[String; 2]>);

impl Skipped {
    /// The inputs without steps of unknown functions. A Composition of such steps alone is left as
    /// it is, and rendering it is an error.
    pub(super) fn without_unknown(
        &mut self,
        mut inputs: Inputs,
        functions: &Functions,
        printer: &Printer,
    ) -> Inputs {
        let composition = inputs.composition.clone();
        let (rest, unknown) = composition.without_unknown(|name| functions.has(name));
        if unknown.is_empty() || rest.is_empty() {
            return inputs;
        }
        for [step, function] in unknown {
            if self.0.insert([step.clone(), function.clone()]) {
                printer.warning(format_args!(
                    "step {step:?} is skipped, and what it would render is missing: function {function:?} is not Asya's; --function-address {function}=HOST:PORT calls it"
                ));
            }
        }
        inputs.composition = rest;
        inputs
    }
}
