//! End-to-end stories: real backends, real devices and the real command line, each a process of its
//! own. What a person or a model would see is what is compared.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a story that cannot go on ends there")]

mod approvals;
mod approvers;
mod audit;
mod backend_tools;
mod backups;
mod bad_input;
mod bounds;
mod catalogue;
mod ceiling;
mod certificates;
mod chaos;
mod chat_endings;
mod command_line;
mod commands;
mod commits;
mod copies;
mod crashes;
mod decisions;
mod demo;
mod device_tools;
mod enough;
mod enrolment;
mod escapes;
mod explained;
mod file_tools;
mod floods;
mod going_away;
mod half_done;
mod half_open;
mod happy_path;
mod hidden;
mod http;
mod identities;
mod litter;
mod lying_agent;
mod lying_server;
mod models;
mod mutations;
mod odd_names;
mod one_use;
mod people;
mod plans;
mod policy;
mod private;
mod provenance;
mod queue;
mod raised;
mod refusals;
mod renewal;
mod revoking;
mod rotation;
mod shown;
mod signing_in;
mod slow;
mod soak;
mod special_files;
mod start_up;
mod stop;

mod tools;
mod undo;
mod webhook;
