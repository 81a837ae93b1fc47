//! Values as objects of a bucket, of S3 or of a compatible service with conditional writes.

mod attributes;
mod errors;
mod upload;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::{
    BehaviorVersion, Builder, Region, RequestChecksumCalculation, ResponseChecksumValidation,
};
use aws_sdk_s3::error::ProvideErrorMetadata as _;
use aws_sdk_s3::primitives::{ByteStream, DateTime};
use futures::{StreamExt as _, stream};

use super::config::S3Config;
use super::{Body, Condition, Entry, Key, Listing, Prefix, Stat, StateError, Store};

/// Timeouts of a connection, of one attempt of a request and of all of them. Less together than the
/// minute that the runtime waits for an answer.
const CONNECT: Duration = Duration::from_secs(5);
const ATTEMPT: Duration = Duration::from_secs(20);
const OPERATION: Duration = Duration::from_secs(50);

/// A store in a bucket.
#[derive(Debug)]
pub struct S3Store {
    client: Client,
    bucket: String,
    /// Empty, or with `/` at its end.
    prefix: String,
    /// True if the bucket was reached once.
    is_reached: AtomicBool,
}

impl S3Store {
    /// A client with the credentials that AWS's own programs would find. Nothing is sent yet.
    pub async fn new(config: &S3Config) -> Self {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(CONNECT)
            .operation_attempt_timeout(ATTEMPT)
            .operation_timeout(OPERATION)
            .build();
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .region(Region::new(config.region.clone()))
            .timeout_config(timeouts);
        if let Some(endpoint) = &config.endpoint {
            loader = loader.endpoint_url(endpoint);
        }
        let shared = loader.load().await;
        let of_client = Builder::from(&shared)
            .force_path_style(config.path_style)
            // Checksums beyond the signature's are what compatible services know least of.
            .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
            .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
            .build();
        Self {
            client: Client::from_conf(of_client),
            bucket: config.bucket.clone(),
            prefix: match config.prefix.as_str() {
                "" => String::new(),
                prefix => format!("{prefix}/"),
            },
            is_reached: AtomicBool::new(false),
        }
    }

    /// The key of an object.
    fn object(&self, key: &Key) -> String {
        format!("{}{key}", self.prefix)
    }

    async fn head(&self, key: &Key) -> Result<Option<Entry>, StateError> {
        let request = self.client.head_object().bucket(&self.bucket);
        match request.key(self.object(key)).send().await {
            Ok(found) => Ok(Some(entry(
                found.content_length,
                found.e_tag,
                found.last_modified,
            ))),
            // Without a body, and so without the reason: a missing bucket looks the same.
            Err(error) if errors::status(&error) == Some(404) => Ok(None),
            Err(error) => Err(errors::of(&error, key.as_str())),
        }
    }

    /// The error of a key for which `HeadObject` answers 404: a missing bucket is not a missing value.
    async fn missing(&self, key: &Key) -> StateError {
        let below = format!("{}/", self.object(key));
        match self.has_below(&below).await {
            Ok(_) => StateError::NotFound(key.to_string()),
            Err(error) => error,
        }
    }

    /// Returns whether there are objects whose keys begin with this.
    async fn has_below(&self, prefix: &str) -> Result<bool, StateError> {
        let request = self.client.list_objects_v2().bucket(&self.bucket);
        let found = request.prefix(prefix).max_keys(1).send().await;
        let found = found.map_err(|error| errors::of(&error, prefix))?;
        Ok(!found.contents().is_empty())
    }
}

#[async_trait]
impl Store for S3Store {
    async fn check(&self) -> Result<(), StateError> {
        if self.is_reached.load(Ordering::Relaxed) {
            return Ok(());
        }
        let found = self.client.head_bucket().bucket(&self.bucket).send().await;
        match found {
            Ok(_) => {}
            // Access to objects does not require the right to call HeadBucket.
            Err(error) if errors::status(&error) == Some(403) => {}
            Err(error) if errors::status(&error) == Some(404) => {
                let text = format!("bucket {:?} does not exist", self.bucket);
                return Err(StateError::Unavailable(text));
            }
            Err(error) => return Err(errors::of(&error, &self.bucket)),
        }
        self.is_reached.store(true, Ordering::Relaxed);
        Ok(())
    }

