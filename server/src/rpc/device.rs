//! `DeviceService`: how people list and manage the fleet.

use orion_domain::{Caller, ErrorCode, Grants, Hint};
use orion_wire::v1;
use orion_wire::v1::device_service_server::DeviceService;
use tonic::{Request, Response, Status};

use super::{Api, caller, status};
use crate::clock::now_ms;
use crate::fleet::DeviceSnapshot;
use crate::fleet::effective_policy::{begin_dangerous, end_dangerous};
use crate::fleet::enrollment::{Invitation, invite, set_state};
use crate::fleet::presence::facts_from_json;
use crate::policy::{DAYS, GrantReview, Review, review};
use crate::store::{DeviceRow, DeviceState, PolicyMismatch, StoreError};

#[tonic::async_trait]
impl DeviceService for Api {
    async fn list_devices(
        &self,
        request: Request<v1::ListDevicesRequest>,
    ) -> Result<Response<v1::ListDevicesResponse>, Status> {
        let v1::ListDevicesRequest { pending_only } = request.into_inner();
        let rows = self.0.store.devices(pending_only).await.map_err(status::store)?;
        let devices = rows.into_iter().map(|row| self.device(row)).collect();
        Ok(Response::new(v1::ListDevicesResponse { devices }))
    }

    async fn get_device(
        &self,
        request: Request<v1::GetDeviceRequest>,
    ) -> Result<Response<v1::GetDeviceResponse>, Status> {
        let v1::GetDeviceRequest { device } = request.into_inner();
        let row = self.0.store.device(&device).await.map_err(status::device)?;
        Ok(Response::new(v1::GetDeviceResponse { device: Some(self.device(row)) }))
    }

    async fn invite_device(
        &self,
        request: Request<v1::InviteDeviceRequest>,
    ) -> Result<Response<v1::InviteDeviceResponse>, Status> {
        let by = caller(&request)?;
        let v1::InviteDeviceRequest { name, valid_seconds, uses, preapproved, grants } =
            request.into_inner();
        let invitation = Invitation {
            name: (!name.is_empty()).then(|| name.parse()).transpose().map_err(status::invalid)?,
            valid_seconds,
            uses,
            preapproved,
            grants: parse_grants(&grants)?,
        };
        let token = invite(&self.0.enrollment, &by, invitation).await.map_err(status::store)?;
        let text = token.to_string();
        Ok(Response::new(v1::InviteDeviceResponse {
            command: format!("orion-agent enroll {text}"),
            token: text,
            invite_id: token.invite_id.to_string(),
            expires_at: token.expires_at,
        }))
    }

    async fn approve_device(
        &self,
        request: Request<v1::ApproveDeviceRequest>,
    ) -> Result<Response<v1::ApproveDeviceResponse>, Status> {
        let by = caller(&request)?;
        let v1::ApproveDeviceRequest { device } = request.into_inner();
        let from = [DeviceState::Pending, DeviceState::Quarantined];
        let device = self.change(&by, &device, &from, DeviceState::Approved, "").await?;
        Ok(Response::new(v1::ApproveDeviceResponse { device: Some(device) }))
    }

    async fn reject_device(
        &self,
        request: Request<v1::RejectDeviceRequest>,
    ) -> Result<Response<v1::RejectDeviceResponse>, Status> {
        let by = caller(&request)?;
        let v1::RejectDeviceRequest { device } = request.into_inner();
        let from = [DeviceState::Pending];
        let device = self.change(&by, &device, &from, DeviceState::Rejected, "").await?;
        Ok(Response::new(v1::RejectDeviceResponse { device: Some(device) }))
    }

    async fn revoke_device(
        &self,
        request: Request<v1::RevokeDeviceRequest>,
    ) -> Result<Response<v1::RevokeDeviceResponse>, Status> {
        let by = caller(&request)?;
        let v1::RevokeDeviceRequest { device, reason } = request.into_inner();
        let from = [DeviceState::Pending, DeviceState::Approved, DeviceState::Quarantined];
        let device = self.change(&by, &device, &from, DeviceState::Revoked, &reason).await?;
        Ok(Response::new(v1::RevokeDeviceResponse { device: Some(device) }))
    }

    async fn quarantine_device(
        &self,
        request: Request<v1::QuarantineDeviceRequest>,
    ) -> Result<Response<v1::QuarantineDeviceResponse>, Status> {
        let by = caller(&request)?;
        let v1::QuarantineDeviceRequest { device, reason } = request.into_inner();
        let from = [DeviceState::Approved];
        let device = self.change(&by, &device, &from, DeviceState::Quarantined, &reason).await?;
        Ok(Response::new(v1::QuarantineDeviceResponse { device: Some(device) }))
    }

    async fn set_device_mode(
        &self,
        request: Request<v1::SetDeviceModeRequest>,
    ) -> Result<Response<v1::SetDeviceModeResponse>, Status> {
        let by = caller(&request)?;
        let v1::SetDeviceModeRequest { device, dangerous, seconds, reason } = request.into_inner();
        let row = self.0.store.device(&device).await.map_err(status::device)?;
        if dangerous {
            let begun = begin_dangerous(&self.0.devices, &row, seconds, &by, &reason).await;
            begun.map_err(status::mode)?;
        } else {
            end_dangerous(&self.0.devices, &row, &by, &reason).await.map_err(status::store)?;
        }
        Ok(Response::new(v1::SetDeviceModeResponse { device: Some(self.device(row)) }))
    }

