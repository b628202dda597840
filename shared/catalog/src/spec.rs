//! What a tool is: a type with constants and one pure function, and the same as a plain value.

use orion_domain::{
    CanonicalArguments, Capability, ErrorCode, Places, Risk, ToolError, ToolFacts, Touches, Undo,
};
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

/// What a tool is about.
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
    /// The word that people and wire use.
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

/// Another name that reaches the tool, with the arguments of the system it comes from.
#[derive(Debug, Clone, Copy)]
pub struct Alias {
    /// The other name.
    pub name: &'static str,
    /// Rewrites that system's arguments to the tool's.
    pub adapt: fn(&mut Map<String, Value>),
}

impl Alias {
    /// An alias whose arguments are the tool's own.
    #[must_use]
    pub const fn plain(name: &'static str) -> Self {
        Self { name, adapt: |_| {} }
    }
}

/// One tool.
pub trait Tool: 'static {
    /// What it takes. Closed: an unknown field is an error.
    type Arguments: DeserializeOwned + Serialize + JsonSchema;
    /// What it gives as `data`.
    type Returns: Serialize + JsonSchema;

    /// Its name, `snake_case`.
    const NAME: &'static str;
    /// Other names for it.
    const ALIASES: &'static [Alias] = &[];
    /// Other names of its arguments, each with the name it stands for.
    const ARGUMENT_ALIASES: &'static [(&'static str, &'static str)] = &[];
    /// What it is about.
    const CATEGORY: Category;
    /// What a model reads: what it does, when to use it, when not.
    const DESCRIPTION: &'static str;
    /// How much harm it can do.
    const RISK: Risk;
    /// What a grant must hold.
    const CAPABILITIES: &'static [Capability];
    /// Whether it changes anything.
    const HAS_EFFECTS: bool;
    /// Whether running it twice does what running it once does.
    const IDEMPOTENT: bool;
    /// Whether it can be taken back.
    const UNDO: bool = false;
    /// Whether its output may have been written by strangers.
    const UNTRUSTED: bool = false;
    /// Whether the output of a preview may have been, because it shows what is there.
    const UNTRUSTED_PREVIEW: bool = false;
    /// A call in the text form.
    const EXAMPLE: &'static str;

    /// What a call would touch.
    ///
    /// # Errors
    /// An argument that cannot be what it should be on that device, such as a malformed path.
    fn touches(arguments: &Self::Arguments, places: &Places) -> Result<Touches, ToolError>;

    /// Whether the arguments say `confirm: true`; tools without that argument need none.
    fn confirmed(_arguments: &Self::Arguments) -> bool {
        true
    }
}

/// A tool as a value: a row of the catalogue.
#[derive(Clone, Copy)]
pub struct ToolSpec {
    /// Its name.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [Alias],
    /// Other names of its arguments, each with the name it stands for.
    pub argument_aliases: &'static [(&'static str, &'static str)],
    /// What it is about.
    pub category: Category,
    /// What a model reads.
    pub description: &'static str,
    /// How much harm it can do.
    pub risk: Risk,
    /// What a grant must hold.
    pub capabilities: &'static [Capability],
    /// Whether it changes anything.
    pub has_effects: bool,
    /// Whether running it twice does what running it once does.
    pub idempotent: bool,
    /// Whether it can be taken back.
    pub undo: bool,
    /// Whether its output may have been written by strangers.
    pub untrusted: bool,
    /// Whether the output of a preview may have been, because it shows what is there.
    pub untrusted_preview: bool,
    /// A call in the text form.
    pub example: &'static str,
    arguments_schema: fn() -> Value,
    returns_schema: fn() -> Value,
    parse: fn(Map<String, Value>, &Places) -> Result<ParsedCall, ToolError>,
}

impl std::fmt::Debug for ToolSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolSpec").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Arguments that fit the tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedCall {
    /// Every argument, defaults included, in the one form that is hashed and sent.
    pub arguments: CanonicalArguments,
    /// What the call would touch.
    pub touches: Touches,
    /// Whether `confirm` was given where it is wanted.
    pub confirmed: bool,
    /// What policy needs to know of what the call does.
    pub facts: ToolFacts<'static>,
    /// What it takes back or does again, of an undoing, once that is known.
    pub undo: Option<Undo>,
}

impl ToolSpec {
    /// The row of a tool.
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
            example: T::EXAMPLE,
            arguments_schema: schema::<T::Arguments>,
            returns_schema: schema::<T::Returns>,
            parse: parse::<T>,
        }
    }

    /// JSON Schema of the arguments, references resolved, closed.
    #[must_use]
    pub fn arguments_schema(&self) -> Value {
        (self.arguments_schema)()
    }

    /// JSON Schema of `data` in the result.
    #[must_use]
    pub fn returns_schema(&self) -> Value {
        (self.returns_schema)()
    }

    /// Takes arguments into the tool's own type and back into the canonical form.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for what does not fit the schema, `INVALID_PATH` for a path that cannot
    /// be one on that device.
    pub fn parse(
        &self,
        arguments: Map<String, Value>,
        places: &Places,
    ) -> Result<ParsedCall, ToolError> {
        (self.parse)(arguments, places)
    }

    /// Puts arguments that came under another name under their own. Where both are there, the other
    /// name stays and is refused as unknown.
    pub fn rename_arguments(&self, arguments: &mut Map<String, Value>) {
        for &(other, own) in self.argument_aliases {
            if !arguments.contains_key(own)
                && let Some(value) = arguments.remove(other)
            {
                arguments.insert(own.to_owned(), value);
            }
        }
    }

    /// What policy needs to know.
    #[must_use]
    pub const fn facts(&self) -> ToolFacts<'static> {
        ToolFacts {
            name: self.name,
            risk: self.risk,
            capabilities: self.capabilities,
            has_effects: self.has_effects,
            called: None,
        }
    }
}

impl ParsedCall {
    /// The same undoing as what it does. An undoing that does a call again is judged as that call and as
    /// itself: `touched` is what that call touched, which was confirmed when it was made.
    ///
    /// # Errors
    /// `PRECONDITION_FAILED` where this version has no such tool.
    pub fn undoing(self, undo: Undo, touched: &Touches) -> Result<Self, ToolError> {
        if !undo.redo {
            return Ok(Self { undo: Some(undo), ..self });
        }
        let Some((spec, _)) = crate::find(&undo.tool) else {
            return Err(ToolError::new(
                ErrorCode::PreconditionFailed,
                "The call cannot be done again, because its tool is not known. Make a new call.",
            ));
        };
        Ok(Self {
            facts: spec.facts().called_by(self.facts),
            touches: touched.clone().and(self.touches),
            undo: Some(undo),
            ..self
        })
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
        facts: ToolSpec::of::<T>().facts(),
        undo: None,
    })
}
