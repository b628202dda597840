//! `PolicyService`: the policy file, the permissions granted to single devices, and explanations of
//! decisions.

mod words;

use orion_domain::{CallRequest, Caller, Digest, Hint, Role, UserName};
use orion_wire::call_request;
use orion_wire::v1;
use orion_wire::v1::policy_service_server::PolicyService;
use serde_json::json;
use tonic::{Request, Response, Status};

use super::device::parse_grants;
use super::{Api, caller, status};
use crate::clock::now_ms;
use crate::fleet::DeviceSnapshot;
use crate::fleet::effective_policy::refresh;
use crate::pipeline::explain::{DeviceVerdict, ask_device, explain};
use crate::policy::{self, ApplyResult, Checked, Text};
use crate::store::{PolicyMismatch, StoreError};

/// Maximum size of a policy file, in bytes.
const MAX_POLICY_BYTES: usize = 1024 * 1024;

#[tonic::async_trait]
impl PolicyService for Api {
    async fn get_device_permissions(
        &self,
        request: Request<v1::GetDevicePermissionsRequest>,
    ) -> Result<Response<v1::GetDevicePermissionsResponse>, Status> {
        let v1::GetDevicePermissionsRequest { device } = request.into_inner();
        let row = self.0.store.device(&device).await.map_err(status::device)?;
        let known = self.0.fleet.known(row.id);
        let grants = known.as_ref().and_then(|known| serde_json::to_string(&known.grants).ok());
        Ok(Response::new(v1::GetDevicePermissionsResponse {
            grants: grants.unwrap_or(row.grants),
            version: known.as_ref().map(|it| it.policy.version.clone()).unwrap_or_default(),
            acknowledged_version: row.acknowledged_version.unwrap_or_default(),
            ceiling: row.ceiling.unwrap_or_default(),
            policy_source: known.map(|known| known.policy_source()).unwrap_or_default(),
        }))
    }

    async fn set_device_permissions(
        &self,
        request: Request<v1::SetDevicePermissionsRequest>,
    ) -> Result<Response<v1::SetDevicePermissionsResponse>, Status> {
        let by = caller(&request)?;
        let v1::SetDevicePermissionsRequest { device, grants, expected_version } =
            request.into_inner();
        let row = self.0.store.device(&device).await.map_err(status::device)?;
        let grants = parse_grants(&grants)?;
        let before =
            self.0.fleet.known(row.id).ok_or_else(|| status::store(StoreError::NotFound))?;
        if let Some(line) = before.policy_line() {
            let version = self.0.devices.policies.active().version();
            return Err(status::managed_elsewhere(
                format!("these permissions are part of the policy, version {version}, line {line}"),
                Hint::run("change them there", "orion policy show, then orion policy apply FILE"),
            ));
        }
        if !expected_version.is_empty() && expected_version != before.policy.version {
            return Err(status::store(StoreError::Conflict));
        }
        let after = DeviceSnapshot::new(
            row.id,
            row.name.clone(),
            row.state,
            before.facts.clone(),
            grants.clone(),
            before.ceiling.clone(),
            before.terms.clone(),
        );
        if let Some(bad) = after.bad_grants.first() {
            return Err(status::invalid(format!("the grants were not changed: {bad}")));
        }
        let json = serde_json::to_string(&grants).map_err(status::invalid)?;
        let version = after.policy.version.clone();
        // `expected_version` is a hash over more than the grants, so it was compared above. The store
        // compares the row's own version, in case other grants were set since the read.
        let expected = (!expected_version.is_empty()).then_some(row.policy_version).flatten();
        let (store, expected) = (&self.0.store, expected.as_deref());
        let set = store.set_grants(row.id, &json, &version, expected, &by.user, now_ms()).await;
        set.map_err(status::store)?;
        refresh(&self.0.devices, row.id).await.map_err(status::store)?;
        Ok(Response::new(v1::SetDevicePermissionsResponse { version }))
    }

