//! What confines a program, as data.

use serde::{Deserialize, Serialize};

/// What a program may do with files below an open handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rights {
    /// Lists folders and reads no file.
    List,
    /// Reads files and lists folders.
    Read,
    /// Reads files, lists folders and executes programs.
    Execute,
    /// Reads, makes and changes files, deletes none and executes none.
    Write,
    /// Reads, makes, changes and executes files, and deletes none.
    WriteAndExecute,
    /// Reads, changes and deletes files, and executes none.
    Change,
    /// Reads, changes, deletes and executes files.
    ChangeAndExecute,
    /// Reads and writes a device such as `/dev/null`.
    Device,
    /// Connects to a socket file. Kernels before Landlock 9 do not restrict to which.
    Connect,
}

/// What a program may do on the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Opens no socket.
    Nothing,
    /// Connects to hosts over IPv4 and IPv6, and to nothing on this machine by a socket file.
    Hosts,
    /// Connects to socket files of this machine, by streams, and to no host. Only for the tools that ask the
    /// managers of services.
    Services,
}

/// Which files' mode, owner, times and attributes a program may change. Landlock does not govern that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metadata {
    /// No file's.
    Nothing,
    /// Those of files that it could open.
    OfOpenFiles,
    /// Those of every file of its account, by path: compilers need it.
    Anything,
}
