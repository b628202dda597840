//! `ToolService`: lists the tools, and runs, watches and cancels calls.

mod call_tool;
mod cancel_call;
mod decide_custom_tool;
mod get_call;
mod list_aliases;
mod list_calls;
mod list_custom_tools;
mod list_stops;
mod list_tools;
mod remove_alias;
mod resume_calls;
mod reveal_call;
mod set_alias;
mod stop_calls;
mod stop_scope;
pub(super) mod to_proto;
mod watch_call;

use std::sync::Arc;

use orion_wire::v1;
use orion_wire::v1::tool_service_server::ToolService;
use tonic::{Request, Response};

use super::RpcResult;
use crate::pipeline::Pipeline;

/// What the service uses.
#[derive(Debug, Clone)]
pub(super) struct ToolApi {
    pub(super) pipeline: Arc<Pipeline>,
}

#[tonic::async_trait]
impl ToolService for ToolApi {
    type WatchCallStream = watch_call::Updates;

    async fn list_tools(
        &self,
        request: Request<v1::ListToolsRequest>,
    ) -> RpcResult<v1::ListToolsResponse> {
        list_tools::list_tools(self, request.try_into()?).map(Response::new)
    }

    async fn call_tool(
        &self,
        request: Request<v1::CallToolRequest>,
    ) -> RpcResult<v1::CallToolResponse> {
        call_tool::call_tool(self, request.try_into()?).await.map(Response::new)
    }

    async fn get_call(
        &self,
        request: Request<v1::GetCallRequest>,
    ) -> RpcResult<v1::GetCallResponse> {
        get_call::get_call(self, request.try_into()?).await.map(Response::new)
    }

    async fn reveal_call(
        &self,
        request: Request<v1::RevealCallRequest>,
    ) -> RpcResult<v1::RevealCallResponse> {
        reveal_call::reveal_call(self, request.try_into()?).await.map(Response::new)
    }

    async fn watch_call(
        &self,
        request: Request<v1::WatchCallRequest>,
    ) -> RpcResult<Self::WatchCallStream> {
        watch_call::watch_call(self, request.try_into()?).await.map(Response::new)
    }

    async fn list_calls(
        &self,
        request: Request<v1::ListCallsRequest>,
    ) -> RpcResult<v1::ListCallsResponse> {
        list_calls::list_calls(self, request.try_into()?).await.map(Response::new)
    }

    async fn cancel_call(
        &self,
        request: Request<v1::CancelCallRequest>,
    ) -> RpcResult<v1::CancelCallResponse> {
        cancel_call::cancel_call(self, request.try_into()?).await.map(Response::new)
    }

    async fn stop_calls(
        &self,
        request: Request<v1::StopCallsRequest>,
    ) -> RpcResult<v1::StopCallsResponse> {
        stop_calls::stop_calls(self, request.try_into()?).await.map(Response::new)
    }

    async fn resume_calls(
        &self,
        request: Request<v1::ResumeCallsRequest>,
    ) -> RpcResult<v1::ResumeCallsResponse> {
        resume_calls::resume_calls(self, request.try_into()?).await.map(Response::new)
    }

    async fn list_stops(
        &self,
        request: Request<v1::ListStopsRequest>,
    ) -> RpcResult<v1::ListStopsResponse> {
        list_stops::list_stops(self, request.try_into()?).map(Response::new)
    }

    async fn list_aliases(
        &self,
        request: Request<v1::ListAliasesRequest>,
    ) -> RpcResult<v1::ListAliasesResponse> {
        list_aliases::list_aliases(self, request.try_into()?).await.map(Response::new)
    }

    async fn set_alias(
        &self,
        request: Request<v1::SetAliasRequest>,
    ) -> RpcResult<v1::SetAliasResponse> {
        set_alias::set_alias(self, request.try_into()?).await.map(Response::new)
    }

    async fn remove_alias(
        &self,
        request: Request<v1::RemoveAliasRequest>,
    ) -> RpcResult<v1::RemoveAliasResponse> {
        remove_alias::remove_alias(self, request.try_into()?).await.map(Response::new)
    }

    async fn list_custom_tools(
        &self,
        request: Request<v1::ListCustomToolsRequest>,
    ) -> RpcResult<v1::ListCustomToolsResponse> {
        let list = list_custom_tools::list_custom_tools(self, request.try_into()?);
        list.await.map(Response::new)
    }

    async fn decide_custom_tool(
        &self,
        request: Request<v1::DecideCustomToolRequest>,
    ) -> RpcResult<v1::DecideCustomToolResponse> {
        let decide = decide_custom_tool::decide_custom_tool(self, request.try_into()?);
        decide.await.map(Response::new)
    }
}
