//! A certificate authority for tests, and certificates that it signs.

use std::fs;

use tempfile::TempDir;
use test_cluster::openssl;

/// An authority and the certificate of a server on loopback, made by `openssl`.
pub struct Certificates(TempDir);

impl Certificates {
    /// Makes both, for two days; the authority is called `name`.
    pub fn make(name: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dir = folder.path();
        let extensions = "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n";
        fs::write(dir.join("server.ext"), extensions).expect("the folder can be written");
        for line in [
            "ecparam -name prime256v1 -genkey -noout -out ca.key",
            &format!("req -x509 -new -key ca.key -subj /CN={name} -days 2 -out ca.crt"),
            "ecparam -name prime256v1 -genkey -noout -out server.key",
            "req -new -key server.key -subj /CN=broker -out server.csr",
            "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 \
             -extfile server.ext -out server.crt",
        ] {
            openssl::run(dir, &line.split_whitespace().collect::<Vec<_>>());
        }
        Self(folder)
    }

    /// The authority's certificate, as PEM.
    pub fn authority(&self) -> String {
        fs::read_to_string(self.0.path().join("ca.crt")).expect("it was made")
    }

    /// Lines of RabbitMQ's configuration by which its management API listens with TLS too.
    pub fn settings(&self, port: u16) -> String {
        let dir = self.0.path().display();
        format!(
            "management.ssl.ip = 127.0.0.1\nmanagement.ssl.port = {port}\n\
             management.ssl.cacertfile = {dir}/ca.crt\nmanagement.ssl.certfile = {dir}/server.crt\n\
             management.ssl.keyfile = {dir}/server.key\n"
        )
    }
}
