//! The definition of a tool: a type with constants and one pure function, and the same as a plain value.

mod custom;
mod parsed_call;
mod secrets;
mod texts;

use std::time::Duration;

use orion_domain::{
    CanonicalArguments, Capability, Digest, ErrorCode, Places, Risk, ToolError, ToolFacts, Touches,
};
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::content::Content;
use crate::definition::{self, CustomReturns, Definition, FittingCall};
use crate::execution::{Execution, RunsOn};
use crate::sample::Sample;
use crate::secret_argument::SecretArgument;
pub use parsed_call::ParsedCall;

/// The category of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is its own word")]
pub enum Category {
    File,
    Config,
    App,
    Device,
    Health,
    Service,
    Command,
    Dev,
    Network,
    Schedule,
    Memory,
    Utility,
    Creative,
    Artifact,
}

impl Category {
    /// Returns the name that people and the wire use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Config => "config",
            Self::App => "app",
            Self::Device => "device",
            Self::Health => "health",
            Self::Service => "service",
            Self::Command => "command",
            Self::Dev => "dev",
            Self::Network => "network",
            Self::Schedule => "schedule",
            Self::Memory => "memory",
            Self::Utility => "utility",
            Self::Creative => "creative",
            Self::Artifact => "artifact",
        }
    }
}

/// An alias of the tool, with the arguments of the system that it comes from.
#[derive(Debug, Clone, Copy)]
pub struct Alias {
    /// The alias.
    pub name: &'static str,
    /// Rewrites that system's arguments to the tool's.
    pub adapt: fn(&mut Map<String, Value>),
}

impl Alias {
    /// Creates an alias with the tool's own arguments.
    #[must_use]
    pub const fn plain(name: &'static str) -> Self {
        Self { name, adapt: |_| {} }
    }
}

/// One tool.
pub trait Tool: 'static {
    /// The arguments. An unknown field is an error.
    type Arguments: DeserializeOwned + Serialize + JsonSchema;
    /// The type of `data` in the result.
    type Returns: Serialize + JsonSchema;

    /// The name, in `snake_case`.
    const NAME: &'static str;
    /// The aliases.
    const ALIASES: &'static [Alias] = &[];
    /// Aliases of arguments, each with the argument's name.
    const ARGUMENT_ALIASES: &'static [(&'static str, &'static str)] = &[];
    /// The category.
    const CATEGORY: Category;
    /// The description for a model: what the tool does, when to use it, when not.
    const DESCRIPTION: &'static str;
    /// The harm that a call can do.
    const RISK: Risk;
    /// The capabilities that a grant must contain.
    const CAPABILITIES: &'static [Capability];
    /// Whether the tool changes anything.
    const HAS_EFFECTS: bool;
    /// Whether a second run has the same effect as one run.
    const IDEMPOTENT: bool;
    /// Whether a call can be undone.
    const UNDO: bool = false;
    /// Whether the result can hold text that others wrote: contents, names, matches.
    const UNTRUSTED: bool = false;
    /// Whether the output of a preview is untrusted, because it shows existing content.
    const UNTRUSTED_PREVIEW: bool = false;
    /// Whether its paths are files, or are made by the call.
    const OF_FILES: bool = false;
    /// The names of the arguments whose text goes into a file.
    const WRITES: &'static [&'static str] = &[];
    /// An example call in the text form.
    const EXAMPLE: &'static str;
    /// Where the tool runs.
    const RUNS_ON: RunsOn = RunsOn::Device;
    /// How the tool runs, which decides its confinement.
    const EXECUTION: Execution;
    /// The devices that the tool exists on: `all`, the names of platforms, or the backend's name.
    const ALLOWED_DEVICES: &'static [&'static str] =
        allowed_devices(Self::RUNS_ON, Self::EXECUTION);
    /// Where the content of a call moves.
    const CONTENT: Content = Content::InCall;
    /// Arguments that are secret, whole or in part.
    const SECRETS: &'static [SecretArgument] = &[];
    /// The time of a call that asks for none. None for the backend's default.
    const TIMEOUT: Option<Duration> = None;
    /// How the test suites call the tool. A file tool states its own.
    const SAMPLE: Sample = Sample::EXAMPLE;

    /// Returns what a call would touch.
    ///
    /// # Errors
    /// An argument that is invalid on that device, such as a malformed path.
    fn touches(arguments: &Self::Arguments, places: &Places) -> Result<Touches, ToolError>;

    /// Returns whether the arguments contain `confirm: true`; tools without that argument need none.
    fn confirmed(_arguments: &Self::Arguments) -> bool {
        true
    }

    /// Returns why this call has its risk, in sentences for its approver; empty where the tool's risk
    /// says enough.
    #[must_use]
    fn reasons(_arguments: &Self::Arguments) -> Vec<String> {
        Vec::new()
    }

    /// Returns what the policy needs to know of one call: the tool's own facts, but where they depend on the
    /// arguments.
    #[must_use]
    fn facts(_arguments: &Self::Arguments, facts: ToolFacts<'static>) -> ToolFacts<'static> {
        facts
    }
}

