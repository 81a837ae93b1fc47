//! Forms of texts, as the API server reads them.

use actor::names::{LABEL_MAX, LABEL_VALUE_MAX, SUBDOMAIN_MAX, is_label};

/// Longest name of a port. Source: IANA, RFC 6335.
const PORT_NAME_MAX: usize = 15;

/// A form that a text must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// A DNS label.
    Label,
    /// A DNS subdomain.
    Subdomain,
    /// The key of a label: an optional DNS subdomain and `/`, then a name.
    QualifiedName,
    /// The value of a label.
    LabelValue,
    /// The name of a port.
    PortName,
    /// The name of an environment variable: printable ASCII without `=`.
    Variable,
    /// The key of a ConfigMap or Secret.
    ConfigKey,
    /// A relative path that stays in its folder.
    RelativePath,
    /// An absolute path.
    AbsolutePath,
    /// An IP address.
    Ip,
    /// The name of an HTTP header.
    HttpHeader,
    /// A search domain of DNS: a DNS subdomain with an optional final dot, in which `_` is allowed too.
    SearchDomain,
}

impl Format {
    /// Returns the problem of the text; none if it has the form.
    pub(super) fn problem(self, text: &str) -> Option<&'static str> {
        let (fits, problem) = match self {
            Self::Label => (
                is_label(text),
                "is no DNS label: use at most 63 lower-case letters, digits and '-', starting and ending with a letter or digit",
            ),
            Self::Subdomain => (
                is_subdomain(text),
                "is no object name: use lower-case letters, digits, '-' and '.', starting and ending with a letter or digit",
            ),
            Self::QualifiedName => (
                is_qualified_name(text),
                "is no label key: use letters, digits, '-', '_' and '.', at most 63, with an optional DNS name and '/' before it",
            ),
            Self::LabelValue => (
                is_label_value(text),
                "is no label value: use at most 63 letters, digits, '-', '_' and '.', starting and ending with a letter or digit",
            ),
            Self::PortName => (
                is_port_name(text),
                "is no port name: use at most 15 lower-case letters, digits and '-', with at least one letter",
            ),
            Self::Variable => (
                !text.is_empty()
                    && text
                        .bytes()
                        .all(|it| (b' '..=b'~').contains(&it) && it != b'='),
                "is no name of a variable: use printable ASCII characters other than '='",
            ),
            Self::ConfigKey => (
                is_config_key(text),
                "is no key of a ConfigMap or Secret: use letters, digits, '-', '_' and '.'",
            ),
            Self::RelativePath => (
                !text.starts_with('/') && text.split('/').all(|part| part != ".."),
                "must be a relative path without '..'",
            ),
            Self::AbsolutePath => (text.starts_with('/'), "must be an absolute path"),
            Self::Ip => (text.parse::<std::net::IpAddr>().is_ok(), "is no IP address"),
            Self::HttpHeader => (
                text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'),
                "is no name of an HTTP header: use letters, digits and '-'",
            ),
            Self::SearchDomain => (
                text == "."
                    || is_subdomain(&text.strip_suffix('.').unwrap_or(text).replace('_', "a")),
                "is no search domain: use lower-case letters, digits, '-' and '.', starting and ending with a letter or digit",
            ),
        };
        (!fits).then_some(problem)
    }
}

/// Returns whether the text can be the key of a label or annotation.
fn is_qualified_name(text: &str) -> bool {
    match text.split_once('/') {
        Some((domain, name)) => is_subdomain(domain) && is_name(name, LABEL_MAX),
        None => is_name(text, LABEL_MAX),
    }
}

/// Returns whether the text can be the value of a label.
fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_name(text, LABEL_VALUE_MAX)
}

/// Letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
fn is_name(text: &str, max: usize) -> bool {
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.len() <= max
        && ends(text.chars().next())
        && ends(text.chars().last())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

fn is_subdomain(text: &str) -> bool {
    text.len() <= SUBDOMAIN_MAX && text.split('.').all(is_long_label)
}

/// A part of a subdomain may be longer than a label.
fn is_long_label(part: &str) -> bool {
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    ends(part.chars().next())
        && ends(part.chars().last())
        && part
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

fn is_port_name(text: &str) -> bool {
    text.len() <= PORT_NAME_MAX
        && !text.starts_with('-')
        && !text.ends_with('-')
        && !text.contains("--")
        && text.chars().any(|c| c.is_ascii_lowercase())
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

fn is_config_key(text: &str) -> bool {
    (1..=SUBDOMAIN_MAX).contains(&text.len())
        && text != "."
        && !text.starts_with("..")
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// Returns whether a container runtime can read the text as a reference to an image: `[host[:port]/]path`
/// in lower case, then `:tag` or `@digest`. The API server takes any text; the kubelet then reports
/// `InvalidImageName`. Source: the grammar of `github.com/distribution/reference`.
pub(crate) fn is_image(text: &str) -> bool {
    let (rest, digest) = match text.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (text, None),
    };
    let is_digest = |digest: &str| {
        digest.split_once(':').is_some_and(|(algorithm, hex)| {
            !algorithm.is_empty() && hex.len() >= 32 && hex.chars().all(|c| c.is_ascii_hexdigit())
        })
    };
    let slash = rest.rfind('/').map_or(0, |at| at + 1);
    let (path, tag) = match rest[slash..].find(':') {
        Some(at) => (&rest[..slash + at], Some(&rest[slash + at + 1..])),
        None => (rest, None),
    };
    let is_tag = |tag: &str| {
        (1..=128).contains(&tag.len())
            && !tag.starts_with(['-', '.'])
            && tag
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    let (host, path) = match path.split_once('/') {
        Some((first, rest))
            if first.contains(['.', ':'])
                || first == "localhost"
                || first.chars().any(|c| c.is_ascii_uppercase()) =>
        {
            (Some(first), rest)
        }
        _ => (None, path),
    };
    let is_host = |host: &str| {
        let (name, port) = host.rsplit_once(':').unwrap_or((host, "1"));
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-.[]:".contains(c);
        !name.is_empty()
            && name.chars().all(is_name)
            && port.chars().all(|c| c.is_ascii_digit())
            && !port.is_empty()
    };
    let is_part = |part: &str| {
        let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let ends = |c: Option<char>| c.is_some_and(is_inner);
        ends(part.chars().next())
            && ends(part.chars().last())
            && part.chars().all(|c| is_inner(c) || "-_.".contains(c))
            && !part.contains("..")
            && !part.contains("___")
    };
    host.is_none_or(is_host)
        && path.split('/').all(is_part)
        && tag.is_none_or(is_tag)
        && digest.is_none_or(is_digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_have_the_form_that_a_container_runtime_reads() {
        let cases = [
            ("app", true),
            ("app:1", true),
            ("my-org/app:latest", true),
            ("registry.example.org:5000/team/app:v1.2-rc_1", true),
            ("localhost/app", true),
            (
                "app@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                true,
            ),
            ("a/b__c/d--e:1", true),
            ("My-Org/app:1", true),
            ("my org/app", false),
            ("app:", false),
            ("app:a:b", false),
            ("https://registry.example.org/app", false),
            ("app@sha256:12", false),
            (" app", false),
            ("", false),
            ("app/", false),
            ("org/App", false),
        ];
        for (text, expected) in cases {
            assert_eq!(is_image(text), expected, "{text:?}");
        }
    }

    #[test]
    fn texts_have_the_forms_of_the_api_server() {
        let long = "a".repeat(64);
        let cases = [
            (Format::QualifiedName, "app.kubernetes.io/name", true),
            (Format::QualifiedName, "nvidia.com/gpu", true),
            (Format::QualifiedName, "/x", false),
            (Format::QualifiedName, "a/b/c", false),
            (Format::QualifiedName, "has space", false),
            (Format::LabelValue, "", true),
            (Format::LabelValue, "v1.2_3", true),
            (Format::LabelValue, "-x", false),
            (Format::LabelValue, &long, false),
            (Format::Label, "a-b", true),
            (Format::Label, "a_b", false),
            (Format::Subdomain, "a.b-c", true),
            (Format::Subdomain, &long, true),
            (Format::Subdomain, "A", false),
            (Format::Subdomain, "a..b", false),
            (Format::PortName, "http", true),
            (Format::PortName, "8080", false),
            (Format::PortName, "a-name-of-sixteen", false),
            (Format::Variable, "MODEL", true),
            (Format::Variable, "a b", true),
            (Format::Variable, "A=B", false),
            (Format::ConfigKey, "tls.crt", true),
            (Format::ConfigKey, "a/b", false),
            (Format::RelativePath, "a/b", true),
            (Format::RelativePath, "/a", false),
            (Format::RelativePath, "a/../b", false),
            (Format::Ip, "10.0.0.1", true),
            (Format::Ip, "localhost", false),
            (Format::HttpHeader, "X-Custom", true),
            (Format::HttpHeader, "X Custom", false),
            (Format::SearchDomain, "svc.cluster.local.", true),
            (Format::SearchDomain, "_sip._tcp.example.org", true),
            (Format::SearchDomain, "example..org", false),
        ];
        for (format, text, expected) in cases {
            assert_eq!(
                format.problem(text).is_none(),
                expected,
                "{format:?} {text:?}"
            );
        }
    }
}
