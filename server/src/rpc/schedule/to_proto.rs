//! Converts tasks to the wire.

use orion_wire::v1;
use serde_json::Value;

use crate::store::{ScheduleRow, ScheduleState};

pub(super) fn schedule(row: ScheduleRow) -> v1::Schedule {
    let state = match row.state() {
        ScheduleState::Active => v1::ScheduleState::Active,
        ScheduleState::Done => v1::ScheduleState::Done,
        ScheduleState::Cancelled => v1::ScheduleState::Cancelled,
    };
    let ScheduleRow {
        id,
        user,
        role: _,
        name,
        times,
        timezone,
        tool,
        device,
        arguments,
        tainted,
        token: _,
        created_at,
        next_at,
        last_at,
        last_call,
        ended_at: _,
        ended_by: _,
    } = row;
    v1::Schedule {
        schedule_id: id.to_string(),
        user: user.to_string(),
        name,
        times,
        timezone,
        tool,
        device: device.unwrap_or_default(),
        arguments: Value::Object(arguments).to_string().into_bytes().into(),
        state: state.into(),
        created_at,
        next_at: next_at.unwrap_or_default(),
        last_at: last_at.unwrap_or_default(),
        last_call_id: last_call.map(|call| call.to_string()).unwrap_or_default(),
        untrusted: tainted,
    }
}
