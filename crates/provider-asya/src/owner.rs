//! Owner tags: the tag of a queue that names the object that owns it.

use std::fmt;

/// Owner tag of one object: `<ownerID>/<namespace>/<name>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerTag(String);

/// Longest owner tag in bytes: the limit of SQS on the values of tags.
const MAX: usize = 256;

/// The owner tag is too long.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the owner tag {tag:?} has {length} characters, and a queue can carry at most {MAX}: set a short `ownerID` in the \
     ProviderConfig, or use shorter names"
)]
pub struct TooLong {
    tag: String,
    length: usize,
}

impl OwnerTag {
    /// Owner tag of an object; `owner_id` is the ProviderConfig's.
    ///
    /// # Errors
    /// The tag would have more than 256 bytes.
    pub fn new(owner_id: &str, namespace: &str, name: &str) -> Result<Self, TooLong> {
        let tag = format!("{owner_id}/{namespace}/{name}");
        let length = tag.len();
        if length > MAX {
            return Err(TooLong { tag, length });
        }
        Ok(Self(tag))
    }

    /// The tag as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OwnerTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_names_owner_namespace_and_object() {
        assert_eq!(
            OwnerTag::new("east", "shop", "cart").unwrap().as_str(),
            "east/shop/cart"
        );
        let error = OwnerTag::new(&"o".repeat(200), "ns", &"n".repeat(60)).unwrap_err();
        assert!(error.to_string().contains("has 264 characters"), "{error}");
    }
}
