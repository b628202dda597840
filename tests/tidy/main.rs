//! The house rules as ordinary tests: the form of files, the names that each room may use, and documents
//! that match the code. They read the files on disk.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says by panicking what is wrong")]

mod access;
mod api;
mod codes;
mod commands;
mod configuration;
mod crates;
mod hidden;
mod imports;
mod jobs;
mod links;
mod markdown;
mod messages;
mod rooms;
mod sources;
mod sql;
mod systems;
mod tools;
mod tree;
mod words;