/// A tool as a value: a row of the catalogue.
#[derive(Clone, Copy)]
pub struct ToolSpec {
    /// The tool's name.
    pub name: &'static str,
    /// The aliases.
    pub aliases: &'static [Alias],
    /// Aliases of arguments, each with the argument's name.
    pub argument_aliases: &'static [(&'static str, &'static str)],
    /// The category.
    pub category: Category,
    /// The description for a model.
    pub description: &'static str,
    /// The harm that a call can do.
    pub risk: Risk,
    /// The capabilities that a grant must contain.
    pub capabilities: &'static [Capability],
    /// Whether the tool changes anything.
    pub has_effects: bool,
    /// Whether a second run has the same effect as one run.
    pub idempotent: bool,
    /// Whether a call can be undone.
    pub undo: bool,
    /// Whether the tool's output is untrusted.
    pub untrusted: bool,
    /// Whether the output of a preview is untrusted, because it shows existing content.
    pub untrusted_preview: bool,
    /// Whether its paths are files, or are made by the call.
    pub of_files: bool,
    /// The names of the arguments whose text goes into a file.
    pub writes: &'static [&'static str],
    /// An example call in the text form.
    pub example: &'static str,
    /// Where the tool runs.
    pub runs_on: RunsOn,
    /// How the tool runs, which decides its confinement.
    pub execution: Execution,
    /// The devices that the tool exists on.
    pub allowed_devices: &'static [&'static str],
    /// Where the content of a call moves.
    pub content: Content,
    /// Arguments that are secret, whole or in part.
    pub secrets: &'static [SecretArgument],
    /// The time of a call that asks for none. None for the backend's default.
    pub timeout: Option<Duration>,
    /// How the test suites call the tool.
    pub sample: Sample,
    body: Body,
}

/// Where the arguments of a tool are defined.
#[derive(Clone, Copy)]
enum Body {
    /// In a type of the catalogue.
    Typed {
        arguments_schema: fn() -> Value,
        returns_schema: fn() -> Value,
        parse: fn(Map<String, Value>, &Places) -> Result<ParsedCall, ToolError>,
    },
    /// In the approved definition of a device.
    Custom { definition: &'static Definition, digest: Digest },
}

impl std::fmt::Debug for ToolSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolSpec").field("name", &self.name).finish_non_exhaustive()
    }
}

impl ToolSpec {
    /// Creates the row of a tool.
    #[must_use]
    pub const fn of<T: Tool>() -> Self {
        Self {
            name: T::NAME,
            aliases: T::ALIASES,
            argument_aliases: T::ARGUMENT_ALIASES,
            category: T::CATEGORY,
            description: T::DESCRIPTION,
            risk: T::RISK,
            capabilities: T::CAPABILITIES,
            has_effects: T::HAS_EFFECTS,
            idempotent: T::IDEMPOTENT,
            undo: T::UNDO,
            untrusted: T::UNTRUSTED,
            untrusted_preview: T::UNTRUSTED_PREVIEW,
            of_files: T::OF_FILES,
            writes: T::WRITES,
            example: T::EXAMPLE,
            runs_on: T::RUNS_ON,
            execution: T::EXECUTION,
            allowed_devices: T::ALLOWED_DEVICES,
            content: T::CONTENT,
            secrets: T::SECRETS,
            timeout: T::TIMEOUT,
            sample: T::SAMPLE,
            body: Body::Typed {
                arguments_schema: schema::<T::Arguments>,
                returns_schema: schema::<T::Returns>,
                parse: parse::<T>,
            },
        }
    }

