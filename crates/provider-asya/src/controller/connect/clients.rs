//! Clients of brokers and services: one of each config, made from its Secrets.

use std::collections::BTreeMap;

use actor::provider_config::{
    CredentialsSource, RabbitMqConnection, SecretSelector, SqsConnection,
};
use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use tokio::time::Instant;

use super::{Backend, CachedClient, ConnectError, Connector, ResolvedConfig, text};
use crate::tenancy;
use crate::transport::TransportError;
use crate::transport::rabbitmq::Broker;
use crate::transport::rabbitmq::api::{Api as RabbitMqApi, Login};
use crate::transport::sqs::Service;
use crate::transport::sqs::limited_answers::LimitedAnswers;

/// Data of a Secret.
type SecretData = BTreeMap<String, k8s_openapi::ByteString>;

impl Connector {
    /// The client of a config; a new one where the config or its Secrets have changed.
    pub(super) async fn backend(
        &self,
        config: &ResolvedConfig,
        region: &str,
        secrets: Vec<Vec<u8>>,
        make: impl AsyncFnOnce(&[Vec<u8>]) -> Result<Backend, TransportError>,
    ) -> Result<Backend, ConnectError> {
        let key = config.key(region);
        {
            let mut clients = self.lock();
            if let Some(cached) = clients.get_mut(&key)
                && cached.version == config.version
                && cached.secrets == secrets
            {
                // These Secrets were read a moment ago.
                if !self.is_fresh(cached) {
                    cached.read = Some(Instant::now());
                }
                return Ok(cached.backend.clone());
            }
        }
        let backend = make(&secrets).await.map_err(text)?;
        let cached = CachedClient {
            version: config.version.clone(),
            read: Some(Instant::now()),
            secrets,
            backend: backend.clone(),
        };
        self.lock().insert(key, cached);
        Ok(backend)
    }

    pub(super) async fn rabbitmq_secrets(
        &self,
        config: &ResolvedConfig,
        connection: &RabbitMqConnection,
    ) -> Result<Vec<Vec<u8>>, ConnectError> {
        if let Some(secrets) = self.fresh_secrets(config, "") {
            return Ok(secrets);
        }
        let credentials = &connection.credentials;
        let authorities = connection
            .tls
            .as_ref()
            .and_then(|tls| tls.ca_secret_ref.as_ref());
        let references = [
            &credentials.username_secret_ref,
            &credentials.password_secret_ref,
        ];
        // Usually one Secret has all of them.
        let mut read: BTreeMap<&SecretSelector, SecretData> = BTreeMap::new();
        let mut secrets = Vec::new();
        for reference in references.into_iter().chain(authorities) {
            let secret = &reference.secret;
            if !read.contains_key(secret) {
                read.insert(secret, self.secret_data(config, secret).await?);
            }
            secrets.push(config.value(&read[secret], secret, &reference.key)?);
        }
        Ok(secrets)
    }

