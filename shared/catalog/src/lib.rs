//! The tools, as both sides know them: arguments, returns, risk, permissions and what a call would
//! touch. One file a tool under [`tools`], one line each in [`CATALOG`].
//!
//! Not here: how a tool is run (the device's business), and whether it may be (the domain's).

mod spec;
mod table;
pub mod tools;
mod written;

pub use spec::{Alias, Category, ParsedCall, Tool, ToolSpec};
pub use table::{CATALOG, find, nearest};
pub use written::{kinds, typed};