    async fn stat(&self, key: &Key) -> Result<Stat, StateError> {
        if let Some(found) = self.head(key).await? {
            return Ok(Stat::File(found));
        }
        if self.has_below(&format!("{}/", self.object(key))).await? {
            return Ok(Stat::Directory);
        }
        Err(StateError::NotFound(key.to_string()))
    }

    async fn read(&self, key: &Key) -> Result<(Entry, Body), StateError> {
        let request = self.client.get_object().bucket(&self.bucket);
        let found = request.key(self.object(key)).send().await;
        let found = found.map_err(|error| match error.code() {
            Some("NoSuchKey") => StateError::NotFound(key.to_string()),
            _ => errors::of(&error, key.as_str()),
        })?;
        let entry = entry(found.content_length, found.e_tag, found.last_modified);
        let key = key.to_string();
        let pieces = stream::try_unfold((found.body, key), |(mut body, key)| async {
            match body.next().await {
                None => Ok(None),
                Some(Ok(piece)) => Ok(Some((piece, (body, key)))),
                Some(Err(error)) => Err(StateError::Failed(format!("{key:?}: {error}"))),
            }
        });
        Ok((entry, pieces.boxed()))
    }

    async fn write(
        &self,
        key: &Key,
        body: &mut Body,
        size: Option<u64>,
        condition: &Condition,
    ) -> Result<(), StateError> {
        upload::write(self, key, body, size, condition).await
    }

    async fn delete(&self, key: &Key) -> Result<(), StateError> {
        // S3 deletes what does not exist without an error.
        if self.head(key).await?.is_none() {
            return Err(self.missing(key).await);
        }
        let request = self.client.delete_object().bucket(&self.bucket);
        let deleted = request.key(self.object(key)).send().await;
        deleted.map_err(|error| errors::of(&error, key.as_str()))?;
        Ok(())
    }

    async fn list(&self, prefix: &Prefix, descend: bool) -> Result<Listing, StateError> {
        let request = self.client.list_objects_v2().bucket(&self.bucket);
        let mut pages = request
            .prefix(format!("{}{}", self.prefix, prefix.as_str()))
            .set_delimiter((!descend).then(|| "/".to_owned()))
            .into_paginator()
            .send();
        let mut listing = Listing::default();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| errors::of(&error, prefix.as_str()))?;
            let keys = page.contents().iter().filter_map(|object| object.key());
            // Consoles make empty objects with `/` at their end to show a directory.
            let keys = keys.filter(|key| !key.ends_with('/'));
            listing.keys.extend(keys.filter_map(|key| self.below(key)));
            let prefixes = page.common_prefixes().iter();
            let prefixes = prefixes.filter_map(|found| found.prefix());
            listing
                .prefixes
                .extend(prefixes.filter_map(|key| self.below(key)));
        }
        Ok(listing)
    }

    async fn attributes(&self, key: &Key) -> Result<BTreeMap<String, Option<String>>, StateError> {
        attributes::all(self, key).await
    }

    async fn attribute(&self, key: &Key, name: &str) -> Result<String, StateError> {
        attributes::one(self, key, name).await
    }

    async fn set_attribute(&self, key: &Key, name: &str, value: &str) -> Result<(), StateError> {
        attributes::set(self, key, name, value).await
    }
}

impl S3Store {
    /// The key of an object without the prefix of the store.
    fn below(&self, object: &str) -> Option<String> {
        object.strip_prefix(&self.prefix).map(str::to_owned)
    }
}

fn entry(size: Option<i64>, etag: Option<String>, modified: Option<DateTime>) -> Entry {
    Entry {
        size: size.and_then(|size| u64::try_from(size).ok()).unwrap_or(0),
        etag: etag.unwrap_or_default(),
        modified: modified.and_then(|time| SystemTime::try_from(time).ok()),
    }
}

fn stream_of(bytes: bytes::Bytes) -> ByteStream {
    ByteStream::from(bytes)
}
