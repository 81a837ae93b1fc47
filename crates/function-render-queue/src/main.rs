//! Serves the step.

use std::process::ExitCode;

use function_render_queue::run;

fn main() -> ExitCode {
    function_server::main(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_DESCRIPTION"), run)
}
