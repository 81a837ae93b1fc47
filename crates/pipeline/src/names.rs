//! Names and UIDs that Crossplane would give.

use actor::names::is_subdomain;
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

/// Longest name that Crossplane generates. Source: `internal/names` of
/// Crossplane 2.3.
const GENERATED_MAX: usize = 63;
/// Digits of the digest at the end of a generated name.
const DIGEST_DIGITS: usize = 12;

/// The UID of an XR that does not have one: the same for the same object, as
/// `crossplane composition render` derives it (a version 5 UUID without namespace).
pub(crate) fn stable_uid(api_version: &str, kind: &str, namespace: &str, name: &str) -> String {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let identity = format!("{group}/{version}, Kind={kind}\0{namespace}\0{name}");
    let digest = Sha1::new()
        .chain_update([0; 16]) // the namespace: the nil UUID
        .chain_update(identity)
        .finalize();
    let mut uuid = [0; 16];
    uuid.copy_from_slice(&digest[..16]);
    uuid[6] = uuid[6] & 0x0f | 0x50; // version 5
    uuid[8] = uuid[8] & 0x3f | 0x80; // the variant of RFC 9562
    let hex = hex(&uuid);
    [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ]
    .join("-")
}

/// The name of a composed object that no function named: `prefix`, shortened
/// where it must be, and a digest of the XR's UID and the composed resource's name.
pub(crate) fn generated(prefix: &str, uid: &str, resource: &str) -> String {
    let digest = hex(&Sha256::digest(format!("{uid}{resource}")));
    let mut prefix = prefix.to_owned();
    if !prefix.is_empty() && !prefix.ends_with('-') {
        prefix.push('-');
    }
    let room = GENERATED_MAX - DIGEST_DIGITS;
    if prefix.len() > room {
        prefix.truncate(prefix.floor_char_boundary(room));
        if !prefix.ends_with('-') {
            prefix.truncate(prefix.floor_char_boundary(room - 1));
            prefix.push('-');
        }
    }
    format!("{prefix}{}", &digest[..DIGEST_DIGITS])
}

/// Returns whether Crossplane accepts the name of a composed object. RBAC's own objects
/// may have colons in theirs.
pub(crate) fn is_valid(name: &str, api_version: &str, kind: &str) -> bool {
    let is_rbac = api_version.starts_with("rbac.authorization.k8s.io/")
        && ["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"].contains(&kind);
    if is_rbac {
        is_subdomain(&name.replace(':', ""))
    } else {
        is_subdomain(name)
    }
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 0x0f])
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // The expected values are those that Crossplane 2.3.4 gave.

    #[test]
    fn an_xr_without_a_uid_gets_crossplanes() {
        let cases = [
            (
                "AsyncActor",
                "prod",
                "text-processor",
                "5ebd24a9-7468-5a6e-8b0c-dad017c5f120",
            ),
            (
                "AsyncActor",
                "",
                "nons",
                "eb402b62-d1d8-5102-bfa9-c6e17901f789",
            ),
            (
                "XAsyncActor",
                "",
                "a-x7kq2",
                "3e46906a-1f1f-544c-89a4-3ca4931da354",
            ),
        ];
        for (kind, namespace, name, uid) in cases {
            assert_eq!(
                stable_uid("asya.sh/v1alpha1", kind, namespace, name),
                uid,
                "{name}"
            );
        }
    }

    #[test]
    fn a_nameless_object_gets_crossplanes_name() {
        let uid = "5ebd24a9-7468-5a6e-8b0c-dad017c5f120";
        let long = format!("{}-", "x".repeat(62));
        let cut = format!("{}-", "x".repeat(50));
        let cut_at_dash = format!("{}-{}", "x".repeat(50), "y".repeat(20));
        let cases = [
            (
                "text-processor-",
                "alpha",
                "text-processor-732dc04ecbea",
                "the XR's name",
            ),
            (
                "foo-",
                "beta",
                "foo-8cd44317aede",
                "the function's generateName",
            ),
            ("foo", "beta", "foo-8cd44317aede", "one dash in between"),
            ("", "beta", "8cd44317aede", "no prefix at all"),
            (
                &long,
                "beta",
                &format!("{cut}8cd44317aede"),
                "at most 63 characters",
            ),
            (
                &cut_at_dash,
                "beta",
                &format!("{cut}8cd44317aede"),
                "cut behind a dash",
            ),
        ];
        for (prefix, resource, name, reason) in cases {
            assert_eq!(generated(prefix, uid, resource), name, "{reason}");
        }
    }

    #[test]
    fn names_are_subdomains_and_those_of_rbac_may_have_colons() {
        let rbac = "rbac.authorization.k8s.io/v1";
        let cases = [
            ("app.v1", "v1", "ConfigMap", true),
            ("App", "v1", "ConfigMap", false),
            ("a:b", "v1", "ConfigMap", false),
            ("a:b", rbac, "Role", true),
            ("a:b", rbac, "Other", false),
        ];
        for (name, api_version, kind, valid) in cases {
            assert_eq!(is_valid(name, api_version, kind), valid, "{kind} {name}");
        }
    }
}
