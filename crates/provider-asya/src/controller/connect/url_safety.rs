//! Whether a password can stand in a URL as it is.
//!
//! Sidecars build `ASYA_RABBITMQ_URL` from their parts, and the kubelet, which
//! puts them together, encodes nothing.

use actor::provider_config::RabbitMqConnection;

use super::Config;

/// What is wrong with the password, without a character of it.
///
/// The provider sends it in a header, where anything may stand; the actors' own
/// Secret may be another one. So this is worth a word and stops nothing.
pub(super) fn complaint(
    config: &Config,
    connection: &RabbitMqConnection,
    password: Option<&Vec<u8>>,
) -> Option<String> {
    if password.is_none_or(|password| password.iter().copied().all(may_stand)) {
        return None;
    }
    let reference = &connection.credentials.password_secret_ref;
    Some(format!(
        "the password that {} reads from key {:?} of Secret {:?} has a character that a URL cannot hold as it is, \
         such as one of \"/?#[]@%\", a space or a line break at the end: this provider works with it, but actors \
         whose Secret has the same password cannot connect, since ASYA_RABBITMQ_URL is put together without \
         encoding; choose a password of letters, digits and \"-._~\", or give actors a whole URL with \
         `urlSecretRef` in the platform's settings",
        config.shown(),
        reference.key,
        reference.secret.name,
    ))
}

/// Whether this may stand in the user part of a URL: RFC 3986, section 3.2.1.
fn may_stand(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:".contains(&byte)
}

#[cfg(test)]
mod tests {
    use actor::provider_config::ProviderConfigSpec;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_password_that_a_url_cannot_hold_is_told_of_and_not_told() {
        let spec = json!({"endpoint": "http://broker", "credentials": {
            "usernameSecretRef": {"name": "login", "key": "user"},
            "passwordSecretRef": {"name": "login", "key": "password"}}});
        let connection: RabbitMqConnection = serde_json::from_value(spec).unwrap();
        let config = Config {
            reference: actor::queue::ProviderConfigRef::cluster("main"),
            version: (String::new(), 0),
            spec: ProviderConfigSpec::default(),
            namespace: "crossplane-system".to_owned(),
            cluster: None,
        };
        let found =
            |password: &str| complaint(&config, &connection, Some(&password.as_bytes().to_vec()));
        for password in ["guest", "Aa0-._~", "!$&'()*+,;=:", ""] {
            assert_eq!(found(password), None, "{password:?}");
        }
        for password in [
            "p/w", "p@w", "p%w", "p w", "pw\n", "p\u{e4}w", "p#w", "p\"w", "[pw]",
        ] {
            let said = found(password).unwrap();
            assert!(!said.contains(password), "{said}");
            assert!(
                said.contains("key \"password\" of Secret \"login\""),
                "{said}"
            );
        }
        assert_eq!(complaint(&config, &connection, None), None);
    }
}
