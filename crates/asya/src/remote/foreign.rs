//! A function at an address, called over gRPC without TLS, as `crossplane composition render` calls
//! functions that run on the same machine.

use std::time::Duration;

use function_proto::v1::{RunFunctionRequest, RunFunctionResponse};
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;

/// The method of the function protocol.
const METHOD: &str = "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction";
/// Longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest wait for an answer, as Crossplane waits.
const CALL_TIMEOUT: Duration = Duration::from_secs(20);
/// Longest answer in bytes, as Crossplane reads.
const ANSWER_MAX: usize = 4 << 20;

/// Reason for which a function cannot be called.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    /// The address is invalid, or nothing listens there.
    #[error("function {name:?}: cannot connect to {address:?}")]
    Connect {
        /// The function.
        name: String,
        /// The address.
        address: String,
        /// Cause.
        source: tonic::transport::Error,
    },
    /// There is no runtime for the connection.
    #[error("cannot start the runtime of a connection")]
    Runtime(#[source] std::io::Error),
}

/// The function at an address. A call that fails is a fatal answer with the reason.
///
/// # Errors
/// When nothing listens at the address.
pub fn function(
    name: &str,
    address: &str,
) -> Result<impl Fn(RunFunctionRequest) -> RunFunctionResponse + Send + Sync + use<>, ForeignError>
{
    let connect_error = |source| ForeignError::Connect {
        name: name.to_owned(),
        address: address.to_owned(),
        source,
    };
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder
        .enable_all()
        .build()
        .map_err(ForeignError::Runtime)?;
    let endpoint = Endpoint::from_shared(format!("http://{address}")).map_err(connect_error)?;
    let endpoint = endpoint
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(CALL_TIMEOUT);
    let channel = runtime
        .block_on(endpoint.connect())
        .map_err(connect_error)?;
    let (name, address) = (name.to_owned(), address.to_owned());
    Ok(move |request| {
        runtime
            .block_on(call(channel.clone(), request))
            .unwrap_or_else(|status| {
                let message = status.message();
                function_kit::fatal(&format!("function {name:?} at {address} failed: {message}"))
            })
    })
}

async fn call(
    channel: Channel,
    request: RunFunctionRequest,
) -> Result<RunFunctionResponse, tonic::Status> {
    let mut client = Grpc::new(channel).max_decoding_message_size(ANSWER_MAX);
    let ready = client.ready().await;
    ready.map_err(|error| tonic::Status::unavailable(error.to_string()))?;
    let codec: ProstCodec<RunFunctionRequest, RunFunctionResponse> = ProstCodec::default();
    let method = PathAndQuery::from_static(METHOD);
    let answer = client
        .unary(tonic::Request::new(request), method, codec)
        .await?;
    Ok(answer.into_inner())
}
