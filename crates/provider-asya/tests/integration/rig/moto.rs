//! Moto, with clients.

use std::time::Duration;

use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use provider_asya::transport::sqs::Service;

/// The only region that tests use.
pub const REGION: &str = "us-east-1";

/// A service without any queue.
pub struct Moto {
    _server: test_cluster::moto::Moto,
    /// URL of the service.
    pub endpoint: String,
}

impl Moto {
    /// Starts a service and waits until it listens.
    pub async fn start() -> Self {
        let server = test_cluster::moto::Moto::start().await;
        Self {
            endpoint: server.endpoint.clone(),
            _server: server,
        }
    }

    /// Clients of the service.
    pub fn clients(&self) -> (aws_sdk_sqs::Client, aws_sdk_sts::Client) {
        let credentials = || Credentials::new("key", "secret", None, None, "tests");
        let sqs = aws_sdk_sqs::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(REGION))
            .endpoint_url(&self.endpoint)
            .credentials_provider(credentials())
            .build();
        let sts = aws_sdk_sts::Config::builder()
            .behavior_version(aws_sdk_sts::config::BehaviorVersion::latest())
            .region(Region::new(REGION))
            .endpoint_url(&self.endpoint)
            .credentials_provider(credentials())
            .build();
        (
            aws_sdk_sqs::Client::from_conf(sqs),
            aws_sdk_sts::Client::from_conf(sts),
        )
    }

    /// The service as the provider sees it.
    pub fn service(&self) -> Service {
        let (sqs, sts) = self.clients();
        Service::new(
            sqs,
            sts,
            REGION,
            Some(&self.endpoint),
            Duration::from_secs(65),
        )
    }
}