    async fn get_policy(
        &self,
        request: Request<v1::GetPolicyRequest>,
    ) -> Result<Response<v1::GetPolicyResponse>, Status> {
        let v1::GetPolicyRequest { version } = request.into_inner();
        let active = self.0.devices.policies.active();
        if version != 0 && version != active.version() {
            let row = self.0.store.policy(version).await.map_err(status::policy)?;
            return Ok(Response::new(v1::GetPolicyResponse {
                text: row.text.clone(),
                version: Some(words::version(&row, &active)),
                ..v1::GetPolicyResponse::default()
            }));
        }
        let row = active.row.as_ref();
        Ok(Response::new(v1::GetPolicyResponse {
            version: Some(row.map(|row| words::version(row, &active)).unwrap_or_default()),
            text: row.map(|row| row.text.clone()).unwrap_or_default(),
            unreadable: if active.is_unreadable() {
                active.findings.iter().map(words::finding).collect()
            } else {
                Vec::new()
            },
            devices: self.on_devices().await?,
        }))
    }

    async fn list_policy_versions(
        &self,
        _: Request<v1::ListPolicyVersionsRequest>,
    ) -> Result<Response<v1::ListPolicyVersionsResponse>, Status> {
        let active = self.0.devices.policies.active();
        let rows = self.0.store.policies().await.map_err(status::store)?;
        let versions = rows.iter().map(|row| words::version(row, &active)).collect();
        Ok(Response::new(v1::ListPolicyVersionsResponse { versions }))
    }

    async fn check_policy(
        &self,
        request: Request<v1::CheckPolicyRequest>,
    ) -> Result<Response<v1::CheckPolicyResponse>, Status> {
        let v1::CheckPolicyRequest { text } = request.into_inner();
        let active_version = self.0.devices.policies.active().version();
        let Checked { file, findings, changes } = self.checked(text).await?;
        Ok(Response::new(v1::CheckPolicyResponse {
            is_valid: file.is_some(),
            findings: findings.iter().map(words::finding).collect(),
            changes: changes.into_iter().map(words::change).collect(),
            active_version,
        }))
    }

    async fn apply_policy(
        &self,
        request: Request<v1::ApplyPolicyRequest>,
    ) -> Result<Response<v1::ApplyPolicyResponse>, Status> {
        let by = caller(&request)?;
        let v1::ApplyPolicyRequest { text, expected_version, note } = request.into_inner();
        if let Err(refusal) = fits(&text) {
            let body = json!({
                "by": by.user,
                "sha256": Digest::of(text.as_bytes()),
                "size_bytes": text.len(),
                "errors": 1,
                "findings": [refusal.message()],
            });
            let audited = self.0.store.audit_event("policy.refused", body, now_ms()).await;
            audited.map_err(status::store)?;
            return Err(refusal);
        }
        let expected = (expected_version >= 0).then_some(expected_version);
        let applied = policy::apply(&self.0.devices, &by, text, expected, &note).await;
        let ApplyResult { row, findings, changes } = applied.map_err(status::policy)?;
        let active = self.0.devices.policies.active();
        Ok(Response::new(v1::ApplyPolicyResponse {
            is_applied: row.is_some(),
            findings: findings.iter().map(words::finding).collect(),
            changes: changes.into_iter().map(words::change).collect(),
            version: words::held(row, &active),
        }))
    }

    async fn rollback_policy(
        &self,
        request: Request<v1::RollbackPolicyRequest>,
    ) -> Result<Response<v1::RollbackPolicyResponse>, Status> {
        let by = caller(&request)?;
        let v1::RollbackPolicyRequest { version, note } = request.into_inner();
        let applied = policy::roll_back(&self.0.devices, &by, version, &note).await;
        let ApplyResult { row, findings, changes } = applied.map_err(status::policy)?;
        let active = self.0.devices.policies.active();
        Ok(Response::new(v1::RollbackPolicyResponse {
            is_applied: row.is_some(),
            findings: findings.iter().map(words::finding).collect(),
            changes: changes.into_iter().map(words::change).collect(),
            version: words::held(row, &active),
        }))
    }

    async fn test_policy(
        &self,
        request: Request<v1::TestPolicyRequest>,
    ) -> Result<Response<v1::TestPolicyResponse>, Status> {
        let turn = self.heavy(&request)?;
        let v1::TestPolicyRequest { text, since } = request.into_inner();
        let Checked { file, findings, .. } = self.checked(text).await?;
        let Some(file) = file else {
            let findings = findings.iter().map(words::finding).collect();
            let nothing = v1::TestPolicyResponse::default();
            return Ok(Response::new(v1::TestPolicyResponse { findings, ..nothing }));
        };
        let begun = std::time::Instant::now();
        let replayed =
            policy::replay(&self.0.devices, file, since, &turn).await.map_err(status::store)?;
        let took_us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        Ok(Response::new(words::replayed(replayed, since, now_ms(), took_us)))
    }

