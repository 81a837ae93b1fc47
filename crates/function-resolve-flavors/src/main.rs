//! Serves the step.

use std::process::ExitCode;

fn main() -> ExitCode {
    function_server::main(
        env!("CARGO_PKG_NAME"),
        env!("CARGO_PKG_DESCRIPTION"),
        function_resolve_flavors::run,
    )
}
