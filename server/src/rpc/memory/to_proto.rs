//! Converts memories to the wire.

use orion_wire::v1;

use crate::store::MemoryRow;

pub(super) fn memory(memory: MemoryRow) -> v1::Memory {
    let MemoryRow { id, user: _, text, tags, untrusted, created_at, score: _ } = memory;
    v1::Memory { memory_id: id.to_string(), text, tags, untrusted, created_at }
}