    async fn explain_call(
        &self,
        request: Request<v1::ExplainCallRequest>,
    ) -> Result<Response<v1::ExplainCallResponse>, Status> {
        let asks = caller(&request)?;
        let v1::ExplainCallRequest { tool, device, arguments, dry_run, as_user, ask_device: wants } =
            request.into_inner();
        let called = v1::CallToolRequest { tool, device, arguments, dry_run, ..Default::default() };
        let (request, _) = call_request(called).map_err(status::wire)?;
        let subject = self.subject(&asks, &as_user).await?;
        let verdict = self.verdict(wants, &asks, &subject, request.clone()).await?;
        let device_state = match &verdict {
            DeviceVerdict::Asked(reply) => Some(reply.as_ref()),
            DeviceVerdict::NotAsked(_) => None,
        };
        let explained = explain(&self.0.pipeline, subject.clone(), request, device_state).await;
        let explained = explained.map_err(status::store)?;
        Ok(Response::new(words::explained(&explained, &subject, words::verdict(verdict))))
    }
}

fn fits(text: &str) -> Result<(), Status> {
    if text.len() > MAX_POLICY_BYTES {
        return Err(status::invalid(format!(
            "the policy file has {} bytes, and the maximum is {MAX_POLICY_BYTES}",
            text.len()
        )));
    }
    Ok(())
}

impl Api {
    async fn checked(&self, text: String) -> Result<Checked, Status> {
        fits(&text)?;
        policy::check(&self.0.devices, text, Text::New).await.map_err(status::store)
    }

    /// Returns the approved devices, each with its current and its acknowledged policy version.
    async fn on_devices(&self) -> Result<Vec<v1::PolicyOnDevice>, Status> {
        let rows = self.0.store.devices(false).await.map_err(status::store)?;
        let shown = rows.into_iter().filter_map(|row| {
            let known = self.0.fleet.known(row.id).filter(|known| known.is_approved())?;
            Some(v1::PolicyOnDevice {
                device: row.name.to_string(),
                online: self.0.fleet.is_online(row.id),
                version: known.policy.version.clone(),
                acknowledged_version: row.acknowledged_version.unwrap_or_default(),
                line: known.policy_line().unwrap_or_default(),
                warnings: row.found.iter().map(PolicyMismatch::description).collect(),
            })
        });
        Ok(shown.collect())
    }

    /// Returns the caller in whose name a call is explained.
    async fn subject(&self, asks: &Caller, as_user: &str) -> Result<Caller, Status> {
        if as_user.is_empty() || as_user == asks.user.as_str() {
            return Ok(asks.clone());
        }
        if asks.role != Role::Admin {
            return Err(status::denied("only an admin may ask what another person could do"));
        }
        let user: UserName = as_user.parse().map_err(status::invalid)?;
        let row = self.0.store.user(&user).await.map_err(|error| match error {
            StoreError::NotFound => status::no_user(&user),
            StoreError::Conflict
            | StoreError::KeyInUse
            | StoreError::Full
            | StoreError::Unavailable
            | StoreError::OtherVersion
            | StoreError::Corrupt => status::store(error),
        })?;
        if row.disabled_at.is_some() {
            return Err(status::managed_elsewhere(
                format!("{user} is disabled and may do nothing"),
                Hint::run("enable the account", format!("orion users enable {user}")),
            ));
        }
        Ok(Caller { user, role: row.role, conversation: None })
    }

    async fn verdict(
        &self,
        wants: bool,
        asks: &Caller,
        subject: &Caller,
        request: CallRequest,
    ) -> Result<DeviceVerdict, Status> {
        let not_asked = |why: &str| Ok(DeviceVerdict::NotAsked(why.to_owned()));
        if !wants {
            return not_asked("nobody wanted it to be");
        }
        if asks.user != subject.user {
            return not_asked("a device is asked in one's own name only");
        }
        self.not_stopping()?;
        ask_device(&self.0.pipeline, asks.clone(), request).await.map_err(status::store)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_too_large_is_not_even_read() {
        assert!(fits(&" ".repeat(MAX_POLICY_BYTES)).is_ok());
        assert!(fits(&" ".repeat(MAX_POLICY_BYTES + 1)).is_err());
    }
}
