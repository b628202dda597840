//! `ListMemories`: the caller's own memories.

use orion_wire::v1;
use tonic::Status;

use super::{MemoryApi, to_proto};
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::store::{MAX_MEMORIES, MemoryFilter};

/// How many memories are listed where the request does not say it.
const DEFAULT_LIMIT: u32 = 50;
/// The most bytes of a query.
const MAX_QUERY_BYTES: usize = 400;
/// The most tags of a request.
const MAX_TAGS: usize = 8;

/// Lists the caller's memories.
pub(super) async fn list_memories(
    api: &MemoryApi,
    request: Signed<v1::ListMemoriesRequest>,
) -> Result<v1::ListMemoriesResponse, Status> {
    let Signed { identity, message } = request;
    let v1::ListMemoriesRequest { query, tags, limit } = message;
    if query.len() > MAX_QUERY_BYTES || tags.len() > MAX_TAGS {
        return Err(status::invalid(format!(
            "a query has {MAX_QUERY_BYTES} bytes at most, and {MAX_TAGS} tags"
        )));
    }
    let most = u32::try_from(MAX_MEMORIES).unwrap_or(u32::MAX);
    let limit = if limit == 0 { DEFAULT_LIMIT } else { limit.min(most) };
    let filter = MemoryFilter { query, tags, trusted_only: false, limit };
    let found = api.store.memories(&identity.caller.user, &filter).await.map_err(status::store)?;
    Ok(v1::ListMemoriesResponse { memories: found.into_iter().map(to_proto::memory).collect() })
}
