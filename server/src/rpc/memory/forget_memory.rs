//! `ForgetMemory`: deletes a memory of the caller.

use orion_domain::{ErrorCode, Hint};
use orion_wire::v1;
use tonic::Status;

use super::{MemoryApi, to_proto};
use crate::clock::now_ms;
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::store::StoreError;

/// The fewest characters of a prefix of an id.
const MIN_PREFIX: usize = 8;

/// Deletes the memory whose id begins like this.
pub(super) async fn forget_memory(
    api: &MemoryApi,
    request: Signed<v1::ForgetMemoryRequest>,
) -> Result<v1::ForgetMemoryResponse, Status> {
    let Signed { identity, message } = request;
    let v1::ForgetMemoryRequest { memory_id } = message;
    if memory_id.len() < MIN_PREFIX || memory_id.len() > 36 {
        return Err(status::invalid(format!(
            "give the id of a memory, or its first {MIN_PREFIX} characters or more"
        )));
    }
    match api.store.forget_memory(&identity.caller.user, &memory_id, now_ms()).await {
        Ok(memory) => Ok(v1::ForgetMemoryResponse { memory: Some(to_proto::memory(memory)) }),
        Err(StoreError::NotFound) => {
            let hint = Hint::run("list your memories", "orion memory list");
            Err(status::hinted(ErrorCode::NotFound, "you have no such memory", hint))
        }
        Err(error) => Err(status::store(error)),
    }
}
