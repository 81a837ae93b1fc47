//! Ids of messages.

use sha2::{Digest as _, Sha256};

/// The id of a later frame, in the form of a UUID (version 8: of our own making). `position` is that of
/// the actor on its route, on which it may be several times.
pub(crate) fn of_child(parent: &str, actor: &str, position: usize, index: usize) -> String {
    let mut hash = Sha256::new();
    // Lengths first: no two of them give the same bytes.
    for part in [parent, actor] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    for number in [position, index] {
        hash.update((number as u64).to_be_bytes());
    }
    let mut id = [0; 16];
    id.copy_from_slice(&hash.finalize()[..16]);
    id[6] = id[6] & 0x0f | 0x80;
    id[8] = id[8] & 0x3f | 0x80;
    uuid(&id)
}

/// Sixteen bytes as UUIDs are written.
fn uuid(bytes: &[u8; 16]) -> String {
    let text = hex(bytes);
    let parts = [
        &text[..8],
        &text[8..12],
        &text[12..16],
        &text[16..20],
        &text[20..],
    ];
    parts.join("-")
}

/// Bytes as lower-case hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// An id that depends only on these bytes, for what came without one.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    let mut id = [0; 16];
    id.copy_from_slice(&Sha256::digest(bytes)[..16]);
    id[6] = id[6] & 0x0f | 0x80;
    id[8] = id[8] & 0x3f | 0x80;
    uuid(&id)
}

/// A random id, in the form of a UUID (version 4).
#[must_use]
pub fn random() -> String {
    let mut bytes = fastrand::u128(..).to_be_bytes();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    uuid(&bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::of_child;

    #[test]
    fn ids_of_frames_differ_by_parent_actor_position_and_index() {
        let of = [
            ("m", "a", 0, 1),
            ("m", "a", 0, 2),
            ("m", "a", 1, 1),
            ("m", "ab", 0, 1),
            ("ma", "b", 0, 1),
        ];
        let ids =
            of.map(|(parent, actor, position, index)| of_child(parent, actor, position, index));
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), of.len());
        assert_eq!(ids[0], of_child("m", "a", 0, 1));
    }
}
