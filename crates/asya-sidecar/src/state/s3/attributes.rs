//! Attributes of a value: what S3 knows of the object, its addresses, and metadata that handlers set.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_s3::operation::head_object::HeadObjectOutput;
use aws_sdk_s3::presigning::PresigningConfig;
use aws_sdk_s3::types::MetadataDirective;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::upload::WRITE_ID;
use super::{S3Store, errors};
use crate::state::{Key, StateError};

/// Validity of a presigned URL.
const PRESIGNED_FOR: Duration = Duration::from_hours(1);

/// Attributes that S3 or the connector computes.
const COMPUTED: [&str; 6] = [
    "etag",
    "presigned_url",
    "size",
    "storage_class",
    "url",
    "version",
];

/// The one attribute of the object itself that handlers may set.
const CONTENT_TYPE: &str = "content_type";

/// Characters that are not percent-encoded in the name of a copy's source.
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// All attributes of a value. A presigned URL is made when it is asked for.
pub(super) async fn all(
    store: &S3Store,
    key: &Key,
) -> Result<BTreeMap<String, Option<String>>, StateError> {
    let found = head(store, key).await?;
    let mut attributes: BTreeMap<String, Option<String>> = [
        (
            "etag",
            found.e_tag().map(|etag| etag.trim_matches('"').to_owned()),
        ),
        ("size", found.content_length().map(|size| size.to_string())),
        (CONTENT_TYPE, found.content_type().map(str::to_owned)),
        (
            "storage_class",
            found.storage_class().map(|class| class.as_str().to_owned()),
        ),
        ("version", found.version_id().map(str::to_owned)),
        ("url", Some(url(store, key))),
    ]
    .into_iter()
    .filter(|(_, value)| value.is_some())
    .map(|(name, value)| (name.to_owned(), value))
    .collect();
    attributes.insert("presigned_url".to_owned(), None);
    let metadata = found.metadata.into_iter().flatten();
    let metadata = metadata.filter(|(name, _)| name != WRITE_ID);
    attributes.extend(metadata.map(|(name, value)| (name, Some(value))));
    Ok(attributes)
}

/// One attribute of a value.
pub(super) async fn one(store: &S3Store, key: &Key, name: &str) -> Result<String, StateError> {
    match name {
        // Neither asks S3.
        "url" => Ok(url(store, key)),
        "presigned_url" => presigned(store, key).await,
        _ => {
            let value = all(store, key).await?.remove(name).flatten();
            value.ok_or_else(|| StateError::UnknownAttribute(name.to_owned()))
        }
    }
}

/// Sets an attribute of a value, by a copy of the object onto itself that replaces its metadata.
pub(super) async fn set(
    store: &S3Store,
    key: &Key,
    name: &str,
    value: &str,
) -> Result<(), StateError> {
    if COMPUTED.contains(&name) {
        return Err(StateError::Denied(format!(
            "attribute {name:?} is read-only"
        )));
    }
    let is_name =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    if !name.bytes().all(is_name) || name == WRITE_ID {
        let text = "a name of lower-case letters, digits, '-' and '_'";
        return Err(StateError::InvalidRequest(format!(
            "attribute {name:?}: expected {text}"
        )));
    }
    if !value.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        let text =
            format!("value of attribute {name:?}: S3 takes ASCII without control characters");
        return Err(StateError::InvalidRequest(text));
    }
    let found = head(store, key).await?;
    let mut content_type = found.content_type;
    let mut metadata = found.metadata.unwrap_or_default();
    if name == CONTENT_TYPE {
        content_type = Some(value.to_owned());
    } else {
        metadata.insert(name.to_owned(), value.to_owned());
    }
    let object = store.object(key);
    let source = format!("{}/{}", store.bucket, utf8_percent_encode(&object, PATH));
    let copied = store
        .client
        .copy_object()
        .bucket(&store.bucket)
        .key(object)
        .copy_source(source)
        .set_copy_source_if_match(found.e_tag)
        .metadata_directive(MetadataDirective::Replace)
        .set_metadata(Some(metadata))
        .set_content_type(content_type)
        .set_cache_control(found.cache_control)
        .set_content_disposition(found.content_disposition)
        .set_content_encoding(found.content_encoding)
        .set_content_language(found.content_language)
        .send()
        .await;
    copied.map_err(|error| errors::of(&error, key.as_str()))?;
    Ok(())
}

async fn head(store: &S3Store, key: &Key) -> Result<HeadObjectOutput, StateError> {
    let request = store.client.head_object().bucket(&store.bucket);
    match request.key(store.object(key)).send().await {
        Ok(found) => Ok(found),
        Err(error) if errors::status(&error) == Some(404) => Err(store.missing(key).await),
        Err(error) => Err(errors::of(&error, key.as_str())),
    }
}

fn url(store: &S3Store, key: &Key) -> String {
    format!("s3://{}/{}", store.bucket, store.object(key))
}

async fn presigned(store: &S3Store, key: &Key) -> Result<String, StateError> {
    let failed = |error: &dyn std::error::Error| {
        StateError::Unavailable(format!("{:?}: cannot presign: {error}", key.as_str()))
    };
    let until = PresigningConfig::expires_in(PRESIGNED_FOR).map_err(|error| failed(&error))?;
    let request = store.client.get_object().bucket(&store.bucket);
    let request = request.key(store.object(key)).presigned(until).await;
    let request = request.map_err(|error| errors::of(&error, key.as_str()))?;
    Ok(request.uri().to_owned())
}
