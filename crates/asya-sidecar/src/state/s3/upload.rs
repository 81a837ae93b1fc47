//! Writing a value: at once where it is small, else in parts, so that memory is bounded and nothing goes
//! to disk. Other clients see the whole value or the earlier one.

use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::types::{CompletedMultipartUpload, CompletedPart};
use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;

use super::{S3Store, errors, stream_of};
use crate::ids;
use crate::state::{Body, Condition, Key, StateError};

/// Size of a part, and of the largest value that is written at once. S3 wants 5 MiB at least.
const PART_BYTES: usize = 8 << 20;

/// Most parts that S3 accepts.
const MAX_PARTS: u64 = 10_000;

/// Metadata key of the request that wrote an object; not an attribute of handlers.
pub(super) const WRITE_ID: &str = "asya-write";

/// Stores a value.
pub(super) async fn write(
    store: &S3Store,
    key: &Key,
    body: &mut Body,
    size: Option<u64>,
    condition: &Condition,
) -> Result<(), StateError> {
    let part_bytes = part_bytes(size);
    let mut rest = BytesMut::new();
    let first = part(body, &mut rest, part_bytes).await?;
    let id = ids::random();
    let written = if first.len() < part_bytes {
        at_once(store, key, first, condition, &id).await
    } else {
        in_parts(store, key, first, body, rest, part_bytes, condition, &id).await
    };
    match written {
        // The client repeats requests whose answers were lost: the first of them may have been ours.
        Err(StateError::Changed(_) | StateError::Exists(_))
            if written_by(store, key).await?.as_ref() == Some(&id) =>
        {
            Ok(())
        }
        Err(StateError::Changed(_)) if *condition == Condition::Absent => {
            let text = format!("value {:?} exists", key.as_str());
            Err(StateError::Exists(text))
        }
        written => written,
    }
}

/// The request that wrote the object.
async fn written_by(store: &S3Store, key: &Key) -> Result<Option<String>, StateError> {
    let request = store.client.head_object().bucket(&store.bucket);
    match request.key(store.object(key)).send().await {
        Ok(found) => Ok(found
            .metadata
            .and_then(|mut metadata| metadata.remove(WRITE_ID))),
        Err(error) if errors::status(&error) == Some(404) => Ok(None),
        Err(error) => Err(errors::of(&error, key.as_str())),
    }
}

async fn at_once(
    store: &S3Store,
    key: &Key,
    value: Bytes,
    condition: &Condition,
    id: &str,
) -> Result<(), StateError> {
    let (absent, matches) = headers(condition);
    let request = store.client.put_object().bucket(&store.bucket);
    let written = request
        .key(store.object(key))
        .metadata(WRITE_ID, id)
        .set_if_none_match(absent)
        .set_if_match(matches)
        .body(stream_of(value))
        .send()
        .await;
    written.map_err(|error| of_condition(&error, key, condition))?;
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "the state of one loop")]
async fn in_parts(
    store: &S3Store,
    key: &Key,
    first: Bytes,
    body: &mut Body,
    rest: BytesMut,
    part_bytes: usize,
    condition: &Condition,
    id: &str,
) -> Result<(), StateError> {
    let request = store.client.create_multipart_upload().bucket(&store.bucket);
    let begun = request
        .key(store.object(key))
        .metadata(WRITE_ID, id)
        .send()
        .await;
    let begun = begun.map_err(|error| errors::of(&error, key.as_str()))?;
    let upload = begun.upload_id.unwrap_or_default();
    let parts = send_parts(store, key, &upload, first, body, rest, part_bytes).await;
    let done = match parts {
        Ok(parts) => complete(store, key, &upload, parts, condition).await,
        Err(error) => Err(error),
    };
    if done.is_err() {
        let request = store.client.abort_multipart_upload().bucket(&store.bucket);
        let aborted = request
            .key(store.object(key))
            .upload_id(&upload)
            .send()
            .await;
        if let Err(error) = aborted {
            // The rule of a bucket's life cycle for incomplete uploads removes them, too.
            tracing::debug!(%key, upload, %error, "upload not aborted");
        }
    }
    done
}

async fn send_parts(
    store: &S3Store,
    key: &Key,
    upload: &str,
    first: Bytes,
    body: &mut Body,
    mut rest: BytesMut,
    part_bytes: usize,
) -> Result<Vec<CompletedPart>, StateError> {
    let mut parts = Vec::new();
    let mut next = first;
    let mut number = 1;
    loop {
        let is_last = next.len() < part_bytes;
        if !next.is_empty() || number == 1 {
            let request = store.client.upload_part().bucket(&store.bucket);
            let sent = request
                .key(store.object(key))
                .upload_id(upload)
                .part_number(number)
                .body(stream_of(next))
                .send()
                .await;
            let sent = sent.map_err(|error| errors::of(&error, key.as_str()))?;
            let part = CompletedPart::builder().set_e_tag(sent.e_tag);
            parts.push(part.part_number(number).build());
            number += 1;
        }
        if is_last {
            return Ok(parts);
        }
        if u64::try_from(number).unwrap_or(u64::MAX) > MAX_PARTS {
            let text = format!("{:?} has more than {MAX_PARTS} parts", key.as_str());
            return Err(StateError::TooLarge(text));
        }
        next = part(body, &mut rest, part_bytes).await?;
    }
}

async fn complete(
    store: &S3Store,
    key: &Key,
    upload: &str,
    parts: Vec<CompletedPart>,
    condition: &Condition,
) -> Result<(), StateError> {
    // Some compatible services ignore the header here: a value that has changed before is noticed at
    // least.
    if let Condition::Matches(etag) = condition
        && store
            .head(key)
            .await?
            .is_none_or(|found| found.etag != *etag)
    {
        return Err(StateError::Changed(key.to_string()));
    }
    let (absent, matches) = headers(condition);
    let parts = CompletedMultipartUpload::builder().set_parts(Some(parts));
    let request = store.client.complete_multipart_upload();
    let completed = request
        .bucket(&store.bucket)
        .key(store.object(key))
        .upload_id(upload)
        .multipart_upload(parts.build())
        .set_if_none_match(absent)
        .set_if_match(matches)
        .send()
        .await;
    completed.map_err(|error| of_condition(&error, key, condition))?;
    Ok(())
}

fn headers(condition: &Condition) -> (Option<String>, Option<String>) {
    match condition {
        Condition::None => (None, None),
        Condition::Absent => (Some("*".to_owned()), None),
        Condition::Matches(etag) => (None, Some(etag.clone())),
    }
}

/// Returns the error of a conditional write. A deleted value counts as changed.
fn of_condition<E>(
    error: &SdkError<E, HttpResponse>,
    key: &Key,
    condition: &Condition,
) -> StateError
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    match errors::of(error, key.as_str()) {
        StateError::NotFound(key) if matches!(condition, Condition::Matches(_)) => {
            StateError::Changed(key)
        }
        error => error,
    }
}

/// Size of the parts of a value: larger ones only where there would be too many.
fn part_bytes(size: Option<u64>) -> usize {
    let least = size.unwrap_or(0).div_ceil(MAX_PARTS);
    usize::try_from(least).unwrap_or(usize::MAX).max(PART_BYTES)
}

/// The next part: `bytes` of them, and less only at the end.
async fn part(body: &mut Body, rest: &mut BytesMut, bytes: usize) -> Result<Bytes, StateError> {
    while rest.len() < bytes {
        match body.next().await {
            Some(piece) => rest.extend_from_slice(&piece?),
            None => break,
        }
    }
    let length = rest.len().min(bytes);
    Ok(rest.split_to(length).freeze())
}
