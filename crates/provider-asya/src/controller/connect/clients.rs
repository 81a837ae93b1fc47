//! Clients of brokers and services, one per config, made from its Secrets.

use std::collections::BTreeMap;

use actor::provider_config::{
    CredentialsSource, RabbitMqConnection, SecretSelector, SqsConnection,
};
use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use tokio::time::Instant;

use super::{Backend, Config, Connector, Kept, Reason, text};
use crate::tenancy;
use crate::transport::Fault;
use crate::transport::rabbitmq::Broker;
use crate::transport::rabbitmq::api::{Api as RabbitMqApi, Login};
use crate::transport::sqs::Service;

/// What a Secret holds.
type SecretData = BTreeMap<String, k8s_openapi::ByteString>;

impl Connector {
    /// The client for this config, or a new one where the config or its Secrets changed.
    pub(super) async fn backend(
        &self,
        config: &Config,
        region: &str,
        secrets: Vec<Vec<u8>>,
        make: impl AsyncFnOnce(&[Vec<u8>]) -> Result<Backend, Fault>,
    ) -> Result<Backend, Reason> {
        let key = config.key(region);
        {
            let mut clients = self.lock();
            if let Some(kept) = clients.get_mut(&key)
                && kept.version == config.version
                && kept.secrets == secrets
            {
                // Only Secrets that were read again are fresh again.
                if !self.is_fresh(kept) {
                    kept.read = Some(Instant::now());
                }
                return Ok(kept.backend.clone());
            }
        }
        let backend = make(&secrets).await.map_err(text)?;
        let kept = Kept {
            version: config.version.clone(),
            read: Some(Instant::now()),
            secrets,
            backend: backend.clone(),
        };
        self.lock().insert(key, kept);
        Ok(backend)
    }

    pub(super) async fn rabbitmq_secrets(
        &self,
        config: &Config,
        connection: &RabbitMqConnection,
    ) -> Result<Vec<Vec<u8>>, Reason> {
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
        // One Secret usually has all of them.
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
        config: &Config,
        connection: &SqsConnection,
        region: &str,
    ) -> Result<Vec<Vec<u8>>, Reason> {
        let (CredentialsSource::Secret, Some(secret)) = (
            connection.credentials.source,
            &connection.credentials.secret_ref,
        ) else {
            // The API server refuses such a config; an older one may be stored.
            return if config.cluster.is_some() {
                Ok(Vec::new())
            } else {
                Err(format!(
                    "{} is of a namespace, and only a ClusterProviderConfig may lend the provider's own identity: \
                     set `spec.sqs.credentials.source: Secret` with `secretRef` there",
                    config.shown()
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

    /// What the Secrets held, where that was looked at a moment ago.
    fn fresh_secrets(&self, config: &Config, region: &str) -> Option<Vec<Vec<u8>>> {
        let clients = self.lock();
        let kept = clients.get(&config.key(region))?;
        let is_fresh = kept.version == config.version && self.is_fresh(kept);
        is_fresh.then(|| kept.secrets.clone())
    }

    fn is_fresh(&self, kept: &Kept) -> bool {
        let since = kept.read.map(|at| at.elapsed());
        since.is_some_and(|since| since < self.timings.credentials)
    }

    async fn secret_data(
        &self,
        config: &Config,
        secret: &SecretSelector,
    ) -> Result<SecretData, Reason> {
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
                config.shown()
            )
        })?;
        Ok(found.data.unwrap_or_default())
    }

    pub(super) fn broker(
        &self,
        connection: &RabbitMqConnection,
        secrets: &[Vec<u8>],
    ) -> Result<Backend, Fault> {
        let login = Login {
            endpoint: &connection.endpoint,
            username: &word(secrets.first()),
            password: &word(secrets.get(1)),
            authorities: secrets.get(2).map(Vec::as_slice),
        };
        let api = RabbitMqApi::new(&login, self.timings.external_call)?
            .counted_by(self.metrics.calls_to("rabbitmq"));
        Ok(Backend::RabbitMq(Box::new(Broker::new(
            api,
            self.timings.counting,
        ))))
    }

    pub(super) async fn service(
        &self,
        config: &Config,
        connection: &SqsConnection,
        region: &str,
        secrets: Vec<Vec<u8>>,
    ) -> Result<Service, Reason> {
        let make = async |secrets: &[Vec<u8>]| {
            let mut loader = aws_config::defaults(BehaviorVersion::latest())
                .region(Region::new(region.to_owned()))
                .timeout_config(
                    aws_config::timeout::TimeoutConfig::builder()
                        .operation_timeout(self.timings.external_call)
                        .build(),
                );
            if let [key, secret, token @ ..] = secrets {
                let token = token.first().map(|token| word(Some(token)));
                let credentials =
                    Credentials::new(word(Some(key)), word(Some(secret)), token, None, "Secret");
                loader = loader.credentials_provider(credentials);
            }
            let endpoint = connection.endpoint.as_deref();
            if let Some(endpoint) = endpoint {
                loader = loader.endpoint_url(endpoint);
            }
            let shared = loader.load().await;
            let (sqs, sts) = (
                aws_sdk_sqs::Client::new(&shared),
                aws_sdk_sts::Client::new(&shared),
            );
            let after = self.timings.deleted_recently;
            let service = Service::new(sqs, sts, region, endpoint, after);
            Ok(Backend::Sqs(service.limited_by(&self.sqs_pace)))
        };
        match self.backend(config, region, secrets, make).await? {
            Backend::Sqs(service) => Ok(service),
            Backend::RabbitMq(_) => Err(format!(
                "{} has become one for SQS just now",
                config.shown()
            )),
        }
    }
}

impl Config {
    /// One value of a Secret.
    fn value(
        &self,
        data: &SecretData,
        secret: &SecretSelector,
        key: &str,
    ) -> Result<Vec<u8>, Reason> {
        let value = data.get(key).filter(|value| !value.0.is_empty());
        value.map(|value| value.0.clone()).ok_or_else(|| {
            format!(
                "Secret {:?}, which {} names, has no key {key:?}",
                secret.name,
                self.shown()
            )
        })
    }
}

/// A value of a Secret; the line break that editors leave at its end is not part of it.
fn word(value: Option<&Vec<u8>>) -> String {
    let text = value.map(|value| String::from_utf8_lossy(value).into_owned());
    text.unwrap_or_default()
        .trim_end_matches(['\r', '\n'])
        .to_owned()
}
