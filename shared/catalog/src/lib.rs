//! The tool catalogue that both sides share: arguments, returns, risk, permissions and what a call would
//! touch. One file a tool under [`tools`], one line each in [`CATALOG`].
//!
//! Not here: running a tool (the device does) and evaluating a call (the domain does).

mod argument_path;
pub mod artifact;
pub mod command;
mod content;
pub mod custom;
mod definition;
mod execution;
pub mod generated_code;
mod host_name;
pub mod installed;
pub mod project;
pub mod request_secrets;
pub mod requested_url;
mod sample;
mod sample_call;
mod secret_argument;
pub mod service_state;
pub mod since;
mod spec;
mod table;
pub mod tools;
pub mod web;
mod written;

pub use content::{Content, MAX_PART_BYTES};
pub use execution::{Execution, RunsOn};
pub use sample::{Sample, Target};
pub use secret_argument::SecretArgument;
pub use spec::{Alias, Category, ParsedCall, Tool, ToolSpec};
pub use table::{find, nearest, without_secrets};
pub use tools::CATALOG;
pub use written::{kinds, typed};
