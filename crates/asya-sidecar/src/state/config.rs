//! Configuration of a connector, and how it is read from the environment.

use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use actor::pod::{
    CONNECTOR_SOCKET_VARIABLE as SOCKET, STATE_BUCKET_VARIABLE as BUCKET,
    STATE_DIRECTORY_VARIABLE as DIRECTORY,
};

use super::Prefix;
use crate::config::Problem;

/// Longest path of a Unix socket in bytes. Source: `sun_path` of Linux, less its end.
const MAX_SOCKET_PATH: usize = 107;

/// The region where none is given, as in AWS's own programs for S3.
const DEFAULT_REGION: &str = "us-east-1";

const PREFIX: &str = "STATE_PREFIX";
const PATH_STYLE: &str = "STATE_PATH_STYLE";
const LEVEL: &str = "ASYA_LOG_LEVEL";

/// Kind of store of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    /// In a directory.
    File,
    /// In a bucket of S3 or of a compatible service.
    S3,
}

/// Settings of a connector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateConfig {
    /// The socket on which it serves.
    pub socket: PathBuf,
    /// Store of values.
    pub store: StoreConfig,
    /// Level of the log.
    pub log_level: tracing::Level,
}

/// Store of values, with its connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreConfig {
    /// In this directory.
    File(PathBuf),
    /// In a bucket.
    S3(S3Config),
}

/// Connection to a bucket. Credentials are found as every AWS program finds them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct S3Config {
    /// The bucket.
    pub bucket: String,
    /// Prefix of object keys, before a `/`; may be empty.
    pub prefix: String,
    /// Region of the bucket.
    pub region: String,
    /// URL of the service, where it is not AWS's own.
    pub endpoint: Option<String>,
    /// True if the bucket is in the path of URLs and not in their host.
    pub path_style: bool,
}

impl StateConfig {
    /// Reads the environment by this lookup. Without `kind` it is known by the variable that it needs.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(
        kind: Option<StoreKind>,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Vec<Problem>> {
        let mut reader = Reader {
            lookup,
            problems: Vec::new(),
        };
        let config = reader.config(kind);
        match config {
            Some(config) if reader.problems.is_empty() => Ok(config),
            _ => Err(reader.problems),
        }
    }
}

struct Reader<'a> {
    lookup: &'a dyn Fn(&str) -> Option<String>,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn config(&mut self, kind: Option<StoreKind>) -> Option<StateConfig> {
        let socket = self.socket();
        let log_level = self.log_level();
        let kind = kind.or_else(|| {
            let by_variable = [(BUCKET, StoreKind::S3), (DIRECTORY, StoreKind::File)];
            let mut given = by_variable
                .into_iter()
                .filter(|(name, _)| self.get(name).is_some());
            Some(given.next()?.1)
        });
        let store = match kind {
            Some(StoreKind::File) => StoreConfig::File(self.directory()),
            Some(StoreKind::S3) => StoreConfig::S3(self.s3()),
            None => {
                let allowed = format!("the bucket's name, or {DIRECTORY} for a directory");
                self.refuse(BUCKET, &allowed);
                return None;
            }
        };
        Some(StateConfig {
            socket,
            store,
            log_level,
        })
    }

    fn get(&self, variable: &str) -> Option<String> {
        let value = (self.lookup)(variable)?;
        Some(value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    fn refuse(&mut self, variable: &str, allowed: &str) {
        let value = self
            .get(variable)
            .map_or_else(|| "not set".to_owned(), |text| format!("{text:?}"));
        self.problems.push(Problem {
            variable: variable.to_owned(),
            value,
            allowed: allowed.to_owned(),
        });
    }

    fn socket(&mut self) -> PathBuf {
        let path = self.get(SOCKET).unwrap_or_default();
        if !path.starts_with('/') || path.len() > MAX_SOCKET_PATH {
            self.refuse(SOCKET, "an absolute path of at most 107 bytes");
        }
        path.into()
    }

    fn directory(&mut self) -> PathBuf {
        let path = self.get(DIRECTORY).unwrap_or_default();
        if !path.starts_with('/') || !Path::new(&path).is_dir() {
            self.refuse(DIRECTORY, "the absolute path of a directory that exists");
        }
        path.into()
    }

    fn s3(&mut self) -> S3Config {
        let bucket = self.get(BUCKET).unwrap_or_default();
        // Names and, of access points, ARNs.
        if bucket.is_empty() || bucket.contains(|c: char| c.is_whitespace() || c == '?') {
            self.refuse(BUCKET, "the bucket's name");
        }
        let prefix = self.get(PREFIX).unwrap_or_default();
        if Prefix::new(prefix.trim_matches('/')).is_err() {
            self.refuse(PREFIX, "a path without empty parts, '.' and '..'");
        }
        let endpoint = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]
            .into_iter()
            .find_map(|variable| Some((variable, self.get(variable)?)));
        let endpoint = endpoint.map(|(variable, url)| {
            let is_http = hyper::Uri::from_str(&url).is_ok_and(|url| {
                url.host().is_some() && matches!(url.scheme_str(), Some("http" | "https"))
            });
            if !is_http {
                self.refuse(variable, "a URL such as \"http://minio:9000\"");
            }
            url
        });
        let path_style = match self.get(PATH_STYLE).as_deref() {
            // Few compatible services resolve a host name for each bucket.
            None => endpoint.is_some(),
            Some("true" | "1") => true,
            Some("false" | "0") => false,
            Some(_) => {
                self.refuse(PATH_STYLE, "one of \"true\", \"false\", \"1\", \"0\"");
                false
            }
        };
        let region = ["AWS_REGION", "AWS_DEFAULT_REGION"]
            .into_iter()
            .find_map(|variable| self.get(variable));
        S3Config {
            bucket,
            prefix: prefix.trim_matches('/').to_owned(),
            region: region.unwrap_or_else(|| DEFAULT_REGION.to_owned()),
            endpoint,
            path_style,
        }
    }

    fn log_level(&mut self) -> tracing::Level {
        match self.get(LEVEL).map(|text| text.to_lowercase()).as_deref() {
            Some("error") => tracing::Level::ERROR,
            Some("warn" | "warning") => tracing::Level::WARN,
            None | Some("info") => tracing::Level::INFO,
            Some("debug") => tracing::Level::DEBUG,
            Some(_) => {
                let allowed = "one of \"error\", \"warn\", \"warning\", \"info\", \"debug\"";
                self.refuse(LEVEL, allowed);
                tracing::Level::INFO
            }
        }
    }
}
