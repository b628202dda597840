//! `UploadPart`: hands a part of a file to the device of a running upload.

use orion_catalog::{Content, MAX_PART_BYTES};
use orion_wire::v1;
use tonic::Status;

use super::{TransferApi, failed};
use crate::pipeline::content;
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::transfers::{ContentAnswer, ContentRequest};

/// Hands a part to the device, and returns how much it has.
pub(super) async fn upload_part(
    api: &TransferApi,
    request: Signed<v1::UploadPartRequest>,
) -> Result<v1::UploadPartResponse, Status> {
    let Signed { identity, message } = request;
    let v1::UploadPartRequest { call_id, offset, content } = message;
    if content.len() > MAX_PART_BYTES {
        return Err(status::invalid(format!("a part has at most {MAX_PART_BYTES} bytes")));
    }
    let request = ContentRequest::Write { offset, content, size: 0 };
    let of_call = (call_id.as_str(), Content::FromPerson);
    match content::part(&api.pipeline, &identity.caller, of_call, request).await {
        Ok(ContentAnswer::Received(received)) => Ok(v1::UploadPartResponse { received }),
        Ok(ContentAnswer::Part { .. }) => Err(Status::internal("The device sent content.")),
        Err(error) => Err(failed(error)),
    }
}
