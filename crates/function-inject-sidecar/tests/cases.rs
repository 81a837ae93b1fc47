//! Whole requests and their whole responses.

use function_inject_sidecar::{Config, Script, run};
use function_proto::v1::{RunFunctionRequest, RunFunctionResponse};

/// Runs the step, and then again on what it desired.
fn run_twice(request: RunFunctionRequest, config: &Config) -> RunFunctionResponse {
    let response = run(request.clone(), config);
    if response.results.is_empty() {
        let again = RunFunctionRequest {
            desired: response.desired.clone(),
            ..request
        };
        let again = run(again, config);
        assert_eq!(
            again.desired, response.desired,
            "applied twice it changes something"
        );
        assert_eq!(again.results, [], "applied twice it fails");
    }
    response
}

#[test]
fn every_case_holds_and_applying_it_twice_changes_nothing() {
    let cases = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");
    function_kit::cases::check(cases, |request| run_twice(request, &Config::default()));
}

#[test]
fn every_case_of_a_configured_function_holds() {
    let cases = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases-configured");
    let config = Config {
        sidecar_image: Some("function/sidecar:1".to_owned()),
        script: Some(Script::new("print('function')\n")),
    };
    function_kit::cases::check(cases, |request| run_twice(request, &config));
}
