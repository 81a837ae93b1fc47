//! TLS with certificates as Crossplane makes them.

use function_sdk_rust::proto::v1::RunFunctionRequest;
use function_sdk_rust::proto::v1::function_runner_service_client::FunctionRunnerServiceClient;
use tests::certificates::{Authority, Leaf};
use tests::function::{ALL, Function};
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
    }
}

#[test]
fn without_certificates_and_without_leave_a_function_does_not_serve() {
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
