//! Values as files of a directory, such as a PersistentVolumeClaim that several pods mount.
//!
//! A value is written into a temporary file, which then takes the place of the old one by a rename.
//! Comparing and renaming happen under a lock file, so that conditions also hold between pods where the
//! file system has locks (all local ones and NFS have).

mod attributes;
mod commit;
mod errors;
mod list;

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::BytesMut;
use futures::{StreamExt as _, stream};
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::spawn_blocking;

use super::{Body, Condition, Entry, Key, Listing, Prefix, Stat, StateError, Store};
use commit::Locks;

/// Directory in the store for temporary files and locks. No key begins with it.
const PRIVATE: &str = ".asya-state";

/// Files that a killed connector left behind are deleted after this time.
const ABANDONED_AFTER: Duration = Duration::from_hours(24);

/// Size of one read.
const PIECE_BYTES: usize = 256 << 10;

/// A store in a directory.
#[derive(Debug, Clone)]
pub struct FileStore {
    inner: Arc<Directory>,
}

#[derive(Debug)]
struct Directory {
    root: PathBuf,
    temporary: PathBuf,
    locks: Locks,
}

impl FileStore {
    /// Opens a directory, which must exist.
    ///
    /// # Errors
    /// If it is not a directory or cannot be written to, with its path.
    pub fn open(directory: &Path) -> io::Result<Self> {
        let failed = |error: io::Error| {
            io::Error::new(error.kind(), format!("{}: {error}", directory.display()))
        };
        let root = directory.canonicalize().map_err(failed)?;
        let temporary = root.join(PRIVATE).join("tmp");
        let locks = root.join(PRIVATE).join("locks");
        for folder in [&temporary, &locks] {
            fs::create_dir_all(folder).map_err(failed)?;
            // Pods with other users share the directory; one that owns it has set this already.
            drop(fs::set_permissions(
                folder,
                fs::Permissions::from_mode(0o777),
            ));
        }
        delete_abandoned(&temporary);
        // A directory that can only be read would fail at the first write.
        drop(tempfile::tempfile_in(&temporary).map_err(failed)?);
        let inner = Directory {
            root,
            temporary,
            locks: Locks::new(locks),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Runs what blocks in a thread for it.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Directory) -> Result<T, StateError> + Send + 'static,
    ) -> Result<T, StateError> {
        let inner = Arc::clone(&self.inner);
        let done = spawn_blocking(move || work(&inner)).await;
        done.unwrap_or_else(|error| Err(StateError::Failed(error.to_string())))
    }
}

#[async_trait]
impl Store for FileStore {
    async fn check(&self) -> Result<(), StateError> {
        self.run(|directory| {
            let found = fs::metadata(&directory.temporary);
            found.map(drop).map_err(|error| {
                let root = directory.root.display();
                StateError::Unavailable(format!("directory {root}: {error}"))
            })
        })
        .await
    }

    async fn stat(&self, key: &Key) -> Result<Stat, StateError> {
        let key = key.clone();
        self.run(move |directory| {
            let found = directory.metadata(&key)?;
            Ok(if found.is_dir() {
                Stat::Directory
            } else {
                Stat::File(entry(&found))
            })
        })
        .await
    }

    async fn read(&self, key: &Key) -> Result<(Entry, Body), StateError> {
        let wanted = key.clone();
        let (entry, file) = self
            .run(move |directory| {
                let path = directory.existing(&wanted)?;
                let file = fs::File::open(path).map_err(|error| errors::of(&error, &wanted))?;
                let found = file
                    .metadata()
                    .map_err(|error| errors::of(&error, &wanted))?;
                if found.is_dir() {
                    return Err(StateError::NotFound(wanted.to_string()));
                }
                Ok((entry(&found), file))
            })
            .await?;
        // Exactly as much as was announced, whatever somebody else does to the file meanwhile.
        let file = File::from_std(file).take(entry.size);
        let pieces = stream::try_unfold((file, key.clone()), |(mut file, key)| async {
            let mut piece = BytesMut::with_capacity(PIECE_BYTES);
            let read = file.read_buf(&mut piece).await;
            match read {
                Ok(0) => Ok(None),
                Ok(_) => Ok(Some((piece.freeze(), (file, key)))),
                Err(error) => Err(errors::of(&error, &key)),
            }
        });
        Ok((entry, pieces.boxed()))
    }

