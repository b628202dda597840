//! Builds the program again when the page was built: its files become part of the program.

fn main() {
    println!("cargo:rerun-if-changed=web/dist");
}
