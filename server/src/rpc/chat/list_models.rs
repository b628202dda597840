//! `ListModels`: the models and assistants that a chat can use.

use orion_wire::v1;

use super::{ChatApi, to_proto};

/// Lists the models, the default first, and the assistants.
pub(super) fn list_models(api: &ChatApi) -> v1::ListModelsResponse {
    let config = &api.chat.pipeline.config;
    let section = |name: &str| config.models.iter().find(|it| it.name == name);
    let models = api.chat.models.iter().map(|model| to_proto::model(model, section(&model.0)));
    let assistants = config.assistants.iter().map(to_proto::assistant).collect();
    v1::ListModelsResponse { models: models.collect(), assistants }
}
