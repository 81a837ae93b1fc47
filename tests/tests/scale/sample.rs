//! Counters at one moment.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use test_cluster::usage::{self, Usage};
use tests::metrics;

use crate::world::World;

/// Timeout of the API server's metrics. It is busier than it is in any other test.
const TIMEOUT: Duration = Duration::from_mins(15);

/// Counters of all programs.
pub(crate) struct Sample {
    pub(crate) at: Instant,
    /// By the program's name.
    pub(crate) usages: BTreeMap<String, Usage>,
    /// Requests that the API server has answered, by verb. Watches are counted when they end.
    pub(crate) requests: BTreeMap<String, u64>,
    /// Requests that core has made, by method.
    pub(crate) of_core: BTreeMap<String, u64>,
    /// Requests that our provider has made, by method.
    pub(crate) of_provider: BTreeMap<String, u64>,
    /// Calls to brokers.
    pub(crate) broker_calls: u64,
    /// Calls of functions, of which the last is called once in each reconciliation.
    pub(crate) calls: Vec<(String, u64)>,
}

impl Sample {
    /// Takes one.
    pub(crate) async fn take(world: &World) -> Self {
        let stack = &world.stack;
        let core = SocketAddr::from((Ipv4Addr::LOCALHOST, stack.crossplane.metrics));
        let core = metrics::scrape(core);
        let provider = stack.scrape_provider();
        // A busy server cuts the answer off.
        let what = "the API server answers with its metrics";
        let server = test_cluster::until_within(TIMEOUT, what, || async {
            let request = http::Request::get("/metrics").body(Vec::new());
            let answer = stack.client.request_text(request.expect("a request"));
            answer.await.ok()
        });
        let server = server.await;
        let by_method = |text: &str| metrics::sums_by(text, "rest_client_requests_total", "method");
        Self {
            at: Instant::now(),
            usages: usage::measure(),
            requests: metrics::sums_by(&server, "apiserver_request_total", "verb"),
            of_core: by_method(&core),
            of_provider: by_method(&provider),
            broker_calls: metrics::sum(&provider, "asya_provider_external_calls_total", ""),
            calls: stack.calls(),
        }
    }
}
