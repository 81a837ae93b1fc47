//! Serves all steps.

use std::process::ExitCode;

use function_asya::{Config, run};
use function_kit::{report, serve};
use function_sdk_rust::logging;

fn main() -> ExitCode {
    match Config::from_env() {
        Ok(config) => serve::main(
            env!("CARGO_PKG_NAME"),
            env!("CARGO_PKG_DESCRIPTION"),
            move |request| run(request, &config),
        ),
        Err(error) => {
            logging::configure(false);
            tracing::error!(error = report(&error), "cannot serve");
            ExitCode::FAILURE
        }
    }
}
