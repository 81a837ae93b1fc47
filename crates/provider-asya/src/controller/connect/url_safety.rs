//! Check whether a password can be part of a URL without encoding.
//!
//! The kubelet builds `ASYA_RABBITMQ_URL` of sidecars from its parts and encodes nothing.

use actor::provider_config::RabbitMqConnection;

use super::ResolvedConfig;

/// Returns why the password is not URL-safe, without a character of it; none if it is.
///
/// It is a condition and not an error: the provider sends the password in a header, and actors may use
/// another Secret.
pub(super) fn problem(
    config: &ResolvedConfig,
    connection: &RabbitMqConnection,
    password: Option<&Vec<u8>>,
) -> Option<String> {
    if password.is_none_or(|password| password.iter().copied().all(is_url_safe)) {
        return None;
    }
    let reference = &connection.credentials.password_secret_ref;
    Some(format!(
        "the password that {} reads from key {:?} of Secret {:?} has a character that must be encoded in a URL, \
         such as one of \"/?#[]@%\", a space or a line break at the end: the provider can use it, but actors \
         whose Secret has the same password cannot connect, since ASYA_RABBITMQ_URL is built without \
         encoding; choose a password of letters, digits and \"-._~\", or give actors a whole URL with \
         `urlSecretRef` in the platform's settings",
        config.display(),
        reference.key,
        reference.secret.name,
    ))
}

/// Returns whether a byte is allowed in the user part of a URL: RFC 3986, section 3.2.1.
fn is_url_safe(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:".contains(&byte)
}

#[cfg(test)]
mod tests {
    use actor::provider_config::ProviderConfigSpec;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_unsafe_password_is_reported_and_not_shown() {
        let spec = json!({"endpoint": "http://broker", "credentials": {
            "usernameSecretRef": {"name": "login", "key": "user"},
            "passwordSecretRef": {"name": "login", "key": "password"}}});
        let connection: RabbitMqConnection = serde_json::from_value(spec).unwrap();
        let config = ResolvedConfig {
            reference: actor::queue::ProviderConfigRef::cluster("main"),
            version: (String::new(), 0),
            spec: ProviderConfigSpec::default(),
            namespace: "crossplane-system".to_owned(),
            cluster: None,
            shared_policies: Vec::new(),
        };
        let found =
            |password: &str| problem(&config, &connection, Some(&password.as_bytes().to_vec()));
        for password in ["guest", "Aa0-._~", "!$&'()*+,;=:", ""] {
            assert_eq!(found(password), None, "{password:?}");
        }
        for password in [
            "p/w", "p@w", "p%w", "p w", "pw\n", "p\u{e4}w", "p#w", "p\"w", "[pw]",
        ] {
            let message = found(password).unwrap();
            assert!(!message.contains(password), "{message}");
            assert!(
                message.contains("key \"password\" of Secret \"login\""),
                "{message}"
            );
        }
        assert_eq!(problem(&config, &connection, None), None);
    }
}
