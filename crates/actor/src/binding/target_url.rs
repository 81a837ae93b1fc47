//! Check of `runtime.targetURL`, by the rules by which the adapter refuses to start.
//! Source: `runtime/adapters/_settings.py`. Both are tested with `runtime/tests/target_urls.json`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Strategy;

/// Names of the pod itself. `localhost` also has subdomains.
const LOOPBACK_NAMES: [&str; 4] = [
    "ip6-localhost",
    "ip6-loopback",
    "localhost",
    "localhost.localdomain",
];

/// Longest part of a host name between dots.
const LABEL_MAX: usize = 63;

/// Reason for which no adapter can call an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TargetUrlError {
    /// No scheme, or another than HTTP.
    #[error("it must begin with http:// or https://")]
    Scheme,
    /// No host, or a host or port that is malformed.
    #[error("it has no valid host and port, such as in http://phi-3:80")]
    Host,
    /// A user or password, which would be readable for all who can read the actor.
    #[error("it contains credentials: write them in the variable ASYA_TARGET_TOKEN, from a Secret")]
    Credentials,
    /// A query or fragment, after which no path can be added.
    #[error("it must end with its path: no '?' and no '#'")]
    Query,
    /// A space, a control character or another one than ASCII's.
    #[error("it has characters that must be percent-encoded")]
    Characters,
    /// The pod itself, while the target runs in another one.
    #[error(
        "it is an address of the adapter's own pod, and with binding strategy Adapter the target is in another one: name its Service"
    )]
    Loopback,
}

/// Checks the address of a target, for an adapter that runs there.
///
/// # Errors
/// The first rule that it breaks. The message does not repeat the address, which may contain
/// credentials.
pub fn check(url: &str, strategy: Strategy) -> Result<(), TargetUrlError> {
    let (scheme, rest) = url.split_once("://").ok_or(TargetUrlError::Scheme)?;
    let is_http = ["http", "https"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known));
    if !is_http {
        return Err(TargetUrlError::Scheme);
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.contains('@') {
        return Err(TargetUrlError::Credentials);
    }
    if path.contains(['?', '#']) {
        return Err(TargetUrlError::Query);
    }
    if !url.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(TargetUrlError::Characters);
    }
    let host = host(authority).ok_or(TargetUrlError::Host)?;
    if strategy == Strategy::Adapter && is_loopback(host) {
        return Err(TargetUrlError::Loopback);
    }
    Ok(())
}

/// The host of an authority without credentials, an IPv6 address without its brackets; none if host
/// or port is malformed.
fn host(authority: &str) -> Option<&str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            host.split('%').next()?.parse::<Ipv6Addr>().ok()?;
            (host, port)
        }
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let is_port = |port: &str| {
        let digits = port.bytes().all(|byte| byte.is_ascii_digit());
        digits && (port.is_empty() || port.parse::<u16>().is_ok_and(|port| port > 0))
    };
    let has_port = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
    let labels = host.strip_suffix('.').unwrap_or(host).split('.');
    let is_host = labels
        .into_iter()
        .all(|label| !label.is_empty() && label.len() <= LABEL_MAX)
        && !host.contains(['[', ']', '\\', '<', '>', '"']);
    (has_port && is_host).then_some(host)
}

/// Returns whether a host is the pod itself, in any notation that resolvers accept.
fn is_loopback(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let host = host.trim_end_matches('.');
    if LOOPBACK_NAMES.contains(&host) || host.ends_with(".localhost") {
        return true;
    }
    let address = host.split('%').next().and_then(|host| host.parse().ok());
    match address.or_else(|| ipv4(host).map(IpAddr::V4)) {
        Some(IpAddr::V4(address)) => is_own_ipv4(address),
        Some(IpAddr::V6(address)) => {
            let mapped = address.to_ipv4_mapped().is_some_and(is_own_ipv4);
            mapped || address.is_loopback() || address.is_unspecified()
        }
        None => false,
    }
}

