//! An entry of a granted folder: its name in an open folder, and stamps and digests that tell later whether
//! it is the same and unchanged.

mod digest;
mod file_stamp;
mod target;

pub(crate) use digest::{
    Check, Extent, MAX_HASHED_BYTES, NoDigest, finish, of_reader, of_tree, with_digest,
};
pub(crate) use file_stamp::{FileStamp, disk_bytes, inode, is_executable, mode};
pub(crate) use target::{Location, Target, disk_bytes_at};
