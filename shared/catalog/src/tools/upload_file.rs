//! `upload_file`: brings a file from a person to a device.

use orion_domain::{Access, Capability, Digest, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;
use crate::content::Content;
use crate::execution::Execution;
use crate::sample::{Sample, Target};
use crate::spec::{Category, Tool};

/// The `upload_file` tool.
#[derive(Debug)]
pub struct UploadFile;

/// What to bring, and where to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The file to write. Relative paths start in the workspace.
    pub path: String,
    /// Size of the content in bytes.
    pub size_bytes: u64,
    /// SHA-256 of the content, 64 hexadecimal digits. Other content is not put in place.
    #[schemars(with = "String", length(min = 64, max = 64))]
    pub sha256: Digest,
    /// Whether a file at the path may be replaced. It goes to Orion's trash.
    #[serde(default)]
    pub overwrite: bool,
    /// Whether to make missing folders on the way.
    #[serde(default = "yes")]
    pub create_dirs: bool,
}

const fn yes() -> bool {
    true
}

/// What is there now, or in a preview would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The file.
    pub path: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// SHA-256 of its content, in hexadecimal.
    pub sha256: String,
    /// Whether a file at the path was, or in a preview would be, replaced.
    pub replaced: bool,
}

impl Tool for UploadFile {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "upload_file";
    const CATEGORY: Category = Category::File;
    const DESCRIPTION: &'static str = "Brings a file of any size and any bytes from the person to a device. The \
        person runs `orion cp FILE DEVICE:PATH` for that. To write a text, use write_file. To bring a file \
        from another device, use transfer_file.";
    const RISK: Risk = Risk::Medium;
    const CAPABILITIES: &'static [Capability] = &[Capability::FileWrite];
    const HAS_EFFECTS: bool = true;
    // The second call finds a file that it may not replace.
    const IDEMPOTENT: bool = false;
    const OF_FILES: bool = true;
    const UNDO: bool = true;
    const EXAMPLE: &'static str = r#"{"tool":"upload_file","device":"laptop-123","path":"notes/today.md","size_bytes":5,"sha256":"d35a55aaf375d64433fc87297b0dfced65a5409087aa5732559340ef0cc912ef"}"#;
    const EXECUTION: Execution = Execution::File;
    const CONTENT: Content = Content::FromPerson;
    const SAMPLE: Sample = Sample { target: Target::NewFile, arguments: r#"{"overwrite":true}"# };

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::path(path(places, &arguments.path)?, Access::Write))
    }
}
