//! Why the authorities cannot be read or written, and what the operator does about it.

use std::io;
use std::path::PathBuf;

use orion_mtls::MtlsError;
use orion_mtls::secret_file::SecretFileError;

/// Why the authorities cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// There are no authorities.
    #[error(
        "there is no authority in {}, so no backend has run with that data folder; name the right one with --data-dir", .0.display()
    )]
    Missing(PathBuf),
    /// The authorities are missing, and there were some.
    #[error(
        "ca.key is missing in {}, or ca.pem is too, and the database knows the devices that trust it; restore both from a backup", .0.display()
    )]
    Gone(PathBuf),
    /// There are keys without certificates.
    #[error("ca.pem is missing beside ca.key in {}; restore both from a backup", .0.display())]
    HalfMissing(PathBuf),
    /// The certificates cannot be read.
    #[error("{} cannot be read: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The keys cannot be read or written, or the certificates cannot be written.
    #[error(transparent)]
    File(#[from] SecretFileError),
    /// The files do not hold valid authorities, or none can be created.
    #[error("ca.key and ca.pem cannot be used: {0}; restore both from a backup")]
    Unusable(#[from] MtlsError),
    /// Another command is changing the authorities.
    #[error("another command is changing the authorities; wait for it to end")]
    Busy,
    /// New files would belong to another user than the backend's.
    #[error(
        "{} belongs to another user, who could not read what is written here; run this as that user", .0.display()
    )]
    OtherUser(PathBuf),
    /// Two authorities are active already.
    #[error(
        "one authority is taking over from another already; end that first with `orion-server ca retire`"
    )]
    TakingOver,
    /// There is only one authority, so none can be retired.
    #[error(
        "there is one authority only, and nothing to retire; `orion-server ca rotate` makes another"
    )]
    OnlyOne,
    /// Another command changed the authorities since they were read.
    #[error(
        "the authorities have changed since, and nothing was done; look at them with `orion-server ca list` and run the command again"
    )]
    Changed,
    /// The store failed.
    #[error("the database cannot be read: {0}")]
    Store(#[from] crate::store::StoreError),
}
