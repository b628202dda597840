//! What messages look like to programs and to people. One file a kind of thing.

mod approval;
mod device;
mod person;
mod tool;
mod value;

pub(crate) use approval::{ApprovalView, approvals_table};
pub(crate) use device::{DeviceView, devices_table, pending_table};
pub(crate) use person::{TokenView, UserView, tokens_table, users_table};
pub(crate) use tool::{ToolView, openai, tool_page, tools_table};
pub(crate) use value::{short_arguments, value};
