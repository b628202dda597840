//! `ToolService`: lists the tools, and runs, watches and cancels calls.

mod watch;

use std::sync::Arc;
use std::time::Duration;

use orion_catalog::{CATALOG, ToolSpec};
use orion_domain::evaluate::Decision;
use orion_domain::{CallState, Caller, Hint, Question, Role, evaluate};
use orion_wire::v1::tool_service_server::ToolService;
use orion_wire::{call_request, call_state, risk, status_from, v1};
use tonic::{Request, Response, Status};

use super::{Api, caller, made_with, status};
use crate::backend::Backend;
use crate::clock::now_ms;
use crate::fleet::{CallProgress, DeviceSnapshot};
use crate::pipeline::CallView;
use crate::pipeline::call::CallContext;
use crate::pipeline::cancel::cancel;
use crate::pipeline::explain::{Explanation, explain};
use crate::store::{CallRow, StoreError};

/// Maximum number of calls in a list.
const MAX_LISTED: u32 = 1_000;
/// Maximum size of the arguments that are parsed before the caller's permission is checked, in bytes.
const MAX_UNREAD_BYTES: usize = 64 * 1024;
/// Maximum time that one request waits for the end of a call.
const MAX_WAIT: Duration = Duration::from_secs(60);

#[tonic::async_trait]
impl ToolService for Api {
    type WatchCallStream = watch::Updates;

    async fn list_tools(
        &self,
        request: Request<v1::ListToolsRequest>,
    ) -> Result<Response<v1::ListToolsResponse>, Status> {
        let caller = caller(&request)?;
        let v1::ListToolsRequest { device } = request.into_inner();
        let device = if device.is_empty() {
            None
        } else {
            Some(self.0.fleet.find(Some(&device)).map_err(|error| status_from(&error))?)
        };
        let tools = CATALOG
            .iter()
            .filter(|spec| device.as_ref().is_none_or(|known| may_see(&caller, known, spec)))
            .map(tool)
            .collect();
        Ok(Response::new(v1::ListToolsResponse { tools }))
    }

    async fn call_tool(
        &self,
        request: Request<v1::CallToolRequest>,
    ) -> Result<Response<v1::CallToolResponse>, Status> {
        let (caller, token) = (caller(&request)?, made_with(&request));
        let mut request = request.into_inner();
        let background = request.background;
        if request.arguments.len() > MAX_UNREAD_BYTES && !request.explain {
            // Large arguments are parsed only when the caller may call the tool at all.
            let arguments = std::mem::take(&mut request.arguments);
            let (unread, _) = call_request(request.clone()).map_err(status::wire)?;
            let unread =
                CallContext { background, token, ..CallContext::new(caller.clone(), unread) };
            let denied = self.0.pipeline.deny_unread(unread).await.map_err(status::store)?;
            if let Some(denied) = denied {
                let call = Some(call(denied));
                return Ok(Response::new(v1::CallToolResponse { call, evidence: Vec::new() }));
            }
            request.arguments = arguments;
        }
        let (request, asks_why) = call_request(request).map_err(status::wire)?;
        if asks_why {
            let why =
                explain(&self.0.pipeline, caller, request, None).await.map_err(status::store)?;
            return explained(why);
        }
        self.not_stopping()?;
        let incoming = CallContext { background, token, ..CallContext::new(caller, request) };
        let reply = if background {
            self.0.pipeline.start(incoming).await
        } else {
            self.0.pipeline.run(incoming).await
        };
        let call = Some(call(reply.map_err(status::store)?));
        Ok(Response::new(v1::CallToolResponse { call, evidence: Vec::new() }))
    }

    async fn get_call(
        &self,
        request: Request<v1::GetCallRequest>,
    ) -> Result<Response<v1::GetCallResponse>, Status> {
        let caller = caller(&request)?;
        let v1::GetCallRequest { call_id, wait_ms } = request.into_inner();
        let wait = Duration::from_millis(wait_ms).min(MAX_WAIT);
        let reply = self.ended(&caller, &call_id, wait).await?;
        Ok(Response::new(v1::GetCallResponse { call: Some(self.now(reply)) }))
    }

    async fn watch_call(
        &self,
        request: Request<v1::WatchCallRequest>,
    ) -> Result<Response<Self::WatchCallStream>, Status> {
        let caller = caller(&request)?;
        let row = self.own_call(&caller, &request.into_inner().call_id).await?;
        Ok(Response::new(watch::watch(Arc::clone(&self.0), row.id)))
    }

    async fn list_calls(
        &self,
        request: Request<v1::ListCallsRequest>,
    ) -> Result<Response<v1::ListCallsResponse>, Status> {
        let caller = caller(&request)?;
        let v1::ListCallsRequest { device, open, limit, previews } = request.into_inner();
        let device = if device.is_empty() {
            None
        } else {
            Some(self.0.fleet.find(Some(&device)).map_err(|error| status_from(&error))?.id)
        };
        let user = (caller.role != Role::Admin).then_some(&caller.user);
        let most = if limit == 0 { 50 } else { limit.min(MAX_LISTED) };
        let rows = self.0.store.newest_calls(user, device, open, previews, most).await;
        let rows = rows.map_err(status::store)?;
        let calls = rows.into_iter().map(|row| self.now(CallView::from(row))).collect();
        Ok(Response::new(v1::ListCallsResponse { calls }))
    }

