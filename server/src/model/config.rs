//! One `[[models]]` section of `orion-server.toml`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use orion_domain::Secret;
use serde::{Deserialize, Serialize};

use super::{ModelError, Price, Prices};

/// Maximum size of a key; a larger file is not a key.
const MAX_KEY_BYTES: usize = 8 * 1024;

/// Maximum number of models that may answer instead of one.
const MAX_FALLBACKS: usize = 8;
/// The part of a window that is left for the answer where the section says nothing: one of this many.
const PART_FOR_ANSWER: u32 = 4;

/// The kind of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelKind {
    /// A server with an API compatible with OpenAI's.
    Openai,
    /// Anthropic's Messages API.
    Anthropic,
    /// Google's Gemini API.
    Gemini,
    /// The built-in planner.
    Planner,
}

/// Which of OpenAI's APIs a server speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// Chat Completions, which most servers speak.
    #[default]
    Chat,
    /// Responses.
    Responses,
}

/// How a model receives tools and calls them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolCalls {
    /// In the provider's native form.
    Native,
    /// As text in the prompt and JSON in the answer, for models without tool calls.
    Text,
    /// In the native form until the server rejects it, then as text.
    #[default]
    Auto,
}

/// One model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// The model's name for people.
    pub name: String,
    /// The model's kind.
    pub kind: ModelKind,
    /// Which API of kind `openai` it is.
    #[serde(default)]
    pub api: Api,
    /// The base URL, such as `http://127.0.0.1:11434/v1`.
    #[serde(default)]
    pub url: Option<String>,
    /// The model's name at its provider.
    #[serde(default)]
    pub model: Option<String>,
    /// A file that contains only the key.
    #[serde(default)]
    pub api_key_file: Option<PathBuf>,
    /// An environment variable with the key.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// How the model receives tools.
    #[serde(default)]
    pub tool_calls: ToolCalls,
    /// Timeout of a whole answer, in seconds, from 1 to 3600.
    #[serde(default = "two_minutes")]
    pub timeout_seconds: u64,
    /// Maximum size of an answer's text and calls, in bytes, from 1024 to 64 MiB.
    #[serde(default = "one_mebibyte")]
    pub max_answer_bytes: usize,
    /// Maximum length of an answer, in tokens, as the provider is told. None leaves it to the provider.
    #[serde(default)]
    pub max_output_tokens: Option<u32>,
    /// The model's window, in tokens: what a request and its answer may have together.
    #[serde(default = "window")]
    pub context_tokens: u32,
    /// The models, by name, that answer instead where this one cannot be reached or is overloaded.
    #[serde(default)]
    pub fallback: Vec<String>,
    /// The price of a million tokens of input.
    #[serde(default)]
    pub price_input: Price,
    /// The price of a million tokens of output.
    #[serde(default)]
    pub price_output: Price,
    /// The price of a million tokens of input from the provider's cache; that of input if it is not set.
    #[serde(default)]
    pub price_cached: Option<Price>,
}

const fn window() -> u32 {
    131_072
}

const fn two_minutes() -> u64 {
    120
}

const fn one_mebibyte() -> usize {
    1024 * 1024
}

impl ModelConfig {
    /// Returns the built-in planner, for a backend without a configured model.
    #[must_use]
    pub fn planner() -> Self {
        Self {
            name: "planner".to_owned(),
            kind: ModelKind::Planner,
            url: None,
            model: None,
            api_key_file: None,
            api_key_env: None,
            tool_calls: ToolCalls::Auto,
            timeout_seconds: two_minutes(),
            max_answer_bytes: one_mebibyte(),
            api: Api::Chat,
            max_output_tokens: None,
            context_tokens: window(),
            fallback: Vec::new(),
            price_input: Price::default(),
            price_output: Price::default(),
            price_cached: None,
        }
    }

