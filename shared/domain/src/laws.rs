//! Laws that are true for every input, as functions that panic where one is violated. The fuzz targets
//! and the ordinary tests share them.
//!
//! Not part of the product: built for tests and fuzzing only.

mod extractor;
mod paths;
#[cfg(test)]
mod tests;

pub use extractor::extractor;
pub use paths::path_rules;
