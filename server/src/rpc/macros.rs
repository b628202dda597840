//! `MacroService`: lists and removes macros.

mod list_macros;
mod remove_macro;
mod to_proto;

use orion_wire::v1;
use orion_wire::v1::macro_service_server::MacroService;
use tonic::{Request, Response};

use super::RpcResult;
use crate::store::Store;

/// What the service uses.
#[derive(Debug, Clone)]
pub(super) struct MacroApi {
    pub(super) store: Store,
}

#[tonic::async_trait]
impl MacroService for MacroApi {
    async fn list_macros(
        &self,
        request: Request<v1::ListMacrosRequest>,
    ) -> RpcResult<v1::ListMacrosResponse> {
        list_macros::list_macros(self, request.try_into()?).await.map(Response::new)
    }

    async fn remove_macro(
        &self,
        request: Request<v1::RemoveMacroRequest>,
    ) -> RpcResult<v1::RemoveMacroResponse> {
        remove_macro::remove_macro(self, request.try_into()?).await.map(Response::new)
    }
}
