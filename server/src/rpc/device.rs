//! `DeviceService`: how people list and manage the fleet.

mod approve_device;
mod change_state;
mod confirm_enrollment;
mod find_enrollment;
mod get_device;
mod invite_device;
mod invite_scope;
mod labels;
mod list_devices;
mod list_invites;
pub(super) mod parse_grants;
mod quarantine_device;
mod refuse_enrollment;
mod reject_device;
mod remove_device;
mod rename_device;
mod review_device;
mod revoke_device;
mod revoke_invite;
mod set_device_labels;
mod set_device_mode;
mod to_proto;

use std::sync::Arc;

use orion_wire::v1;
use orion_wire::v1::device_service_server::DeviceService;
use tonic::{Request, Response};

use super::RpcResult;
use crate::downloads::Downloads;
use crate::fleet::Devices;
use crate::fleet::enrollment::Enrollment;
use crate::people::HeavyRequests;

/// What the service uses.
#[derive(Debug, Clone)]
pub(super) struct DeviceApi {
    pub(super) devices: Devices,
    pub(super) downloads: Arc<Downloads>,
    pub(super) enrollment: Enrollment,
    pub(super) heavy: HeavyRequests,
}

#[tonic::async_trait]
impl DeviceService for DeviceApi {
    async fn list_devices(
        &self,
        request: Request<v1::ListDevicesRequest>,
    ) -> RpcResult<v1::ListDevicesResponse> {
        list_devices::list_devices(self, request.into_inner()).await.map(Response::new)
    }

    async fn get_device(
        &self,
        request: Request<v1::GetDeviceRequest>,
    ) -> RpcResult<v1::GetDeviceResponse> {
        get_device::get_device(self, request.into_inner()).await.map(Response::new)
    }

    async fn invite_device(
        &self,
        request: Request<v1::InviteDeviceRequest>,
    ) -> RpcResult<v1::InviteDeviceResponse> {
        invite_device::invite_device(self, request.try_into()?).await.map(Response::new)
    }

    async fn list_invites(
        &self,
        _request: Request<v1::ListInvitesRequest>,
    ) -> RpcResult<v1::ListInvitesResponse> {
        list_invites::list_invites(self).await.map(Response::new)
    }

    async fn revoke_invite(
        &self,
        request: Request<v1::RevokeInviteRequest>,
    ) -> RpcResult<v1::RevokeInviteResponse> {
        revoke_invite::revoke_invite(self, request.try_into()?).await.map(Response::new)
    }

    async fn find_enrollment(
        &self,
        request: Request<v1::FindEnrollmentRequest>,
    ) -> RpcResult<v1::FindEnrollmentResponse> {
        find_enrollment::find_enrollment(self, request.try_into()?).await.map(Response::new)
    }

    async fn confirm_enrollment(
        &self,
        request: Request<v1::ConfirmEnrollmentRequest>,
    ) -> RpcResult<v1::ConfirmEnrollmentResponse> {
        confirm_enrollment::confirm_enrollment(self, request.try_into()?).await.map(Response::new)
    }

    async fn refuse_enrollment(
        &self,
        request: Request<v1::RefuseEnrollmentRequest>,
    ) -> RpcResult<v1::RefuseEnrollmentResponse> {
        refuse_enrollment::refuse_enrollment(self, request.try_into()?).await.map(Response::new)
    }

    async fn approve_device(
        &self,
        request: Request<v1::ApproveDeviceRequest>,
    ) -> RpcResult<v1::ApproveDeviceResponse> {
        approve_device::approve_device(self, request.try_into()?).await.map(Response::new)
    }

    async fn reject_device(
        &self,
        request: Request<v1::RejectDeviceRequest>,
    ) -> RpcResult<v1::RejectDeviceResponse> {
        reject_device::reject_device(self, request.try_into()?).await.map(Response::new)
    }

    async fn revoke_device(
        &self,
        request: Request<v1::RevokeDeviceRequest>,
    ) -> RpcResult<v1::RevokeDeviceResponse> {
        revoke_device::revoke_device(self, request.try_into()?).await.map(Response::new)
    }

    async fn quarantine_device(
        &self,
        request: Request<v1::QuarantineDeviceRequest>,
    ) -> RpcResult<v1::QuarantineDeviceResponse> {
        quarantine_device::quarantine_device(self, request.try_into()?).await.map(Response::new)
    }

    async fn rename_device(
        &self,
        request: Request<v1::RenameDeviceRequest>,
    ) -> RpcResult<v1::RenameDeviceResponse> {
        rename_device::rename_device(self, request.try_into()?).await.map(Response::new)
    }

    async fn set_device_labels(
        &self,
        request: Request<v1::SetDeviceLabelsRequest>,
    ) -> RpcResult<v1::SetDeviceLabelsResponse> {
        set_device_labels::set_device_labels(self, request.try_into()?).await.map(Response::new)
    }

    async fn remove_device(
        &self,
        request: Request<v1::RemoveDeviceRequest>,
    ) -> RpcResult<v1::RemoveDeviceResponse> {
        remove_device::remove_device(self, request.try_into()?).await.map(Response::new)
    }

    async fn set_device_mode(
        &self,
        request: Request<v1::SetDeviceModeRequest>,
    ) -> RpcResult<v1::SetDeviceModeResponse> {
        set_device_mode::set_device_mode(self, request.try_into()?).await.map(Response::new)
    }

    async fn review_device(
        &self,
        request: Request<v1::ReviewDeviceRequest>,
    ) -> RpcResult<v1::ReviewDeviceResponse> {
        review_device::review_device(self, request.try_into()?).await.map(Response::new)
    }
}
