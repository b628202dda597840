//! Sample calls: what the test suites that call every tool have to know of one.

/// How the test suites call a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// What the tool's paths lead to.
    pub target: Target,
    /// Arguments besides the paths, as a JSON object, with which a call reads or changes as much as it can.
    /// They replace those of the tool's example; null leaves one out. `{line}` is the first line of the file
    /// at the path, `{name}` a part of the name of an entry below it.
    pub arguments: &'static str,
}

/// What the paths of a tool lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The tool takes no path.
    Nothing,
    /// A file, whose content the tool reads or changes.
    File,
    /// A file, whose content the tool writes, or a free name.
    NewFile,
    /// A folder, whose entries the tool reads or changes.
    Folder,
    /// A free name for a folder.
    NewFolder,
    /// An entry of any kind, which the tool takes as a whole.
    Entry,
}

impl Sample {
    /// The sample of a tool without paths: its example.
    pub const EXAMPLE: Self = Self { target: Target::Nothing, arguments: "{}" };
}

impl Target {
    /// Returns whether the tool opens a file at its path for the content.
    #[must_use]
    pub const fn is_content(self) -> bool {
        match self {
            Self::File | Self::NewFile => true,
            Self::Nothing | Self::Folder | Self::NewFolder | Self::Entry => false,
        }
    }
}
