//! `transfer_file`: brings a file from one device to another.

use orion_domain::{Access, Capability, ErrorCode, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;
use crate::content::Content;
use crate::execution::Execution;
use crate::sample::{Sample, Target};
use crate::spec::{Category, Tool};

/// The `transfer_file` tool.
#[derive(Debug)]
pub struct TransferFile;

/// What to bring from which device, and where to on this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The device that has the file.
    pub from_device: String,
    /// The file on that device.
    pub from_path: String,
    /// The file to write on the device of the call. Relative paths start in the workspace.
    pub path: String,
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
    /// The device that the file came from.
    pub from_device: String,
    /// The file on that device.
    pub from_path: String,
    /// The file that was written.
    pub path: String,
    /// Its size in bytes; missing in a preview.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// SHA-256 of its content, in hexadecimal; missing in a preview.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Whether a file at the path was, or in a preview would be, replaced.
    pub replaced: bool,
}

impl Tool for TransferFile {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "transfer_file";
    const CATEGORY: Category = Category::File;
    const DESCRIPTION: &'static str = "Brings a file of any size and any bytes from another device to the device of \
        the call. The file is read there by a call of download_file, which is evaluated and recorded as \
        well. On one device, use copy_path.";
    const RISK: Risk = Risk::Medium;
    const CAPABILITIES: &'static [Capability] = &[Capability::FileWrite];
    const HAS_EFFECTS: bool = true;
    // The source may change between two runs.
    const IDEMPOTENT: bool = false;
    const OF_FILES: bool = true;
    const UNDO: bool = true;
    const EXAMPLE: &'static str = r#"{"tool":"transfer_file","device":"server-1","from_device":"laptop-123","from_path":"report.pdf","path":"Archive/report.pdf"}"#;
    const EXECUTION: Execution = Execution::File;
    const CONTENT: Content = Content::FromDevice;
    const SAMPLE: Sample = Sample { target: Target::NewFile, arguments: r#"{"overwrite":true}"# };

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        if arguments.from_device.is_empty() || arguments.from_path.is_empty() {
            return Err(ToolError::new(
                ErrorCode::InvalidArgument,
                "transfer_file needs the device that has the file, and the file's path there.",
            ));
        }
        Ok(Touches::path(path(places, &arguments.path)?, Access::Write))
    }
}
