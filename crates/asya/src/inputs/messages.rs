//! Routes in files with messages.

use std::path::Path;

use serde_json::Value;

use super::InputError;
use super::files::read;
use crate::graph::route_of;

/// The routes of the messages in a file: JSON documents one after the other, or lists of them.
///
/// # Errors
/// When the file cannot be read, is not JSON, or has no message with a route.
pub fn routes(file: &Path) -> Result<Vec<Vec<String>>, InputError> {
    let text = read(file)?;
    let mut routes = Vec::new();
    for document in serde_json::Deserializer::from_str(&text).into_iter::<Value>() {
        let document = document.map_err(|source| InputError::Json {
            path: file.to_owned(),
            source,
        })?;
        match &document {
            Value::Array(messages) => routes.extend(messages.iter().filter_map(route_of)),
            message => routes.extend(route_of(message)),
        }
    }
    if routes.is_empty() {
        return Err(InputError::NoRoute {
            path: file.to_owned(),
        });
    }
    Ok(routes)
}
