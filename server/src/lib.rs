//! Orion's backend: takes tool calls, judges them, asks where it must, routes them, records all.
//!
//! Start reading at [`pipeline`].

pub mod model;
pub mod store;
