//! Access lists of Windows: who else than the owner, the system and its administrators may use a file or folder.
//!
//! [`list`] judges a list by its text, and is tested on every system; [`files`] asks Windows for it and sets it.

#[cfg(windows)]
mod files;
#[cfg(any(windows, test))]
mod list;

#[cfg(windows)]
pub(crate) use files::{
    copy_list, create_private, fault_at, give_to_service, make_private, show_to_service,
};
#[cfg(windows)]
pub(crate) use list::{Fault, Others};
