//! Builds the program again when the page was built: its files become part of the program.

#[expect(clippy::print_stdout, reason = "cargo reads what a build script prints")]
fn main() {
    println!("cargo:rerun-if-changed=web/dist");
}
