//! The certificate authorities that an image trusts which has no operating system.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

/// The first place where TLS libraries search. Mounting a file there, or `SSL_CERT_FILE`, replaces it.
pub(crate) const PATH: &str = "etc/ssl/certs/ca-certificates.crt";

/// The crate that has the authorities.
pub(super) const CRATE: &str = "webpki-root-certs";

/// Characters in a line of PEM.
const LINE: usize = 64;

/// Mozilla's authorities, as PEM.
pub(crate) fn bundle() -> String {
    let mut pem = String::new();
    for certificate in TLS_SERVER_ROOT_CERTS {
        pem.push_str("-----BEGIN CERTIFICATE-----\n");
        let mut rest = STANDARD.encode(certificate);
        while !rest.is_empty() {
            let next = rest.split_off(rest.len().min(LINE));
            // Writing to a String does not fail.
            let _ = writeln!(pem, "{rest}");
            rest = next;
        }
        pem.push_str("-----END CERTIFICATE-----\n");
    }
    pem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundle_is_pem_with_every_authority() {
        let bundle = bundle();
        let count = bundle.matches("-----BEGIN CERTIFICATE-----\n").count();
        assert_eq!(count, TLS_SERVER_ROOT_CERTS.len());
        assert!(count > 100, "{count}");
        assert!(bundle.lines().all(|line| line.len() <= LINE));
        let first = bundle.split("-----").nth(2).unwrap().replace('\n', "");
        assert_eq!(
            STANDARD.decode(first).unwrap(),
            TLS_SERVER_ROOT_CERTS[0].as_ref()
        );
    }
}