    pub(super) async fn sqs_secrets(
        &self,
        config: &ResolvedConfig,
        connection: &SqsConnection,
        region: &str,
    ) -> Result<Vec<Vec<u8>>, ConnectError> {
        let (CredentialsSource::Secret, Some(secret)) = (
            connection.credentials.source,
            &connection.credentials.secret_ref,
        ) else {
            // The API server rejects such a config; one from an older schema may be stored.
            return if config.cluster.is_some() {
                Ok(Vec::new())
            } else {
                Err(format!(
                    "{} is namespaced, and only a ClusterProviderConfig may use the provider's own identity: \
                     set `spec.sqs.credentials.source: Secret` with `secretRef` there",
                    config.display()
                ))
            };
        };
        if let Some(secrets) = self.fresh_secrets(config, region) {
            return Ok(secrets);
        }
        let data = self.secret_data(config, secret).await?;
        let mut secrets = Vec::new();
        for key in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
            secrets.push(config.value(&data, secret, key)?);
        }
        secrets.extend(data.get("AWS_SESSION_TOKEN").map(|token| token.0.clone()));
        Ok(secrets)
    }

    /// Values of the Secrets, where they were read within [`Timings::credentials`](crate::timings::Timings).
    fn fresh_secrets(&self, config: &ResolvedConfig, region: &str) -> Option<Vec<Vec<u8>>> {
        let clients = self.lock();
        let cached = clients.get(&config.key(region))?;
        let is_fresh = cached.version == config.version && self.is_fresh(cached);
        is_fresh.then(|| cached.secrets.clone())
    }

    fn is_fresh(&self, cached: &CachedClient) -> bool {
        let since = cached.read.map(|at| at.elapsed());
        since.is_some_and(|since| since < self.timings.credentials)
    }

    async fn secret_data(
        &self,
        config: &ResolvedConfig,
        secret: &SecretSelector,
    ) -> Result<SecretData, ConnectError> {
        let namespace = if config.cluster.is_some() {
            secret.namespace.as_deref().unwrap_or(&config.namespace)
        } else {
            tenancy::own_secret(&config.reference.name, &config.namespace, secret).map_err(text)?
        };
        let api: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let found = api.get_opt(&secret.name).await.map_err(text)?.ok_or_else(|| {
            format!(
                "Secret {:?}, which {} names, does not exist in namespace {namespace:?}: create it",
                secret.name,
                config.display()
            )
        })?;
        Ok(found.data.unwrap_or_default())
    }

    pub(super) fn broker(
        &self,
        config: &ResolvedConfig,
        connection: &RabbitMqConnection,
        secrets: &[Vec<u8>],
    ) -> Result<Backend, TransportError> {
        let login = Login {
            endpoint: &connection.endpoint,
            username: &value_text(secrets.first()),
            password: &value_text(secrets.get(1)),
            authorities: secrets.get(2).map(Vec::as_slice),
        };
        let api = RabbitMqApi::new(&login, self.timings.external_call)?
            .counted_by(self.metrics.calls_to("rabbitmq"))
            .reading_with(self.reader(&config.key("").0));
        Ok(Backend::RabbitMq(Box::new(Broker::new(
            api,
            self.timings.counting,
        ))))
    }

    pub(super) async fn service(
        &self,
        config: &ResolvedConfig,
        connection: &SqsConnection,
        region: &str,
        secrets: Vec<Vec<u8>>,
    ) -> Result<Service, ConnectError> {
        let make = async |secrets: &[Vec<u8>]| {
            let mut loader = aws_config::defaults(BehaviorVersion::latest())
                .region(Region::new(region.to_owned()))
                .timeout_config(
                    aws_config::timeout::TimeoutConfig::builder()
                        .operation_timeout(self.timings.external_call)
                        .build(),
                );
            if let [key, secret, token @ ..] = secrets {
                let token = token.first().map(|token| value_text(Some(token)));
                let credentials = Credentials::new(
                    value_text(Some(key)),
                    value_text(Some(secret)),
                    token,
                    None,
                    "Secret",
                );
                loader = loader.credentials_provider(credentials);
            }
            let endpoint = connection.endpoint.as_deref();
            if let Some(endpoint) = endpoint {
                loader = loader.endpoint_url(endpoint);
            }
            let shared = loader.load().await;
            let sqs = aws_sdk_sqs::config::Builder::from(&shared).interceptor(LimitedAnswers);
            let sts = aws_sdk_sts::config::Builder::from(&shared).interceptor(LimitedAnswers);
            let (sqs, sts) = (
                aws_sdk_sqs::Client::from_conf(sqs.build()),
                aws_sdk_sts::Client::from_conf(sts.build()),
            );
            let after = self.timings.deleted_recently;
            let service = Service::new(sqs, sts, region, endpoint, after);
            Ok(Backend::Sqs(service.limited_by(&self.sqs_limits)))
        };
        match self.backend(config, region, secrets, make).await? {
            Backend::Sqs(service) => Ok(service),
            Backend::RabbitMq(_) => Err(format!(
                "{} was changed to RabbitMQ a moment ago",
                config.display()
            )),
        }
    }
}

impl ResolvedConfig {
    /// One value of a Secret.
    fn value(
        &self,
        data: &SecretData,
        secret: &SecretSelector,
        key: &str,
    ) -> Result<Vec<u8>, ConnectError> {
        let value = data.get(key).filter(|value| !value.0.is_empty());
        value.map(|value| value.0.clone()).ok_or_else(|| {
            format!(
                "Secret {:?}, which {} names, has no key {key:?}",
                secret.name,
                self.display()
            )
        })
    }
}

/// A value of a Secret as text, without a line break at its end, which editors add.
fn value_text(value: Option<&Vec<u8>>) -> String {
    let text = value.map(|value| String::from_utf8_lossy(value).into_owned());
    text.unwrap_or_default()
        .trim_end_matches(['\r', '\n'])
        .to_owned()
}
