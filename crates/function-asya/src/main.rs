//! Serves all steps.

use std::process::ExitCode;

use function_asya::{Config, run};
use function_kit::report;

fn main() -> ExitCode {
    match Config::from_env() {
        Ok(config) => function_server::main(
            env!("CARGO_PKG_NAME"),
            env!("CARGO_PKG_DESCRIPTION"),
            move |request| run(request, &config),
        ),
        Err(error) => {
            function_server::configure_logging();
            tracing::error!(error = report(&error), "cannot serve");
            ExitCode::FAILURE
        }
    }
}
