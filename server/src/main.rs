//! Orion.
fn main() {}
