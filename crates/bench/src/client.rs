//! A gRPC client that sends bytes encoded beforehand and does not decode what comes back, so that
//! next to nothing of what is measured is its own.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use bytes::{Buf as _, BufMut as _, Bytes};
use futures::future::try_join_all;
use http::uri::PathAndQuery;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

const METHOD: &str = "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction";
/// Bytes: above the largest answer by far.
const LARGEST_ANSWER: usize = 64 << 20;

/// A connection to one function.
#[derive(Debug, Clone)]
pub(crate) struct Client(Grpc<Channel>);

impl Client {
    /// Connects to the loopback port.
    pub(crate) async fn connect(port: u16) -> Result<Self> {
        let endpoint = Endpoint::from_shared(format!("http://127.0.0.1:{port}"))?;
        let channel = endpoint.connect().await.context("cannot connect")?;
        let client = Grpc::new(channel).max_decoding_message_size(LARGEST_ANSWER);
        Ok(Self(client))
    }

    /// One call; returns the encoded response.
    pub(crate) async fn call(&mut self, request: Bytes) -> Result<Bytes> {
        self.0.ready().await.context("the connection is lost")?;
        let path = PathAndQuery::from_static(METHOD);
        let answer = self.0.unary(Request::new(request), path, Raw).await;
        Ok(answer.context("the call failed")?.into_inner())
    }

    /// Calls for that long, with so many calls in flight; returns how long each took.
    pub(crate) async fn call_for(
        &self,
        request: &Bytes,
        in_flight: usize,
        time: Duration,
    ) -> Result<Vec<Duration>> {
        let deadline = Instant::now() + time;
        self.call_while(request, in_flight, |_| Instant::now() < deadline)
            .await
    }

    /// Calls that often, with eight calls in flight.
    pub(crate) async fn call_times(&self, request: &Bytes, times: usize) -> Result<()> {
        const IN_FLIGHT: usize = 8;
        let each = times.div_ceil(IN_FLIGHT);
        self.call_while(request, IN_FLIGHT, |calls| calls < each)
            .await
            .map(drop)
    }

    async fn call_while(
        &self,
        request: &Bytes,
        in_flight: usize,
        goes_on: impl Fn(usize) -> bool,
    ) -> Result<Vec<Duration>> {
        let goes_on = &goes_on;
        let caller = || async move {
            let mut client = self.clone();
            let mut times = Vec::new();
            while goes_on(times.len()) {
                let start = Instant::now();
                client.call(request.clone()).await?;
                times.push(start.elapsed());
            }
            Ok::<_, anyhow::Error>(times)
        };
        let times = try_join_all((0..in_flight).map(|_| caller())).await?;
        Ok(times.concat())
    }
}

/// Bytes as they are.
#[derive(Debug, Clone, Copy, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(message);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}