    async fn cancel_call(
        &self,
        request: Request<v1::CancelCallRequest>,
    ) -> Result<Response<v1::CancelCallResponse>, Status> {
        let caller = caller(&request)?;
        let row = self.own_call(&caller, &request.into_inner().call_id).await?;
        if let (Some(plan), CallState::AwaitingApproval) = (row.plan, row.state) {
            return Err(status::managed_elsewhere(
                format!("this call is a step of the plan {plan}, which ends as a whole"),
                Hint::run("deny the plan", format!("orion plan deny {plan}")),
            ));
        }
        let reply = cancel(&self.0.pipeline, &caller, row).await.map_err(status::store)?;
        Ok(Response::new(v1::CancelCallResponse { call: Some(call(reply)) }))
    }
}

impl Api {
    /// Converts a call to its wire form, with its progress.
    fn now(&self, reply: CallView) -> v1::Call {
        with_advance(&self.0, call(reply))
    }

    /// Returns a call that this person may see: their own, or any call for an admin.
    async fn own_call(&self, caller: &Caller, id: &str) -> Result<CallRow, Status> {
        let row = self.0.store.call(id).await.map_err(status::store)?;
        if row.caller.user != caller.user && caller.role != Role::Admin {
            return Err(status::store(StoreError::NotFound));
        }
        Ok(row)
    }

    async fn ended(&self, caller: &Caller, id: &str, wait: Duration) -> Result<CallView, Status> {
        let mut reply = CallView::from(self.own_call(caller, id).await?);
        let deadline = tokio::time::Instant::now() + wait;
        let mut changes = self.0.bus.watch_call(reply.call);
        let id = reply.call.to_string();
        while !wait.is_zero() && !reply.state.is_closed() {
            reply = CallView::from(self.own_call(caller, &id).await?);
            if reply.state.is_closed()
                || tokio::time::timeout_at(deadline, changes.changed()).await.is_err()
            {
                break;
            }
        }
        Ok(reply)
    }
}

fn may_see(caller: &Caller, device: &DeviceSnapshot, spec: &ToolSpec) -> bool {
    let question = Question {
        tool: spec.facts(),
        touches: None,
        caller,
        device: &device.name,
        dry_run: false,
        confirmed: false,
        at: device.timezone.moment(now_ms()),
        tainted: false,
        raises: &[],
        counted: None,
    };
    evaluate(&question, &device.policy).decision() != Decision::Deny
}

fn explained(explanation: Explanation) -> Result<Response<v1::CallToolResponse>, Status> {
    let Explanation { decision, refusal, trace, .. } = explanation;
    let evidence = trace
        .into_iter()
        .map(|(line, name, deciding)| v1::Evidence {
            layer: line.layer.as_str().to_owned(),
            decision: line.decision.as_str().to_owned(),
            name,
            deciding,
        })
        .collect();
    let result = serde_json::json!({"decision": decision, "error": refusal});
    let call = v1::Call { result: result.to_string().into(), ..v1::Call::default() };
    Ok(Response::new(v1::CallToolResponse { call: Some(call), evidence }))
}

fn tool(spec: &ToolSpec) -> v1::Tool {
    v1::Tool {
        name: spec.name.to_owned(),
        aliases: spec.aliases.iter().map(|alias| alias.name.to_owned()).collect(),
        category: spec.category.as_str().to_owned(),
        description: spec.description.to_owned(),
        risk: risk(spec.risk).into(),
        permissions: spec.capabilities.iter().map(ToString::to_string).collect(),
        arguments_schema: spec.arguments_schema().to_string(),
        returns_schema: spec.returns_schema().to_string(),
        has_effects: spec.has_effects,
        undo: spec.undo,
        untrusted: spec.untrusted || spec.untrusted_preview,
        example: spec.example.to_owned(),
    }
}

/// Adds the call's progress where its device reported one.
fn with_advance(backend: &Backend, call: v1::Call) -> v1::Call {
    let id = call.call_id.parse().ok();
    let advance = id.and_then(|id| backend.fleet.waiting().advance_of(id)).map(|advance| {
        let CallProgress { done, total, note } = advance;
        v1::CallAdvance { done, total, note }
    });
    v1::Call { advance, ..call }
}

/// Converts a call to its wire form.
pub(super) fn call(reply: CallView) -> v1::Call {
    let CallView {
        call,
        state,
        tool,
        device,
        arguments,
        dry_run,
        result,
        approval,
        caller,
        created_at,
        queued_until,
        closed_at,
    } = reply;
    v1::Call {
        call_id: call.to_string(),
        state: call_state(state).into(),
        tool,
        device: device.map(String::from).unwrap_or_default(),
        arguments: arguments.into(),
        dry_run,
        result: result.into(),
        approval_id: approval.map(|id| id.to_string()).unwrap_or_default(),
        created_at,
        closed_at: closed_at.unwrap_or_default(),
        caller: caller.user.to_string(),
        advance: None,
        queued_until: queued_until.unwrap_or_default(),
    }
}
