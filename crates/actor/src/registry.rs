//! Registry of packages, and the names that Crossplane gives to packages from it.

use std::fmt;
use std::str::FromStr;

/// Most characters of a name that Crossplane makes of a repository.
const LABEL_MAX: usize = 63;

/// A registry and the path below which all packages are pushed, such as
/// `registry.example.org/asya`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registry {
    host: String,
    /// Without slashes at its ends; may be empty.
    path: String,
}

/// A text that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a registry with a path: write it as registry.example.org/asya, in lower case and without a scheme, tag or final slash"
)]
pub struct NoRegistry(String);

impl FromStr for Registry {
    type Err = NoRegistry;

    fn from_str(text: &str) -> Result<Self, NoRegistry> {
        let (host, path) = text.split_once('/').unwrap_or((text, ""));
        let is_allowed =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
        // Crossplane takes a host without a dot or a port for the first part of a path.
        let is_host = (host.contains('.') || host.contains(':'))
            && host.chars().all(|c| is_allowed(c) || c == ':');
        let is_path = path.is_empty()
            || path
                .split('/')
                .all(|part| !part.is_empty() && part.chars().all(is_allowed));
        if is_host && is_path {
            return Ok(Self {
                host: host.to_owned(),
                path: path.to_owned(),
            });
        }
        Err(NoRegistry(text.to_owned()))
    }
}

impl fmt::Display for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.host),
            path => write!(f, "{}/{path}", self.host),
        }
    }
}

impl Registry {
    /// Returns the name that Crossplane gives a package installed as a dependency: its repository
    /// without the host, as a DNS label. Compositions must name functions so.
    ///
    /// Source: `ToDNSLabel` in `pkg/xpkg/name.go` of crossplane-runtime 2.3.
    pub fn name_of_dependency(&self, package: &str) -> String {
        let repository = match self.path.as_str() {
            "" => package.to_owned(),
            path => format!("{path}/{package}"),
        };
        let last = repository.len() - 1;
        let mut label = String::new();
        for (at, c) in repository.chars().enumerate().take(LABEL_MAX) {
            if c.is_ascii_lowercase() || c.is_ascii_digit() {
                label.push(c);
            } else if ".-/:".contains(c) && at != 0 && at != LABEL_MAX - 1 && at != last {
                label.push('-');
            }
        }
        label.trim_matches('-').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_is_a_host_and_a_path() {
        let cases = [
            ("registry.example.org/asya", true),
            ("127.0.0.1:5000/local/asya", true),
            ("registry.example.org", true),
            ("localhost:5000/asya", true),
            ("asya", false),
            ("https://registry.example.org/asya", false),
            ("registry.example.org/asya/", false),
            ("registry.example.org/Asya", false),
            ("registry.example.org/asya:v1", false),
            ("", false),
        ];
        for (text, is_valid) in cases {
            let parsed: Result<Registry, NoRegistry> = text.parse();
            assert_eq!(parsed.is_ok(), is_valid, "{text:?}");
            if let Ok(registry) = parsed {
                assert_eq!(registry.to_string(), text);
            }
        }
    }

    #[test]
    fn dependencies_are_named_after_their_repository() {
        let long = "a".repeat(70);
        let cases = [
            ("registry.example.org/asya", "function-x", "asya-function-x"),
            (
                "127.0.0.1:5000/our/team.eu",
                "function-x",
                "our-team-eu-function-x",
            ),
            ("registry.example.org", "function-x", "function-x"),
            ("registry.example.org/a_b", "x", "ab-x"),
            ("registry.example.org", &long, &long[..63]),
        ];
        for (registry, package, expected) in cases {
            let registry: Registry = registry.parse().unwrap();
            assert_eq!(registry.name_of_dependency(package), expected, "{registry}");
        }
    }
}