    /// Validates the section without reading any file.
    ///
    /// # Errors
    /// [`ModelError::BadConfig`] with the first problem.
    pub fn check(&self) -> Result<(), ModelError> {
        if self.name.is_empty() || self.name.len() > 64 {
            return Err(self.bad("`name` must have 1 to 64 bytes"));
        }
        if !(1..=3600).contains(&self.timeout_seconds) {
            return Err(self.bad("`timeout_seconds` must be from 1 to 3600"));
        }
        if !(1024..=64 * 1024 * 1024).contains(&self.max_answer_bytes) {
            return Err(self.bad("`max_answer_bytes` must be from 1024 to 67108864"));
        }
        if !(2048..=100_000_000).contains(&self.context_tokens) {
            return Err(self.bad("`context_tokens` must be from 2048 to 100000000"));
        }
        if self.max_output_tokens.is_some_and(|most| most == 0 || most > self.context_tokens / 2) {
            return Err(self.bad("`max_output_tokens` must be from 1 to half of `context_tokens`"));
        }
        if self.fallback.len() > MAX_FALLBACKS || self.fallback.contains(&self.name) {
            return Err(self.bad("`fallback` takes at most 8 names of other models"));
        }
        if self.api == Api::Responses && self.kind != ModelKind::Openai {
            return Err(self.bad("`api` is for kind = \"openai\" only"));
        }
        let connects = [
            self.url.is_some(),
            self.model.is_some(),
            self.api_key_file.is_some(),
            self.api_key_env.is_some(),
        ];
        match self.kind {
            ModelKind::Planner if connects.contains(&true) => Err(self.bad(
                "the planner is built in and takes no `url`, `model` or key; for a language model say kind = \"openai\"",
            )),
            ModelKind::Planner => Ok(()),
            ModelKind::Openai if self.url.as_deref().is_none_or(str::is_empty) => Err(self.bad(
                "`url` is missing; give the address below which /chat/completions is, such as http://127.0.0.1:11434/v1",
            )),
            ModelKind::Openai | ModelKind::Anthropic | ModelKind::Gemini
                if self.model.as_deref().is_none_or(str::is_empty) =>
            {
                Err(self.bad("`model` is missing; give the model's name at its provider"))
            }
            ModelKind::Openai | ModelKind::Anthropic | ModelKind::Gemini
                if self.api_key_file.is_some() && self.api_key_env.is_some() =>
            {
                Err(self.bad("give one of `api_key_file` and `api_key_env`, not both"))
            }
            ModelKind::Openai | ModelKind::Anthropic | ModelKind::Gemini => Ok(()),
        }
    }

    /// Returns how many tokens of the window are left for an answer.
    #[must_use]
    pub fn answer_tokens(&self) -> u32 {
        self.max_output_tokens.unwrap_or(self.context_tokens / PART_FOR_ANSWER)
    }

    /// Returns the base address: `url`, or the provider's own.
    pub(super) fn address(&self) -> &str {
        self.url.as_deref().unwrap_or(match self.kind {
            ModelKind::Anthropic => "https://api.anthropic.com/v1",
            ModelKind::Gemini => "https://generativelanguage.googleapis.com/v1beta",
            ModelKind::Openai | ModelKind::Planner => "",
        })
    }

    /// Returns what its tokens cost.
    #[must_use]
    pub const fn prices(&self) -> Prices {
        Prices { input: self.price_input, output: self.price_output, cached: self.price_cached }
    }

