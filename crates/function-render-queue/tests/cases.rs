//! Whole requests and their whole responses.

#[test]
fn every_case_holds() {
    let cases = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");
    function_kit::cases::check(cases, function_render_queue::run);
}
