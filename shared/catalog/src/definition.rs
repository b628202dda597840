//! The definition of a custom tool, as data: what a device announces, with the rules that it keeps, and what a call
//! of it starts and touches.
//!
//! Not here: whether its name is free, and how an approved definition becomes a tool ([`crate::custom`]).

mod call;
mod check;
mod name;
mod parameter;
mod returns;
mod template;

use std::collections::BTreeSet;

use orion_domain::{CanonicalArguments, Capability, Digest, Risk};
use serde::{Deserialize, Serialize};

pub use call::{DeclaredPath, PreparedCall, arguments_of, prepared};
pub(crate) use call::{FittingCall, fit, schema};
use check::check;
pub use check::{DefinitionError, MAX_DEFINITION_BYTES};
pub use name::{MAX_NAME_BYTES, tool_of_server};
pub use parameter::{Kind, Parameter};
pub use returns::CustomReturns;
pub use template::{Group, Part};
use template::{Word, texts, word};

/// The definition of a custom tool. A value of this type may break any rule until [`crate::custom::read`] or
/// [`crate::custom::checked`] has returned it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// The name by which calls name the tool.
    pub name: String,
    /// What the tool does, in the words of the device.
    pub description: String,
    /// The harm that a call can do, as the owner of the device sees it. An admin may see more.
    pub risk: Risk,
    /// Permissions that a call needs besides those that follow from what it touches.
    pub permissions: BTreeSet<Capability>,
    /// The arguments, sorted by name.
    pub parameters: Vec<Parameter>,
    /// What a call starts.
    pub run: Run,
    /// What a call touches.
    pub touches: DeclaredTouches,
}

/// What a call of a custom tool starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Run {
    /// A program, once for each call.
    Program(ProgramRun),
    /// A tool of an MCP server, which the device starts and keeps.
    Mcp(McpRun),
}

/// A program with the form of its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramRun {
    /// The program: a name that the device looks up, or an absolute path.
    pub program: String,
    /// The arguments, without the program.
    pub argv: Vec<Part>,
    /// The folder that the program starts in, which it may read.
    pub folder: String,
    /// Seconds until everything that was started is ended.
    pub timeout: u32,
    /// Files and folders that the program consists of, such as a folder of modules. It may read and execute
    /// them, and no call may be able to change them.
    pub code: Vec<String>,
}

/// A tool of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpRun {
    /// The name of the server in the agent's configuration.
    pub server: String,
    /// The name of the tool on that server.
    pub tool: String,
    /// The program of the server: a name that the device looks up, or an absolute path.
    pub program: String,
    /// The arguments of the server.
    pub argv: Vec<String>,
    /// Names of variables of the agent's environment that the server gets.
    pub environment: Vec<String>,
    /// Files and folders that the server consists of, as for a program.
    pub code: Vec<String>,
}

/// What a call touches: the names of arguments in braces, or fixed values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DeclaredTouches {
    /// Paths that are read.
    pub read: Vec<String>,
    /// Paths that are written.
    pub write: Vec<String>,
    /// Paths in which files are deleted or renamed.
    pub delete: Vec<String>,
    /// Hosts with ports that are contacted. Where there are none, the program has no network.
    pub hosts: Vec<String>,
}

impl Definition {
    /// Parses a definition that a device announced: canonical JSON that keeps every rule but that of its name.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, DefinitionError> {
        if bytes.len() > MAX_DEFINITION_BYTES {
            return Err(DefinitionError::TooLarge { bytes: bytes.len() });
        }
        let unreadable = |error: String| DefinitionError::Unreadable(error);
        let text = std::str::from_utf8(bytes).map_err(|error| unreadable(error.to_string()))?;
        // The names of a JSON object are unique here.
        orion_domain::json::parse(text).map_err(|error| unreadable(error.to_string()))?;
        let definition: Self =
            serde_json::from_str(text).map_err(|error| unreadable(error.to_string()))?;
        if definition.canonical().as_bytes() != bytes {
            return Err(DefinitionError::NotCanonical);
        }
        definition.checked()
    }

    /// Returns the definition if it keeps every rule but that of its name.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub(crate) fn checked(self) -> Result<Self, DefinitionError> {
        let bytes = self.canonical().as_bytes().len();
        if bytes > MAX_DEFINITION_BYTES {
            return Err(DefinitionError::TooLarge { bytes });
        }
        check(&self)?;
        Ok(self)
    }

    /// Returns the canonical form: JSON with sorted keys and no white space.
    #[must_use]
    pub fn canonical(&self) -> CanonicalArguments {
        // Plain structs of text and numbers always serialize. If one did not, its digest would be that of no
        // definition.
        CanonicalArguments::from_value(&serde_json::to_value(self).unwrap_or_default())
    }

    /// Returns the SHA-256 of the canonical form, which identifies the definition.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.canonical().digest()
    }

    /// Returns the permissions that a call needs: those that are declared, and those that follow from what it
    /// starts and touches.
    #[must_use]
    pub fn capabilities(&self) -> BTreeSet<Capability> {
        let DeclaredTouches { read, write, delete, hosts } = &self.touches;
        let mut all = self.permissions.clone();
        all.insert(Capability::CommandExecute);
        for (named, capability) in [
            (read, Capability::FileRead),
            (write, Capability::FileWrite),
            (delete, Capability::FileDelete),
            // A program that deletes in a folder can write there.
            (delete, Capability::FileWrite),
            (hosts, Capability::NetworkAccess),
        ] {
            if !named.is_empty() {
                all.insert(capability);
            }
        }
        all
    }

    /// Returns the parameter of this name.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }
}

impl Run {
    /// Returns the program that is started.
    #[must_use]
    pub fn program(&self) -> &str {
        match self {
            Self::Program(run) => &run.program,
            Self::Mcp(run) => &run.program,
        }
    }

    /// Returns the arguments of the program that are the same in every call.
    #[must_use]
    pub fn fixed_arguments(&self) -> Vec<&str> {
        match self {
            Self::Program(run) => {
                texts(&run.argv).filter(|text| matches!(word(text), Some(Word::Fixed(_)))).collect()
            }
            Self::Mcp(run) => run.argv.iter().map(String::as_str).collect(),
        }
    }

    /// Returns the files and folders that the program consists of.
    #[must_use]
    pub fn code(&self) -> &[String] {
        match self {
            Self::Program(run) => &run.code,
            Self::Mcp(run) => &run.code,
        }
    }
}
