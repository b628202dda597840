//! `PolicyService`: what each device lends.

use orion_wire::v1;
use orion_wire::v1::policy_service_server::PolicyService;
use tonic::{Request, Response, Status};

use super::device::parse_grants;
use super::{Api, caller, status};
use crate::clock::now_ms;
use crate::fleet::{Known, enrollment};

#[tonic::async_trait]
impl PolicyService for Api {
    async fn get_device_permissions(
        &self,
        request: Request<v1::GetDevicePermissionsRequest>,
    ) -> Result<Response<v1::GetDevicePermissionsResponse>, Status> {
        let v1::GetDevicePermissionsRequest { device } = request.into_inner();
        let row = self.0.store.device(&device).await.map_err(status::device)?;
        let version = self.0.fleet.known(row.id).map(|known| known.policy.version.clone());
        Ok(Response::new(v1::GetDevicePermissionsResponse {
            grants: row.grants,
            version: version.unwrap_or_default(),
            acknowledged_version: row.acknowledged_version.unwrap_or_default(),
            ceiling: row.ceiling.unwrap_or_default(),
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
        let before = self
            .0
            .fleet
            .known(row.id)
            .ok_or_else(|| status::store(crate::store::StoreError::NotFound))?;
        if !expected_version.is_empty() && expected_version != before.policy.version {
            return Err(status::store(crate::store::StoreError::Conflict));
        }
        let after = Known::new(
            row.id,
            row.name.clone(),
            row.state,
            before.facts.clone(),
            grants.clone(),
            before.ceiling.clone(),
        );
        if let Some(bad) = after.bad_grants.first() {
            return Err(status::invalid(format!("the grants were not changed: {bad}")));
        }
        let json = serde_json::to_string(&grants).map_err(status::invalid)?;
        let version = after.policy.version.clone();
        let expected = (!expected_version.is_empty()).then_some(expected_version.as_str());
        self.0
            .store
            .set_grants(row.id, &json, &version, expected, &by.user, now_ms())
            .await
            .map_err(status::store)?;
        enrollment::refresh(&self.0, row.id).await.map_err(status::store)?;
        Ok(Response::new(v1::SetDevicePermissionsResponse { version }))
    }
}
