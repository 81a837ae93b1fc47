//! A stock function that does nothing: the official SDK's own server and arguments, the system's
//! allocator, and a response that carries the desired state and the context over.
//!
//! It is what every function of ours is measured against, and is never shipped.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser as _;
use function_sdk_rust::proto::v1::function_runner_service_server::FunctionRunnerService;
use function_sdk_rust::proto::v1::{RunFunctionRequest, RunFunctionResponse};
use function_sdk_rust::{Args, logging, response, serve};
use tonic::{Request, Response, Status};

struct Echo;

#[tonic::async_trait]
impl FunctionRunnerService for Echo {
    async fn run_function(
        &self,
        request: Request<RunFunctionRequest>,
    ) -> Result<Response<RunFunctionResponse>, Status> {
        let request = request.into_inner();
        Ok(Response::new(response::to(&request, response::DEFAULT_TTL)))
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    logging::configure(args.debug);
    match serve(Echo, &args).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error is closed, there is nowhere to report to.
            let _ = writeln!(io::stderr(), "cannot serve: {error}");
            ExitCode::FAILURE
        }
    }
}
