//! Serves the step.
fn main() {}