    async fn review_device(
        &self,
        request: Request<v1::ReviewDeviceRequest>,
    ) -> Result<Response<v1::ReviewDeviceResponse>, Status> {
        let turn = self.heavy(&request)?;
        let v1::ReviewDeviceRequest { device } = request.into_inner();
        let row = self.0.store.device(&device).await.map_err(status::device)?;
        let known =
            self.0.fleet.known(row.id).ok_or_else(|| status::device(StoreError::NotFound))?;
        let Review { calls, looked_since, grants } =
            review(&self.0.devices, &known, &turn).await.map_err(status::store)?;
        Ok(Response::new(v1::ReviewDeviceResponse {
            device: row.name.to_string(),
            days: DAYS,
            calls,
            looked_since: looked_since.unwrap_or_default(),
            grants: grants.into_iter().map(reviewed).collect(),
        }))
    }
}

/// Parses grants in JSON; an empty text grants nothing.
pub(super) fn parse_grants(json: &str) -> Result<Grants, Status> {
    if json.trim().is_empty() {
        return Ok(Grants::default());
    }
    let grants: Grants = serde_json::from_str(json)
        .map_err(|error| status::invalid(format!("these are no grants: {error}")))?;
    for tool in grants.tools.iter().flatten() {
        if orion_catalog::find(tool).is_none_or(|(spec, _)| spec.name != tool) {
            let clause = format!("there is no tool `{tool}` to grant");
            let near = Hint::did_you_mean(orion_catalog::nearest(tool));
            return Err(if near.values.is_empty() {
                status::invalid(clause)
            } else {
                status::hinted(ErrorCode::InvalidArgument, clause, near)
            });
        }
    }
    Ok(grants)
}

impl Api {
    async fn change(
        &self,
        by: &Caller,
        device: &str,
        from: &[DeviceState],
        to: DeviceState,
        reason: &str,
    ) -> Result<v1::Device, Status> {
        let row = set_state(&self.0.devices, device, from, to, by, reason)
            .await
            .map_err(status::device)?;
        Ok(self.device(row))
    }

    fn device(&self, row: DeviceRow) -> v1::Device {
        let facts = row.facts.as_deref().and_then(facts_from_json);
        let known = self.0.fleet.known(row.id);
        let chain = self.0.fleet.witnesses().of(row.id);
        v1::Device {
            chain_seq: chain.as_ref().map_or(0, |chain| chain.head.seq),
            chain_hash: chain
                .as_ref()
                .map(|chain| chain.head.hash.as_bytes().to_vec().into())
                .unwrap_or_default(),
            chain_problem_at: chain.as_ref().and_then(|chain| chain.problem_at).unwrap_or_default(),
            chain_problem: chain.map(|chain| chain.problem).unwrap_or_default(),
            device_id: row.id.to_string(),
            name: row.name.to_string(),
            state: state(row.state).into(),
            online: self.0.fleet.is_online(row.id),
            os: facts.as_ref().map_or(row.os, |facts| match facts.os_version.as_str() {
                "" => facts.os.as_str().to_owned(),
                version => version.to_owned(),
            }),
            hostname: row.hostname,
            agent_version: row.agent_version.unwrap_or_default(),
            fingerprint_words: row.fingerprint_words,
            enrolled_at: row.created_at,
            last_seen_at: row.last_seen_at.unwrap_or_default(),
            policy_version: known
                .as_ref()
                .map(|known| known.policy.version.clone())
                .unwrap_or_default(),
            acknowledged_policy_version: row.acknowledged_version.unwrap_or_default(),
            certificate_not_after: row.certificate_not_after.unwrap_or_default(),
            dangerous: known.as_ref().and_then(|known| dangerous(known)),
            policy_source: known.as_ref().map(|it| it.policy_source()).unwrap_or_default(),
            policy_warnings: row.found.iter().map(PolicyMismatch::description).collect(),
            grants: known
                .and_then(|known| serde_json::to_string(&known.grants).ok())
                .unwrap_or(row.grants),
            ceiling: row.ceiling.unwrap_or_default(),
            sandbox: facts.map(|facts| facts.sandbox).unwrap_or_default(),
        }
    }
}

/// Returns the device's dangerous mode while it is active.
fn dangerous(known: &DeviceSnapshot) -> Option<v1::DangerousMode> {
    let mode = known.terms.dangerous.as_ref().filter(|mode| now_ms() < mode.until)?;
    Some(v1::DangerousMode {
        until: mode.until,
        set_by: mode.by.to_string(),
        set_at: mode.at,
        reason: mode.reason.clone(),
    })
}

fn reviewed(entry: GrantReview) -> v1::GrantReview {
    let GrantReview { kind, entry, server, ceiling, uses, last_used_at, lint, proposal, proof } =
        entry;
    v1::GrantReview {
        kind: kind.to_owned(),
        entry,
        server,
        ceiling,
        effective: server && ceiling,
        uses,
        last_used_at,
        lint,
        proposal,
        call_ids: proof.iter().map(ToString::to_string).collect(),
    }
}

const fn state(state: DeviceState) -> v1::DeviceState {
    match state {
        DeviceState::Pending => v1::DeviceState::Pending,
        DeviceState::Approved => v1::DeviceState::Approved,
        DeviceState::Rejected => v1::DeviceState::Rejected,
        DeviceState::Quarantined => v1::DeviceState::Quarantined,
        DeviceState::Revoked => v1::DeviceState::Revoked,
    }
}
