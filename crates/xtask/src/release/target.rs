//! Systems that the CLI is released for.

use std::env::consts::{ARCH, OS};
use std::fmt;

/// A system and architecture, by the names that Go, krew and container images use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) os: Os,
    pub(super) arch: Arch,
}

/// An operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Os {
    Linux,
    Darwin,
}

/// A processor architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arch {
    Amd64,
    Arm64,
}

impl Target {
    pub(super) const ALL: [Self; 4] = [
        Self::new(Os::Darwin, Arch::Amd64),
        Self::new(Os::Darwin, Arch::Arm64),
        Self::new(Os::Linux, Arch::Amd64),
        Self::new(Os::Linux, Arch::Arm64),
    ];

    const fn new(os: Os, arch: Arch) -> Self {
        Self { os, arch }
    }

    /// The system that this program runs on; none if no CLI is released for it.
    pub(super) fn of_this_machine() -> Option<Self> {
        let os = match OS {
            "linux" => Os::Linux,
            "macos" => Os::Darwin,
            _ => return None,
        };
        let arch = match ARCH {
            "x86_64" => Arch::Amd64,
            "aarch64" => Arch::Arm64,
            _ => return None,
        };
        Some(Self::new(os, arch))
    }
}

impl fmt::Display for Os {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Linux => "linux",
            Self::Darwin => "darwin",
        })
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        })
    }
}

/// As in names of files: `linux-amd64`.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.os, self.arch)
    }
}
