//! Labels and annotations.

use actor::diagnostic::Code;
use serde_json::{Map, Value};

use super::super::values::Format;
use super::super::walk::Walk;

/// Most bytes of all annotations of an object.
const ANNOTATIONS_MAX: usize = 256 << 10;

/// Keys and values of labels, or of a selector by labels.
pub(super) fn labels(walk: &mut Walk, map: &Map<String, Value>) {
    for (key, value) in map {
        if let Some(problem) = Format::QualifiedName.problem(key) {
            walk.report(
                &[key.as_str().into()],
                Code::InvalidLabel,
                format!("{key:?} {problem}"),
            );
        }
        if let Some((text, problem)) = value
            .as_str()
            .and_then(|text| Some((text, Format::LabelValue.problem(text)?)))
        {
            walk.report(
                &[key.as_str().into()],
                Code::InvalidLabel,
                format!("{text:?} {problem}"),
            );
        }
    }
}

/// Keys of annotations, and the size of all of them.
pub(super) fn annotations(walk: &mut Walk, map: &Map<String, Value>) {
    let mut size = 0;
    for (key, value) in map {
        size += key.len() + value.as_str().map_or(0, str::len);
        if let Some(problem) = Format::QualifiedName.problem(&key.to_lowercase()) {
            walk.report(
                &[key.as_str().into()],
                Code::InvalidLabel,
                format!("{key:?} {problem}"),
            );
        }
    }
    if size > ANNOTATIONS_MAX {
        let text = format!("all annotations have {size} bytes, more than {ANNOTATIONS_MAX}");
        walk.report(&[], Code::InvalidLabel, text);
    }
}
