//! `ListModels`: the models that a chat can use.

use orion_wire::v1;

use super::{ChatApi, to_proto};

/// Lists the models, the default first.
pub(super) fn list_models(api: &ChatApi) -> v1::ListModelsResponse {
    v1::ListModelsResponse { models: api.chat.models.iter().map(to_proto::model).collect() }
}
