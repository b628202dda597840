//! `list_llm_models`: the configured language models, grouped by what their names say that they are for.

use orion_catalog::tools::list_llm_models::{
    Arguments, Groups, ListLlmModels, ListedModel, Returns,
};
use orion_domain::ToolError;

use super::{Context, LocalTool, Outcome};
use crate::model::{ModelConfig, ModelKind};

/// Parts of the names of models that run at their provider.
const CLOUD: [&str; 4] = ["-cloud", ":cloud", "moonshot", "kimi"];
/// Parts of the names of models that turn text into numbers.
const EMBEDDING: [&str; 3] = ["embed", "bge-", "minilm"];
/// Parts of the names of models that read pictures.
const VISION: [&str; 6] = ["llava", "bakllava", "vision", "-vl", "moondream", "minicpm-v"];
/// Parts of the names of models for program text.
const CODE: [&str; 6] = ["coder", "codellama", "codegemma", "codestral", "devstral", "-code"];

impl LocalTool for ListLlmModels {
    async fn run(_: Arguments, context: Context) -> Result<Outcome<Returns>, ToolError> {
        let models = &context.config.models;
        let listed = listed(models);
        let message = match listed.count {
            0 => "No language model is configured; the built-in planner answers.".to_owned(),
            1 => "1 model.".to_owned(),
            count => format!("{count} models."),
        };
        Ok(Outcome { message, data: listed, truncated: false })
    }
}

/// Returns the models of the sections. The planner is no language model.
fn listed(models: &[ModelConfig]) -> Returns {
    let mut groups = Groups::default();
    let mut count = 0;
    for config in models {
        let provider = match config.kind {
            ModelKind::Openai => "openai",
            ModelKind::Anthropic => "anthropic",
            ModelKind::Gemini => "gemini",
            ModelKind::Planner => continue,
        };
        let model = config.model.clone().unwrap_or_default();
        let group = group_of(&mut groups, config.kind, &model);
        group.push(ListedModel { provider: provider.to_owned(), name: config.name.clone(), model });
        count += 1;
    }
    let Groups { general, code, vision, embedding, cloud } = &mut groups;
    [general, code, vision, embedding, cloud].into_iter().for_each(|group| group.sort());
    let first = models.first().filter(|first| first.kind != ModelKind::Planner);
    Returns { models: groups, count, default: first.map(|first| first.name.clone()) }
}

fn group_of<'a>(groups: &'a mut Groups, kind: ModelKind, model: &str) -> &'a mut Vec<ListedModel> {
    let lower = model.to_ascii_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    if has(&EMBEDDING) {
        &mut groups.embedding
    } else if matches!(kind, ModelKind::Anthropic | ModelKind::Gemini) || has(&CLOUD) {
        &mut groups.cloud
    } else if has(&VISION) {
        &mut groups.vision
    } else if has(&CODE) {
        &mut groups.code
    } else {
        &mut groups.general
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(name: &str, kind: &str, model: &str) -> ModelConfig {
        let text = format!("name = \"{name}\"\nkind = \"{kind}\"\nmodel = \"{model}\"");
        toml::from_str(&text).unwrap()
    }

    #[test]
    fn models_are_grouped_by_what_they_are_for_and_by_provider() {
        let planner = toml::from_str("name = \"planner\"\nkind = \"planner\"").unwrap();
        let models = [
            model("main", "openai", "qwen3:32b"),
            model("z", "gemini", "gemini-3-flash"),
            model("a", "anthropic", "claude-sonnet"),
            planner,
            model("coder", "openai", "deepseek-coder:33b"),
            model("star", "openai", "Starcoder2"),
            model("eyes", "openai", "llava:13b"),
            model("vectors", "openai", "bge-m3"),
            model("vectors-2", "openai", "qwen3-embedding"),
            model("chat", "openai", "deepseek-chat"),
            model("far", "openai", "kimi-k2:1t-cloud"),
            model("far-2", "openai", "moonshot-v1"),
        ];
        let Returns { models: groups, count, default } = listed(&models);
        assert_eq!((count, default.as_deref()), (11, Some("main")));
        let names = |group: &[ListedModel]| {
            group.iter().map(|it| format!("{}/{}", it.provider, it.name)).collect::<Vec<_>>()
        };
        assert_eq!(names(&groups.general), ["openai/chat", "openai/main"]);
        assert_eq!(names(&groups.code), ["openai/coder", "openai/star"]);
        assert_eq!(names(&groups.vision), ["openai/eyes"]);
        assert_eq!(names(&groups.embedding), ["openai/vectors", "openai/vectors-2"]);
        assert_eq!(names(&groups.cloud), ["anthropic/a", "gemini/z", "openai/far", "openai/far-2"]);
        assert_eq!(listed(&[]), Returns::default());
    }
}
