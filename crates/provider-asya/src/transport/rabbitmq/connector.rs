//! Connections to the management API: which authorities are trusted.

use std::sync::Arc;
use std::time::Duration;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use crate::transport::TransportError;

/// A connector that trusts these authorities, as PEM, or those of the system.
///
/// # Errors
/// The authorities are invalid.
pub(super) fn connector(
    endpoint: &str,
    authorities: Option<&[u8]>,
    time_limit: Duration,
) -> Result<HttpsConnector<HttpConnector>, TransportError> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_connect_timeout(Some(time_limit));
    tcp.set_nodelay(true);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let invalid = |what: &str| TransportError::Invalid(format!("cannot trust {endpoint}: {what}"));
    let builder = HttpsConnectorBuilder::new();
    let builder = match authorities {
        Some(pem) => {
            let mut roots = rustls::RootCertStore::empty();
            for certificate in CertificateDer::pem_slice_iter(pem) {
                let certificate =
                    certificate.map_err(|error| invalid(&format!("the CA is not PEM: {error}")))?;
                roots
                    .add(certificate)
                    .map_err(|error| invalid(&format!("the CA is no certificate: {error}")))?;
            }
            if roots.is_empty() {
                return Err(invalid("the CA holds no certificate"));
            }
            builder.with_tls_config(client_config(provider, roots, &invalid)?)
        }
        // Without TLS the system's authorities are not read.
        None if endpoint.starts_with("http://") => {
            let roots = rustls::RootCertStore::empty();
            builder.with_tls_config(client_config(provider, roots, &invalid)?)
        }
        None => builder
            .with_provider_and_native_roots(provider)
            .map_err(|error| invalid(&format!("no authorities on this system: {error}")))?,
    };
    Ok(builder.https_or_http().enable_http1().wrap_connector(tcp))
}

fn client_config(
    provider: Arc<rustls::crypto::CryptoProvider>,
    roots: rustls::RootCertStore,
    invalid: &dyn Fn(&str) -> TransportError,
) -> Result<rustls::ClientConfig, TransportError> {
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| invalid(&error.to_string()))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_authorities_are_refused() {
        for (pem, expected) in [
            (
                "",
                "cannot trust https://broker: the CA holds no certificate",
            ),
            (
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
                "cannot trust https://broker: the CA is no certificate: ",
            ),
        ] {
            let error = connector(
                "https://broker",
                Some(pem.as_bytes()),
                Duration::from_secs(1),
            )
            .unwrap_err()
            .to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
