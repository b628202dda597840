//! Any bytes as the output of a model, held to the laws of the extractor.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| orion_domain::laws::extractor(input));
