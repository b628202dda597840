//! The consent of the person at the device: calls that `[consent]` of the owner's file names wait until somebody at
//! the device allows them.
//!
//! Question and answer are files in the state folder, which only the account of the agent can read, and which no tool
//! and no program of a call reaches. An answer names the digest of the whole question, so that it counts for exactly
//! what was shown. The agent's loop asks and runs; nothing here runs a call.

mod folder;
mod question;
mod record;

pub(crate) use folder::Given;
pub use folder::{Folder, OpenQuestion};
pub use question::{Question, Shown};
pub(crate) use question::{Subject, plain, to_compare};
pub(crate) use record::append;
pub use record::{ConsentEntry, read_record};
