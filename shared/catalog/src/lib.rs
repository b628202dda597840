//! The tool catalogue that both sides share: arguments, returns, risk, permissions and what a call would
//! touch. One file a tool under [`tools`], one line each in [`CATALOG`].
//!
//! Not here: running a tool (the device does) and evaluating a call (the domain does).

mod spec;
mod table;
pub mod tools;
mod written;

pub use spec::{Alias, Category, ParsedCall, Tool, ToolSpec};
pub use table::{CATALOG, find, nearest};
pub use written::{kinds, typed};