fn is_own_ipv4(address: Ipv4Addr) -> bool {
    address.is_loopback() || address.is_unspecified()
}

/// An IPv4 address with fewer than four parts or parts in octal or hexadecimal notation, such as
/// `127.1`: the last part fills the rest. Source: inet(3), `inet_aton`.
fn ipv4(text: &str) -> Option<Ipv4Addr> {
    let parts: Vec<u32> = text.split('.').map(part).collect::<Option<_>>()?;
    let (last, first) = parts.split_last()?;
    let is_byte = |part: &u32| *part < 256;
    if first.len() > 3 || !first.iter().all(is_byte) {
        return None;
    }
    let bits = 32 - 8 * first.len();
    if u64::from(*last) >= 1 << bits {
        return None;
    }
    let shifted = first.iter().zip([24, 16, 8]);
    let high: u32 = shifted.map(|(part, bits)| part << bits).sum();
    Some(Ipv4Addr::from(high | last))
}

/// A number in C's notation.
fn part(text: &str) -> Option<u32> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => (&text[1..], 8),
        None => (text, 10),
    };
    let is_number = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number
        .then(|| u32::from_str_radix(digits, radix).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_that_an_adapter_can_call_are_accepted() {
        use TargetUrlError::{Characters, Credentials, Host, Query, Scheme};
        let cases = [
            ("http://phi-3", Ok(()), "a Service"),
            ("https://phi-3.ml:8443/v1", Ok(()), "port and path"),
            ("HTTP://phi-3", Ok(()), "the adapter ignores the case"),
            ("http://[fd00::1]:80", Ok(()), "an IPv6 address"),
            ("http://phi-3:", Ok(()), "the default port"),
            ("http://localhost:8000", Ok(()), "a server in the same pod"),
            ("phi-3:80", Err(Scheme), "no scheme"),
            ("phi-3", Err(Scheme), "only a name"),
            ("ftp://phi-3", Err(Scheme), "another protocol"),
            ("http:/phi-3", Err(Scheme), "one slash"),
            ("http://", Err(Host), "no host"),
            ("http:///v1", Err(Host), "no host before the path"),
            ("http://:80", Err(Host), "only a port"),
            ("http://phi-3:0", Err(Host), "no port"),
            ("http://phi-3:65536", Err(Host), "no port either"),
            ("http://phi-3:+80", Err(Host), "no digits"),
            (
                "http://fd00::1",
                Err(Host),
                "an IPv6 address without brackets",
            ),
            ("http://[phi-3]", Err(Host), "no address in brackets"),
            ("http://user:word@phi-3", Err(Credentials), "a password"),
            ("http://phi-3?a=b", Err(Query), "a query"),
            ("http://phi-3/v1#a", Err(Query), "a fragment"),
            ("http://phi 3", Err(Characters), "a space"),
        ];
        for (url, expected, reason) in cases {
            assert_eq!(check(url, Strategy::Inject), expected, "{url}: {reason}");
        }
    }

    #[test]
    fn the_adapter_and_lint_accept_the_same_addresses() {
        const CASES: &str = include_str!("../../../../runtime/tests/target_urls.json");
        let cases: Vec<serde_json::Value> = serde_json::from_str(CASES).unwrap();
        assert!(cases.len() > 60, "the table is complete");
        for case in cases {
            let url = case["url"].as_str().unwrap();
            for (key, strategy) in [("inject", Strategy::Inject), ("adapter", Strategy::Adapter)] {
                let found = check(url, strategy);
                assert_eq!(found.is_ok(), case[key], "{case}: {found:?}");
                let is_own_pod = case["inject"] == true && case["adapter"] == false;
                if is_own_pod && strategy == Strategy::Adapter {
                    assert_eq!(found, Err(TargetUrlError::Loopback), "{case}");
                }
            }
        }
    }
}
