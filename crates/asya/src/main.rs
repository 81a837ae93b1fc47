//! WIP.
fn main() {}