    /// Returns the timeout of a whole answer.
    #[must_use]
    pub const fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }

    pub(super) fn bad(&self, reason: impl Into<String>) -> ModelError {
        ModelError::BadConfig { name: self.name.clone(), reason: reason.into() }
    }

    /// Returns the key, where one is configured. `variable` looks up the environment.
    pub(super) fn key(
        &self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Secret>, ModelError> {
        let (text, origin) = match (&self.api_key_file, &self.api_key_env) {
            (Some(path), _) => (self.key_in(path)?, format!("`api_key_file` {}", path.display())),
            (None, Some(name)) => {
                let text = variable(name).ok_or_else(|| {
                    self.bad(format!("`api_key_env` names {name}, which is not set to any text"))
                })?;
                (text, format!("`api_key_env` {name}"))
            }
            (None, None) => return Ok(None),
        };
        let key = text.trim();
        if key.is_empty() || key.len() > MAX_KEY_BYTES || !key.bytes().all(|b| b.is_ascii_graphic())
        {
            return Err(self.bad(format!(
                "{origin} must hold the key and nothing else: one line of printable characters"
            )));
        }
        Ok(Some(Secret::new(key)))
    }

    fn key_in(&self, path: &Path) -> Result<String, ModelError> {
        use std::io::Read as _;

        let mut text = String::new();
        std::fs::File::open(path)
            .and_then(|file| file.take(MAX_KEY_BYTES as u64 + 1).read_to_string(&mut text))
            .map_err(|error| {
                self.bad(format!("`api_key_file` {} cannot be read ({error}); name a file that this account may read", path.display()))
            })?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn openai(more: &str) -> Result<ModelConfig, toml::de::Error> {
        toml::from_str(&format!(
            "name = \"local\"\nkind = \"openai\"\nurl = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\n{more}"
        ))
    }

    #[test]
    fn defaults_fill_what_is_left_out() {
        assert_eq!(
            openai("").unwrap(),
            ModelConfig {
                name: "local".to_owned(),
                kind: ModelKind::Openai,
                url: Some("http://127.0.0.1:1/v1".to_owned()),
                model: Some("m".to_owned()),
                ..ModelConfig::planner()
            }
        );
    }

    #[test]
    fn an_unknown_key_or_kind_is_refused() {
        assert!(openai("temprature = 1").is_err());
        assert!(toml::from_str::<ModelConfig>("name = \"x\"\nkind = \"oracle\"").is_err());
    }

    #[test]
    fn what_cannot_work_is_said_before_anything_is_asked() {
        for (config, part) in [
            (ModelConfig { url: None, ..openai("").unwrap() }, "`url` is missing"),
            (ModelConfig { model: None, ..openai("").unwrap() }, "`model` is missing"),
            (openai("timeout_seconds = 0").unwrap(), "`timeout_seconds` must be"),
            (openai("max_answer_bytes = 1").unwrap(), "`max_answer_bytes` must be"),
            (openai("context_tokens = 1").unwrap(), "`context_tokens` must be"),
            (openai("max_output_tokens = 70000").unwrap(), "`max_output_tokens` must be"),
            (openai("fallback = [\"local\"]").unwrap(), "`fallback` takes"),
            (
                ModelConfig { kind: ModelKind::Gemini, api: Api::Responses, ..openai("").unwrap() },
                "`api` is for",
            ),
            (openai("api_key_file = \"a\"\napi_key_env = \"B\"").unwrap(), "not both"),
            (
                ModelConfig { model: Some("m".to_owned()), ..ModelConfig::planner() },
                "the planner is built in",
            ),
        ] {
            let error = config.check().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        assert_eq!(ModelConfig::planner().check(), Ok(()));
    }

    #[test]
    fn a_key_comes_from_a_file_or_a_variable_and_is_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "abc\n").unwrap();
        let file = ModelConfig { api_key_file: Some(path.clone()), ..openai("").unwrap() };
        assert_eq!(file.key(|_| None), Ok(Some(Secret::new("abc"))));
        std::fs::write(&path, "abc\ndef").unwrap();
        assert!(file.key(|_| None).unwrap_err().to_string().contains("one line"));

        let variable = openai("api_key_env = \"K\"").unwrap();
        assert_eq!(
            variable.key(|name| (name == "K").then(|| "xyz".to_owned())),
            Ok(Some(Secret::new("xyz")))
        );
        assert!(variable.key(|_| None).unwrap_err().to_string().contains("is not set"));
        assert_eq!(openai("").unwrap().key(|_| None), Ok(None));
    }
}
