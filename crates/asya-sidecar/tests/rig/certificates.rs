//! An authority of the test's own, and a broker that speaks TLS with its certificate.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use test_cluster::openssl;

/// An authority and the certificate of a server on loopback.
pub struct Certificates(TempDir);

impl Certificates {
    /// Makes both, for two days.
    pub fn make() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dir = folder.path();
        let extensions = "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n";
        fs::write(dir.join("server.ext"), extensions).expect("the folder can be written");
        for line in [
            "ecparam -name prime256v1 -genkey -noout -out ca.key",
            "req -x509 -new -key ca.key -subj /CN=own -days 2 -out ca.crt",
            "ecparam -name prime256v1 -genkey -noout -out server.key",
            "req -new -key server.key -subj /CN=broker -out server.csr",
            "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 \
             -extfile server.ext -out server.crt",
        ] {
            openssl::run(dir, &line.split_whitespace().collect::<Vec<_>>());
        }
        Self(folder)
    }

    /// The authority's certificate.
    pub fn authority(&self) -> PathBuf {
        self.0.path().join("ca.crt")
    }

    /// Lines of RabbitMQ's configuration by which AMQP listens with TLS too.
    pub fn settings(&self, port: u16) -> String {
        let dir = self.0.path().display();
        format!(
            "listeners.ssl.1 = 127.0.0.1:{port}\nssl_options.cacertfile = {dir}/ca.crt\n\
             ssl_options.certfile = {dir}/server.crt\nssl_options.keyfile = {dir}/server.key\n"
        )
    }
}
