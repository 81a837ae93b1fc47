//! Platforms of images.

use std::fmt;
use std::str::FromStr;

use oci_spec::image::Arch;

/// A platform that images are built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Platform {
    /// `linux/amd64`
    Amd64,
    /// `linux/arm64`
    Arm64,
}

impl Platform {
    /// Every platform.
    pub(crate) const ALL: [Self; 2] = [Self::Amd64, Self::Arm64];

    /// The platform that this program runs on; none if images are not built for it.
    pub(crate) fn of_this_machine() -> Option<Self> {
        match (std::env::consts::OS, std::env::consts::ARCH) {
            ("linux", "x86_64") => Some(Self::Amd64),
            ("linux", "aarch64") => Some(Self::Arm64),
            _ => None,
        }
    }

    /// Name of the platform in Rust. The gnu target links the C library statically too, if asked.
    pub(super) fn target(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64-unknown-linux-gnu",
            Self::Arm64 => "aarch64-unknown-linux-gnu",
        }
    }

    /// Name of the platform in images.
    pub(super) fn arch(self) -> Arch {
        match self {
            Self::Amd64 => Arch::Amd64,
            Self::Arm64 => Arch::ARM64,
        }
    }

    /// Name of the platform in ELF.
    pub(super) fn machine(self) -> u16 {
        match self {
            Self::Amd64 => object::elf::EM_X86_64,
            Self::Arm64 => object::elf::EM_AARCH64,
        }
    }

    /// Name of a folder for it.
    pub(crate) fn folder(self) -> String {
        self.to_string().replace('/', "-")
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Amd64 => "linux/amd64",
            Self::Arm64 => "linux/arm64",
        })
    }
}

impl FromStr for Platform {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|platform| platform.to_string() == text)
            .ok_or_else(|| "expected linux/amd64 or linux/arm64".to_owned())
    }
}
