//! Connectors of state proxies: values by key, in a directory or in a bucket, behind a Unix socket.
//!
//! The runtime makes files of the values below a mount. [`serve()`] speaks the protocol of
//! `runtime/README.md`; a [`Store`] holds the values: [`FileStore`] in a directory such as a
//! PersistentVolumeClaim, and, with feature `s3`, `S3Store` in a bucket of S3 or of a compatible service.
//! Both write atomically, and compare and write as one step on behalf of all pods that use them.

pub mod config;
mod error;
mod file;
mod key;
#[cfg(feature = "s3")]
mod s3;
mod serve;

use std::collections::BTreeMap;
use std::time::SystemTime;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;

pub use error::StateError;
pub use file::FileStore;
pub use key::{Key, Prefix};
#[cfg(feature = "s3")]
pub use s3::S3Store;
pub use serve::{Socket, serve};

/// The bytes of a value, piece by piece. After an error nothing follows.
pub type Body = BoxStream<'static, Result<Bytes, StateError>>;

/// Metadata of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Size in bytes.
    pub size: u64,
    /// Entity tag with its quotes. It changes with each write.
    pub etag: String,
    /// Time of the last write.
    pub modified: Option<SystemTime>,
}

/// Kind of entry at a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stat {
    /// A value.
    File(Entry),
    /// No value, but values below it.
    Directory,
}

/// Condition of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// Always.
    None,
    /// Only where there is no value. `If-None-Match: *`.
    Absent,
    /// Only where the value has this entity tag. `If-Match`.
    Matches(String),
}

/// The keys below a prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Keys of values, ascending.
    pub keys: Vec<String>,
    /// Keys of directories with `/` at their end, ascending. Empty where directories are descended.
    pub prefixes: Vec<String>,
}

/// Values by key.
#[async_trait]
pub trait Store: Send + Sync {
    /// Checks that values can be read and written, for the health check.
    async fn check(&self) -> Result<(), StateError>;

    /// Returns the kind of entry at a key.
    async fn stat(&self, key: &Key) -> Result<Stat, StateError>;

    /// A value.
    async fn read(&self, key: &Key) -> Result<(Entry, Body), StateError>;

    /// Stores a value of `size` bytes, where that is known. All of it or, on an error, nothing: neither
    /// readers nor a crash see a part of it.
    async fn write(
        &self,
        key: &Key,
        body: &mut Body,
        size: Option<u64>,
        condition: &Condition,
    ) -> Result<(), StateError>;

    /// Deletes a value.
    async fn delete(&self, key: &Key) -> Result<(), StateError>;

    /// The keys that begin with a prefix; with `descend` those below further directories too.
    async fn list(&self, prefix: &Prefix, descend: bool) -> Result<Listing, StateError>;

    /// Attributes of a value that handlers may read, with their values; `None` for those that are
    /// computed on demand by [`Store::attribute`].
    async fn attributes(&self, key: &Key) -> Result<BTreeMap<String, Option<String>>, StateError>;

    /// An attribute of a value.
    async fn attribute(&self, key: &Key, name: &str) -> Result<String, StateError> {
        match self.attributes(key).await?.remove(name) {
            Some(Some(value)) => Ok(value),
            Some(None) | None => Err(StateError::UnknownAttribute(name.to_owned())),
        }
    }

    /// Sets an attribute of a value. It lasts until the value is written again.
    async fn set_attribute(&self, key: &Key, name: &str, value: &str) -> Result<(), StateError>;
}
