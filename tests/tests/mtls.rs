//! TLS with certificates as Crossplane makes them.

use function_sdk_rust::proto::v1::RunFunctionRequest;
use function_sdk_rust::proto::v1::function_runner_service_client::FunctionRunnerServiceClient;
use tests::certificates::{Authority, Leaf};
use tests::function::{ALL, Function, PROGRAMS};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

const SERVER: &str = "function-resolve-flavors.crossplane-system";
const CLIENT: &str = "crossplane.crossplane-system";

/// Calls the function; the first error, be it of the handshake or the call.
async fn call(function: &Function, trust: &Leaf, identity: Option<&Leaf>) -> Result<(), String> {
    let mut tls = ClientTlsConfig::new()
        .domain_name(SERVER)
        .ca_certificate(Certificate::from_pem(trust.read("ca.crt")));
    if let Some(leaf) = identity {
        tls = tls.identity(Identity::from_pem(
            leaf.read("tls.crt"),
            leaf.read("tls.key"),
        ));
    }
    let endpoint = Endpoint::from_shared(format!("https://{}", function.address)).unwrap();
    let connection = endpoint.tls_config(tls).unwrap().connect().await;
    let channel = connection.map_err(|error| format!("{error:?}"))?;
    FunctionRunnerServiceClient::new(channel)
        .run_function(RunFunctionRequest::default())
        .await
        .map(drop)
        .map_err(|status| format!("{status:?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_needs_a_certificate_of_crossplanes_authority() {
    let (ours, foreign) = (Authority::new(), Authority::new());
    let server = ours.sign(SERVER, "serverAuth");
    let key = server.read("tls.key");
    assert!(
        key.contains("BEGIN RSA PRIVATE KEY"),
        "PKCS#1, as Crossplane writes keys"
    );
    let crossplane = ours.sign(CLIENT, "clientAuth");
    let stranger = foreign.sign(CLIENT, "clientAuth");
    let expired = ours.sign_expired(CLIENT, "clientAuth");
    let wrong_usage = ours.sign(CLIENT, "serverAuth");
    for name in ALL {
        let folder = server.folder.to_str().unwrap();
        let function = Function::start_with(name, &["--tls-certs-dir", folder]);
        assert_eq!(
            call(&function, &server, Some(&crossplane)).await,
            Ok(()),
            "{name}"
        );
        let nobody = call(&function, &server, None).await;
        assert!(nobody.is_err(), "{name}: a client without a certificate");
        let foreign = call(&function, &server, Some(&stranger)).await;
        assert!(foreign.is_err(), "{name}: a client of another authority");
        let expired = call(&function, &server, Some(&expired)).await;
        assert!(
            expired.is_err(),
            "{name}: a client whose certificate has expired"
        );
        let server_as_client = call(&function, &server, Some(&wrong_usage)).await;
        assert!(
            server_as_client.is_err(),
            "{name}: a certificate for servers"
        );
        let plain = FunctionRunnerServiceClient::connect(format!("http://{}", function.address));
        let plain = match plain.await {
            Ok(mut client) => client
                .run_function(RunFunctionRequest::default())
                .await
                .is_ok(),
            Err(_) => false,
        };
        assert!(!plain, "{name}: a client without TLS");
        assert_eq!(
            call(&function, &server, Some(&crossplane)).await,
            Ok(()),
            "{name}: after all of them"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_refuses_a_function_with_an_expired_certificate() {
    let ours = Authority::new();
    let expired = ours.sign_expired(SERVER, "serverAuth");
    let crossplane = ours.sign(CLIENT, "clientAuth");
    let folder = expired.folder.to_str().unwrap();
    let function = Function::start_with(ALL[0], &["--tls-certs-dir", folder]);
    let refused = call(&function, &expired, Some(&crossplane)).await;
    assert!(refused.unwrap_err().contains("Expired"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_ends_when_its_certificates_are_renewed_and_serves_with_them_when_started_again()
{
    let (before, after) = (Authority::new(), Authority::new());
    let server = before.sign(SERVER, "serverAuth");
    let crossplane = before.sign(CLIENT, "clientAuth");
    let folder = server.folder.to_str().unwrap().to_owned();
    for name in PROGRAMS {
        before.sign(SERVER, "serverAuth").copy_to(&server.folder);
        let mut function = Function::start_with(name, &["--tls-certs-dir", &folder]);
        assert_eq!(
            call(&function, &server, Some(&crossplane)).await,
            Ok(()),
            "{name}"
        );
        after.sign(SERVER, "serverAuth").copy_to(&server.folder);
        assert!(function.wait().success(), "{name}");
        let crossplane = after.sign(CLIENT, "clientAuth");
        let started_again = Function::start_with(name, &["--tls-certs-dir", &folder]);
        assert_eq!(
            call(&started_again, &crossplane, Some(&crossplane)).await,
            Ok(()),
            "{name}"
        );
    }
}

#[test]
fn a_function_without_certificates_serves_only_if_it_is_insecure() {
    let program = tests::program::path(ALL[0]);
    let output = std::process::Command::new(program)
        .env_clear()
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let log = tests::program::talk(&output);
    assert!(
        log.contains("--tls-certs-dir") && log.contains("--insecure"),
        "{log}"
    );
}
