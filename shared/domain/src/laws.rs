//! What holds for every input, as functions that stop where it does not: the fuzz targets and the
//! ordinary tests hold the rules to the same laws.
//!
//! Not part of the product: they are built for tests and fuzzing alone.

mod extractor;
mod paths;
#[cfg(test)]
mod tests;

pub use extractor::extractor;
pub use paths::path_rules;
