//! Makes the audit provable away from its backend: signed checkpoints over a Merkle tree of its rows,
//! the export format, the devices' own chains, and the comparison of both. Pure: no I/O, no clock; keys
//! are drawn only in [`note::Signer::generate`].

pub mod checkpoint;
pub mod device;
pub mod export;
pub mod join;
pub mod merkle;
pub mod note;
pub mod verify;

pub use checkpoint::Checkpoint;
pub use export::{Exporter, Header};
pub use join::{Join, Joined};
pub use note::{NoteError, Signer, VerifierKey};
pub use verify::{ExportVerifier, Problem, Proven};
