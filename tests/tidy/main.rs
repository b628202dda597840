//! The house rules as ordinary tests: what files look like, which room may name what, and that the
//! documents say what the code does. They read the tree as it lies on the disk.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says by panicking what is wrong")]

mod access;
mod api;
mod codes;
mod configuration;
mod crates;
mod imports;
mod jobs;
mod links;
mod markdown;
mod rooms;
mod sources;
mod tools;
mod tree;
mod words;
