//! Where a tool runs and how, which decides its confinement.

use serde::Serialize;

/// Where a tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunsOn {
    /// The device that the call names.
    Device,
    /// The backend.
    Backend,
}

/// How a tool runs. A system that cannot confine a kind refuses the tools of that kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Execution {
    /// Orion's own code, which reaches files in the allowed folders and nothing else.
    File,
    /// Orion's own code, which neither opens files that a call names nor starts programs. It contacts only
    /// hosts that the tool's `touches` returns, and those that the tool names itself: the device, its gateway,
    /// its resolvers and its backend.
    Plain,
    /// A program that Orion starts, waits for and ends.
    ChildProcess,
    /// Orion's own code, which starts, lists or ends applications on the person's desktop.
    DesktopApp,
}

impl RunsOn {
    /// Returns the name that people and the documentation use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Backend => "backend",
        }
    }
}

impl Execution {
    /// Returns the name that people and the documentation use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Plain => "plain",
            Self::ChildProcess => "child process",
            Self::DesktopApp => "desktop app",
        }
    }
}
