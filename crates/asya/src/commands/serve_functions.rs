//! `asya serve-functions`, which one version of this program starts of another.

use std::io::{self, BufReader, BufWriter};

use crate::inputs::built_in_compositions;
use crate::printer::Printer;
use crate::remote::serve;

use super::{ExitStatus, functions};

pub(super) fn run(printer: &Printer) -> ExitStatus {
    let Some(functions) = functions(printer) else {
        return ExitStatus::Error;
    };
    let compositions = match built_in_compositions() {
        Ok(compositions) => compositions,
        Err(error) => {
            printer.error(error);
            return ExitStatus::Error;
        }
    };
    let mut input = BufReader::new(io::stdin().lock());
    let mut output = BufWriter::new(io::stdout().lock());
    match serve(&functions, compositions, &mut input, &mut output) {
        Ok(()) => ExitStatus::Success,
        Err(error) => {
            printer.error(format_args!("cannot write to the calling program: {error}"));
            ExitStatus::Error
        }
    }
}
