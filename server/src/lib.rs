//! Orion's backend: takes tool calls, evaluates them, requests approval where needed, routes them to
//! devices, and audits all.
//!
//! Start reading at [`pipeline`]: the life of a call in one function, one file for each step. [`rpc`] is
//! the way in, [`fleet`] the way out to devices, [`store`] the database.

pub mod access;
pub mod active_policy;
pub mod backend;
pub mod backup;
pub mod bus;
pub mod ca;
pub mod chat;
pub mod clock;
pub mod config;
pub mod data_folder;
pub mod downloads;
pub mod fleet;
pub mod http;
mod insights;
pub mod jobs;
pub mod listen;
pub mod local_tools;
pub mod log;
mod median;
pub mod model;
pub mod notary;
pub mod passkeys;
pub mod people;
pub mod pipeline;
pub mod planned_calls;
pub mod policy;
pub mod rpc;
pub mod schedules;
pub mod scope;
mod secret_values;
pub mod serve;
pub mod store;
pub mod tasks;
pub mod transfers;
pub mod webauthn;
pub mod webhook;
