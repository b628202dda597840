//! Any bytes as paths and policy entries, held to the laws of paths and grants.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| orion_domain::laws::path_rules(input));
