//! Generates the public API from `proto/`. protox compiles it, so that no protoc is needed.

use std::error::Error;
use std::path::PathBuf;

use prost::Message;

fn main() -> Result<(), Box<dyn Error>> {
    // Read at run time, so that a copied target folder does not point to another tree.
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("../../proto");
    let mut files: Vec<PathBuf> = std::fs::read_dir(root.join("orion/v1"))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.sort();
    println!("cargo::rerun-if-changed={}", root.display());

    let descriptors = protox::compile(&files, [&root])?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("orion.v1.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure().bytes(".orion.v1").compile_fds(descriptors)?;
    Ok(())
}
