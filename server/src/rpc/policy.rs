//! `PolicyService`: the policy file, the permissions granted to single devices, and explanations of
//! decisions.

mod apply_policy;
mod check_policy;
mod checked;
mod explain_call;
mod get_device_permissions;
mod get_policy;
mod list_policy_versions;
mod rollback_policy;
mod set_device_permissions;
mod test_policy;
mod to_proto;

use std::sync::Arc;

use orion_wire::v1;
use orion_wire::v1::policy_service_server::PolicyService;
use tonic::{Request, Response};

use super::RpcResult;
use crate::fleet::Devices;
use crate::people::HeavyRequests;
use crate::pipeline::Pipeline;

/// What the service uses.
#[derive(Debug, Clone)]
pub(super) struct PolicyApi {
    pub(super) devices: Devices,
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) heavy: HeavyRequests,
}

#[tonic::async_trait]
impl PolicyService for PolicyApi {
    async fn get_device_permissions(
        &self,
        request: Request<v1::GetDevicePermissionsRequest>,
    ) -> RpcResult<v1::GetDevicePermissionsResponse> {
        get_device_permissions::get_device_permissions(self, request.into_inner())
            .await
            .map(Response::new)
    }

    async fn set_device_permissions(
        &self,
        request: Request<v1::SetDevicePermissionsRequest>,
    ) -> RpcResult<v1::SetDevicePermissionsResponse> {
        set_device_permissions::set_device_permissions(self, request.try_into()?)
            .await
            .map(Response::new)
    }

    async fn get_policy(
        &self,
        request: Request<v1::GetPolicyRequest>,
    ) -> RpcResult<v1::GetPolicyResponse> {
        get_policy::get_policy(self, request.into_inner()).await.map(Response::new)
    }

    async fn list_policy_versions(
        &self,
        _: Request<v1::ListPolicyVersionsRequest>,
    ) -> RpcResult<v1::ListPolicyVersionsResponse> {
        list_policy_versions::list_policy_versions(self).await.map(Response::new)
    }

    async fn check_policy(
        &self,
        request: Request<v1::CheckPolicyRequest>,
    ) -> RpcResult<v1::CheckPolicyResponse> {
        check_policy::check_policy(self, request.into_inner()).await.map(Response::new)
    }

    async fn apply_policy(
        &self,
        request: Request<v1::ApplyPolicyRequest>,
    ) -> RpcResult<v1::ApplyPolicyResponse> {
        apply_policy::apply_policy(self, request.try_into()?).await.map(Response::new)
    }

    async fn rollback_policy(
        &self,
        request: Request<v1::RollbackPolicyRequest>,
    ) -> RpcResult<v1::RollbackPolicyResponse> {
        rollback_policy::rollback_policy(self, request.try_into()?).await.map(Response::new)
    }

    async fn test_policy(
        &self,
        request: Request<v1::TestPolicyRequest>,
    ) -> RpcResult<v1::TestPolicyResponse> {
        test_policy::test_policy(self, request.try_into()?).await.map(Response::new)
    }

    async fn explain_call(
        &self,
        request: Request<v1::ExplainCallRequest>,
    ) -> RpcResult<v1::ExplainCallResponse> {
        explain_call::explain_call(self, request.try_into()?).await.map(Response::new)
    }
}
