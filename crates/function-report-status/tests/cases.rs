//! Every folder of `tests/cases`: a whole request and the whole response to it.

#[test]
fn every_golden_case_has_its_expected_response() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");
    function_kit::cases::check(folder, function_report_status::run);
}
