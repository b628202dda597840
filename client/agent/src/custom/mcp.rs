//! Tools of MCP servers. Each call, and each look at what a server offers, starts the server again in the sandbox
//! of a program, talks to it over pipes, and ends it: so a server reaches what this one call may reach, keeps
//! nothing of one person's call for another's, and leaves nothing behind.

mod call;
mod define;
mod list;
mod talk;

pub(crate) use call::call;
pub(crate) use list::watch_servers;