    /// Returns the JSON Schema of the arguments, references resolved, closed.
    #[must_use]
    pub fn arguments_schema(&self) -> Value {
        match self.body {
            Body::Typed { arguments_schema, .. } => arguments_schema(),
            Body::Custom { definition, .. } => definition::schema(definition),
        }
    }

    /// Returns the JSON Schema of `data` in the result.
    #[must_use]
    pub fn returns_schema(&self) -> Value {
        match self.body {
            Body::Typed { returns_schema, .. } => returns_schema(),
            Body::Custom { .. } => schema::<CustomReturns>(),
        }
    }

    /// Parses arguments into the tool's own type and returns their canonical form.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for what does not match the schema, `INVALID_PATH` for a path that is invalid
    /// on that device.
    pub fn parse(
        &self,
        arguments: Map<String, Value>,
        places: &Places,
    ) -> Result<ParsedCall, ToolError> {
        match self.body {
            Body::Typed { parse, .. } => parse(arguments, places),
            Body::Custom { definition, digest } => {
                let fitting = definition::fit((definition, digest), arguments, places)?;
                let FittingCall { arguments, touches, confirmed, reason } = fitting;
                let (facts, reasons) = (self.facts(), vec![reason]);
                Ok(ParsedCall { arguments, touches, confirmed, facts, reasons, undo: None })
            }
        }
    }

    /// Converts arguments to the tool's own: those of the alias that was used, and those under other names.
    /// Where both names of one are given, the other name stays and is rejected as unknown.
    pub fn adapt_arguments(&self, alias: Option<Alias>, arguments: &mut Map<String, Value>) {
        if let Some(alias) = alias {
            (alias.adapt)(arguments);
        }
        for &(other, own) in self.argument_aliases {
            if !arguments.contains_key(own)
                && let Some(value) = arguments.remove(other)
            {
                arguments.insert(own.to_owned(), value);
            }
        }
    }

    /// Returns what the policy needs to know.
    #[must_use]
    pub const fn facts(&self) -> ToolFacts<'static> {
        ToolFacts {
            name: self.name,
            risk: self.risk,
            capabilities: self.capabilities,
            has_effects: self.has_effects,
            role: None,
            can_undo: self.undo,
            of_files: self.of_files,
            is_custom: matches!(self.body, Body::Custom { .. }),
            called: None,
        }
    }
}

/// Returns the devices that a tool of this kind exists on.
const fn allowed_devices(runs_on: RunsOn, execution: Execution) -> &'static [&'static str] {
    match (runs_on, execution) {
        (RunsOn::Backend, _) => &["backend"],
        // Programs are confined on Linux only, and nowhere started unconfined.
        (RunsOn::Device, Execution::ChildProcess) => &["linux"],
        (RunsOn::Device, Execution::File | Execution::Plain | Execution::DesktopApp) => &["all"],
    }
}

fn schema<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<T>().to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("title");
        object.remove("description");
    }
    schema
}

fn parse<T: Tool>(arguments: Map<String, Value>, places: &Places) -> Result<ParsedCall, ToolError> {
    let typed: T::Arguments =
        serde_json::from_value(Value::Object(arguments)).map_err(|error| {
            ToolError::new(
                ErrorCode::InvalidArgument,
                format!("The arguments of {} do not fit: {error}.", T::NAME),
            )
            .with("example", T::EXAMPLE)
        })?;
    let value = serde_json::to_value(&typed).map_err(|error| {
        ToolError::new(
            ErrorCode::InvalidArgument,
            format!("The arguments of {}: {error}.", T::NAME),
        )
    })?;
    Ok(ParsedCall {
        arguments: CanonicalArguments::from_value(&value),
        touches: T::touches(&typed, places)?,
        confirmed: T::confirmed(&typed),
        facts: T::facts(&typed, ToolSpec::of::<T>().facts()),
        reasons: T::reasons(&typed),
        undo: None,
    })
}
