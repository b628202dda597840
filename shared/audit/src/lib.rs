//! What makes the audit provable away from its backend: signed checkpoints over a Merkle tree of its
//! rows, the form of an export, the chains that devices keep of their own, and how the two are joined.
//! Pure: no I/O, no clock; keys are drawn in [`note::Signer::generate`] alone.

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
