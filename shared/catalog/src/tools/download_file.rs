//! `download_file`: brings a file from a device to a person.

use orion_domain::{Access, Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;
use crate::content::Content;
use crate::execution::Execution;
use crate::sample::{Sample, Target};
use crate::spec::{Category, Tool};

/// The `download_file` tool.
#[derive(Debug)]
pub struct DownloadFile;

/// What to bring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The file. Relative paths start in the workspace.
    pub path: String,
}

/// What was brought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The file.
    pub path: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// SHA-256 of its content, in hexadecimal.
    pub sha256: String,
}

impl Tool for DownloadFile {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "download_file";
    const CATEGORY: Category = Category::File;
    const DESCRIPTION: &'static str = "Brings a file of any size and any bytes from a device to the person, who \
        runs `orion cp DEVICE:PATH .` for that. To see what is in a file, use read_file. To bring a file to \
        another device, use transfer_file.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::FileRead];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const OF_FILES: bool = true;
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"download_file","device":"laptop-123","path":"report.pdf"}"#;
    const EXECUTION: Execution = Execution::File;
    const CONTENT: Content = Content::ToPerson;
    const SAMPLE: Sample = Sample { target: Target::File, arguments: "{}" };

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::path(path(places, &arguments.path)?, Access::Read))
    }
}
