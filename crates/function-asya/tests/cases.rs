//! Whole requests and their whole responses.

use function_asya::{Config, run};

#[test]
fn every_case_holds() {
    let cases = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");
    function_kit::cases::check(cases, |request| run(request, &Config::default()));
}
