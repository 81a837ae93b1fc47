//! Certificates as Crossplane makes them: RSA of 2048 bits, keys in PKCS#1.
//!
//! Made by `openssl`, since that is the only form worth testing and Rust's own
//! makers of certificates write PKCS#8.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use test_cluster::openssl;

/// A certificate authority, with a folder for what it signs.
#[derive(Debug)]
pub struct Authority {
    folder: TempDir,
}

/// A key and its certificate, in a folder with `tls.crt`, `tls.key` and `ca.crt`.
#[derive(Debug)]
pub struct Leaf {
    /// The folder.
    pub folder: PathBuf,
}

impl Authority {
    /// A new authority.
    ///
    /// # Panics
    /// When `openssl` is missing or fails.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let openssl = |args: &[&str]| openssl::run(folder.path(), args);
        openssl(&["genrsa", "-traditional", "-out", "ca.key", "2048"]);
        openssl(&[
            "req",
            "-x509",
            "-new",
            "-key",
            "ca.key",
            "-subj",
            "/CN=Crossplane",
            "-days",
            "2",
            "-out",
            "ca.crt",
        ]);
        Self { folder }
    }

    /// A certificate for `name`, which is also its only alternative name.
    ///
    /// # Panics
    /// When `openssl` fails.
    pub fn sign(&self, name: &str, usage: &str) -> Leaf {
        self.sign_for(name, usage, 2)
    }

    /// The same, but it ended yesterday.
    pub fn sign_expired(&self, name: &str, usage: &str) -> Leaf {
        self.sign_for(name, usage, -1)
    }

    fn sign_for(&self, name: &str, usage: &str, days: i32) -> Leaf {
        let folder = tempfile::Builder::new().tempdir_in(self.folder.path());
        let folder = folder.expect("a folder for the certificate").keep();
        let openssl = |args: &[&str]| openssl::run(&folder, args);
        fs::copy(self.folder.path().join("ca.crt"), folder.join("ca.crt"))
            .expect("ca.crt is there");
        fs::write(
            folder.join("extensions"),
            format!("subjectAltName=DNS:{name}\nextendedKeyUsage={usage}\n"),
        )
        .expect("the folder can be written");
        openssl(&["genrsa", "-traditional", "-out", "tls.key", "2048"]);
        openssl(&[
            "req",
            "-new",
            "-key",
            "tls.key",
            "-subj",
            "/CN=Crossplane",
            "-out",
            "tls.csr",
        ]);
        openssl(&[
            "x509",
            "-req",
            "-in",
            "tls.csr",
            "-CA",
            "../ca.crt",
            "-CAkey",
            "../ca.key",
            "-CAcreateserial",
            "-days",
            &days.to_string(),
            "-extfile",
            "extensions",
            "-out",
            "tls.crt",
        ]);
        Leaf { folder }
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Leaf {
    /// Puts the three files into a folder, in place of those that are there.
    ///
    /// # Panics
    /// When one cannot be written.
    pub fn copy_to(&self, folder: &Path) {
        for name in ["tls.crt", "tls.key", "ca.crt"] {
            fs::copy(self.folder.join(name), folder.join(name)).expect("a file to copy");
        }
    }

    /// One of the files, as text.
    ///
    /// # Panics
    /// When it is missing.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}