    async fn write(
        &self,
        key: &Key,
        body: &mut Body,
        _size: Option<u64>,
        condition: &Condition,
    ) -> Result<(), StateError> {
        let wanted = key.clone();
        let (file, path) = self
            .run(move |directory| directory.new_file(&wanted))
            .await?
            .into_parts();
        let mut file = File::from_std(file);
        // Until it is renamed, `path` deletes the file when it goes out of scope.
        while let Some(piece) = body.next().await {
            let written = file.write_all(&piece?).await;
            written.map_err(|error| errors::of(&error, key))?;
        }
        let stored = async {
            file.flush().await?;
            file.sync_data().await
        };
        stored.await.map_err(|error| errors::of(&error, key))?;
        let file = file.into_std().await;
        let (key, condition) = (key.clone(), condition.clone());
        self.run(move |directory| directory.commit(&key, &file, path, &condition))
            .await
    }

    async fn delete(&self, key: &Key) -> Result<(), StateError> {
        let key = key.clone();
        self.run(move |directory| directory.delete(&key)).await
    }

    async fn list(&self, prefix: &Prefix, descend: bool) -> Result<Listing, StateError> {
        let prefix = prefix.clone();
        self.run(move |directory| list::list(directory, &prefix, descend))
            .await
    }

    async fn attributes(&self, key: &Key) -> Result<BTreeMap<String, Option<String>>, StateError> {
        let key = key.clone();
        self.run(move |directory| attributes::all(directory, &key))
            .await
    }

    async fn set_attribute(&self, key: &Key, name: &str, value: &str) -> Result<(), StateError> {
        let (key, name, value) = (key.clone(), name.to_owned(), value.to_owned());
        self.run(move |directory| attributes::set(directory, &key, &name, &value))
            .await
    }
}

impl Directory {
    /// Returns the path of a value, whether it exists or not.
    fn path(&self, key: &Key) -> Result<PathBuf, StateError> {
        if key.as_str().split('/').next() == Some(PRIVATE) {
            return Err(StateError::InvalidKey {
                key: key.to_string(),
                reason: "begins with the connector's own directory",
            });
        }
        Ok(self.root.join(key.as_str()))
    }

    /// The path of a value or directory that exists. A symbolic link that leaves the store leads nowhere.
    fn existing(&self, key: &Key) -> Result<PathBuf, StateError> {
        let path = self.path(key)?.canonicalize();
        let path = path.map_err(|error| errors::of(&error, key))?;
        if path.starts_with(&self.root) {
            Ok(path)
        } else {
            Err(outside(key))
        }
    }

    fn metadata(&self, key: &Key) -> Result<Metadata, StateError> {
        let found = fs::metadata(self.existing(key)?);
        found.map_err(|error| errors::of(&error, key))
    }

    fn new_file(&self, key: &Key) -> Result<tempfile::NamedTempFile, StateError> {
        self.path(key)?;
        let file = tempfile::Builder::new()
            // What the umask leaves of it: pods with other users share the directory.
            .permissions(fs::Permissions::from_mode(0o666))
            .tempfile_in(&self.temporary);
        file.map_err(|error| errors::of(&error, key))
    }
}

fn outside(key: &Key) -> StateError {
    StateError::Denied(format!("{:?} is a link out of the store", key.as_str()))
}

/// Returns the metadata of a file. Each write makes a new file with a later time, so that the tag of an
/// earlier one is never reused.
fn entry(found: &Metadata) -> Entry {
    let (seconds, nanoseconds) = (found.mtime(), found.mtime_nsec());
    Entry {
        size: found.len(),
        etag: format!(
            "\"{seconds:x}.{nanoseconds:x}-{:x}-{:x}\"",
            found.len(),
            found.ino()
        ),
        modified: found.modified().ok(),
    }
}

/// Deletes what connectors have left that were killed while they wrote. Those of other pods may be at work.
fn delete_abandoned(temporary: &Path) {
    let now = SystemTime::now();
    for found in fs::read_dir(temporary).into_iter().flatten().flatten() {
        let modified = found.metadata().and_then(|found| found.modified());
        let age = modified.ok().and_then(|then| now.duration_since(then).ok());
        if age.is_some_and(|age| age > ABANDONED_AFTER) {
            // The next start tries again.
            drop(fs::remove_file(found.path()));
        }
    }
}
