//! `DownloadPart`: reads a part of the file of a running download.

use orion_catalog::Content;
use orion_wire::v1;
use tonic::Status;

use super::{TransferApi, failed};
use crate::pipeline::content;
use crate::rpc::signed::Signed;
use crate::transfers::{ContentAnswer, ContentRequest};

/// Returns a part of the file, or ends the call once the person has everything.
pub(super) async fn download_part(
    api: &TransferApi,
    request: Signed<v1::DownloadPartRequest>,
) -> Result<v1::DownloadPartResponse, Status> {
    let Signed { identity, message } = request;
    let v1::DownloadPartRequest { call_id, offset, done } = message;
    if done {
        content::done(&api.pipeline, &identity.caller, &call_id).await.map_err(failed)?;
        return Ok(v1::DownloadPartResponse::default());
    }
    let request = ContentRequest::Read { offset };
    let of_call = (call_id.as_str(), Content::ToPerson);
    match content::part(&api.pipeline, &identity.caller, of_call, request).await {
        Ok(ContentAnswer::Part { content, size }) => {
            Ok(v1::DownloadPartResponse { content, size_bytes: size })
        }
        Ok(ContentAnswer::Received(_)) => Err(Status::internal("The device sent no content.")),
        Err(error) => Err(failed(error)),
    }
}
