//! The mark by which a queue is known as one object's own.

use std::fmt;

/// `<ownerID>/<namespace>/<name>`: one object of one owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerMark(String);

/// Longest mark, by the limit of SQS on the values of tags.
const MAX: usize = 256;

/// A mark would be too long to be kept with the queue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the owner's mark {mark:?} has {length} characters, and at most {MAX} can be kept with a queue: \
     set a short `ownerID` in the ProviderConfig, or use shorter names"
)]
pub struct TooLong {
    mark: String,
    length: usize,
}

impl OwnerMark {
    /// The mark of an object on behalf of an owner.
    pub fn new(owner_id: &str, namespace: &str, name: &str) -> Result<Self, TooLong> {
        let mark = format!("{owner_id}/{namespace}/{name}");
        let length = mark.len();
        if length > MAX {
            return Err(TooLong { mark, length });
        }
        Ok(Self(mark))
    }

    /// The mark as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OwnerMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_names_owner_namespace_and_object() {
        assert_eq!(
            OwnerMark::new("east", "shop", "cart").unwrap().as_str(),
            "east/shop/cart"
        );
        let error = OwnerMark::new(&"o".repeat(200), "ns", &"n".repeat(60)).unwrap_err();
        assert!(error.to_string().contains("has 264 characters"), "{error}");
    }
}
