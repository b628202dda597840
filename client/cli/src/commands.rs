//! The commands, one file each.

pub(crate) mod aliases;
pub(crate) mod approvals;
pub(crate) mod ask;
pub(crate) mod audit;
pub(crate) mod call;
pub(crate) mod calls;
pub(crate) mod chat;
mod chats;
pub(crate) mod completion;
pub(crate) mod context;
pub(crate) mod cp;
pub(crate) mod demo;
pub(crate) mod devices;
pub(crate) mod extract;
pub(crate) mod insights;
pub(crate) mod login;
pub(crate) mod logout;
pub(crate) mod macros;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod memory;
pub(crate) mod page;
pub(crate) mod password;
pub(crate) mod plan;
pub(crate) mod policy;
pub(crate) mod redteam;
pub(crate) mod request;
pub(crate) mod requests;
pub(crate) mod resume;
pub(crate) mod schedule;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod tokens;
pub(crate) mod tools;
pub(crate) mod undo;
pub(crate) mod users;
pub(crate) mod whoami;
pub(crate) mod why;

use clap::Subcommand;
use orion_domain::Hint;

use crate::app::App;
use crate::context::{Context, Environment};
use crate::failure::Failure;
use crate::global::Global;
use crate::interrupt::interruptible;
use crate::output::Output;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a backend and a device on this machine, and talk to them
    Demo(demo::Demo),
    /// Whether the backend answers, who is signed in, and what waits
    Status(status::Status),
    /// Sign in, and remember where
    Login(login::Login),
    /// Sign out, here or everywhere
    Logout(logout::Logout),
    /// Who is signed in, and where
    #[command(name = "whoami")]
    WhoAmI(whoami::WhoAmI),
    /// Print a link to the backend's page that signs you in
    Page(page::Page),
    /// The backends that you have signed in at
    Context(context::ContextCommand),
    /// Chat with a model that calls tools on your devices
    Chat(chat::Chat),
    /// List, show and search your chats
    Chats(chats::Chats),
    /// Send a model one message, and print its answer
    Ask(ask::Ask),
    /// Call one tool on one device
    Call(call::Call),
    /// Copy files between this computer and your devices
    Cp(cp::Cp),
    /// What is under way, what waits for a device, and how a call goes on
    #[command(visible_alias = "jobs")]
    Calls(calls::Calls),
    /// End what runs and waits, and refuse new calls until they are resumed
    Stop(stop::Stop),
    /// Let stopped calls run again
    Resume(resume::Resume),
    /// Several calls, shown together and approved once
    Plan(plan::Plan),
    /// Take back what a call changed
    Undo(undo::Undo),
    /// Show what each layer says to a call, without making it
    Why(why::Why),
    /// Try attacks on your policy and devices, without executing anything
    Redteam(redteam::Redteam),
    /// Ask an admin for access that was denied
    Request(request::Request),
    /// Requests for access, and their answers
    Requests(requests::Requests),
    /// The tools that there are
    Tools(tools::Tools),
    /// Names of your own for a tool with some of its arguments
    Aliases(aliases::Aliases),
    /// Several calls by one name
    Macros(macros::Macros),
    /// Calls at times to come
    Schedule(schedule::Schedule),
    /// How often tools were used, and what would save typing or asking
    Insights(insights::Insights),
    /// What was kept for you for later chats
    Memory(memory::Memory),
    /// The devices, and what is granted on them
    Devices(devices::Devices),
    /// What may happen on each device, as one file with versions
    Policy(policy::Policy),
    /// What waits for approval
    Approvals(approvals::Approvals),
    /// Who may sign in, and as what
    Users(users::Users),
    /// What programs sign in with
    Tokens(tokens::Tokens),
    /// The audit log of everything that happened
    Audit(audit::Audit),
    /// Print the tool calls in a model's text
    Extract(extract::Extract),
    /// Offer the tools to a program, such as a desktop client or an editor
    Mcp(mcp::Mcp),
    /// Print the completion script of a shell
    Completion(completion::Completion),
    /// Write the manual pages
    Man(man::Man),
}

/// Runs the command and returns the exit code. `line` is the whole command line, as the manual describes it.
///
/// # Errors
/// The failure of the command.
pub(crate) async fn run(
    command: Command,
    global: &Global,
    out: &Output,
    line: clap::Command,
) -> Result<u8, Failure> {
    let out = &Output { pages: command.is_paged(), ..out.clone() };
    let app = || app(out, global);
    match command {
        // These commands need no backend, so an invalid context does not stop them.
        Command::Extract(command) => command.run(out),
        Command::Completion(command) => command.run(out),
        Command::Man(command) => command.run(out, line),
        Command::Demo(command) => command.run(out, global).await,
        Command::Context(command) => interruptible(command.run(out, global)).await,
        Command::Status(command) if global.named_backend().is_none() => {
            interruptible(command.run(&app()?)).await
        }
        // The status says that there is no context for this backend, and signing in creates one.
        Command::Status(command) => {
            let context = Context::resolve(Environment::of_process(global))?;
            interruptible(command.run(&App::new(out, global, context))).await
        }
        Command::Login(command) => {
            let context = Context::resolve(Environment::of_process(global))?;
            interruptible(command.run(&App::new(out, global, context))).await
        }
        Command::WhoAmI(command) => interruptible(command.run(&app()?)).await,
        Command::Logout(command) => interruptible(command.run(&app()?)).await,
        Command::Page(command) => interruptible(command.run(&app()?)).await,
        // In these commands Ctrl-C stops the answer first.
        Command::Chat(command) => command.run(&app()?).await,
        Command::Ask(command) => command.run(&app()?).await,
        // In this command Ctrl-C cancels the call first.
        Command::Cp(command) => command.run(&app()?).await,
        Command::Mcp(command) => {
            let is_named = global.named_context().is_some() || global.named_backend().is_some();
            interruptible(command.run(&app()?, is_named)).await
        }
        Command::Call(command) => interruptible(command.run(&app()?)).await,
        Command::Calls(command) => interruptible(command.run(&app()?)).await,
        Command::Stop(command) => interruptible(command.run(&app()?)).await,
        Command::Resume(command) => interruptible(command.run(&app()?)).await,
        Command::Chats(command) => interruptible(command.run(&app()?)).await,
        Command::Undo(command) => interruptible(command.run(&app()?)).await,
        Command::Why(command) => interruptible(command.run(&app()?)).await,
        Command::Redteam(command) => interruptible(command.run(&app()?)).await,
        Command::Request(command) => interruptible(command.run(&app()?)).await,
        Command::Requests(command) => interruptible(command.run(&app()?)).await,
        Command::Tools(command) => interruptible(command.run(&app()?)).await,
        Command::Aliases(command) => interruptible(command.run(&app()?)).await,
        Command::Insights(command) => interruptible(command.run(&app()?)).await,
        Command::Macros(command) => interruptible(command.run(&app()?)).await,
        Command::Schedule(command) => interruptible(command.run(&app()?)).await,
        Command::Memory(command) => interruptible(command.run(&app()?)).await,
        Command::Devices(command) => interruptible(command.run(&app()?)).await,
        Command::Policy(command) => interruptible(command.run(&app()?)).await,
        Command::Plan(command) => interruptible(command.run(&app()?)).await,
        Command::Approvals(command) => interruptible(command.run(&app()?)).await,
        Command::Users(command) => interruptible(command.run(&app()?)).await,
        Command::Tokens(command) => interruptible(command.run(&app()?)).await,
        Command::Audit(command) => interruptible(command.run(&app()?)).await,
    }
}

impl Command {
    /// Returns whether the command lists and shows, so that a pager may show what is long.
    const fn is_paged(&self) -> bool {
        matches!(
            self,
            Self::Calls(_)
                | Self::Chats(_)
                | Self::Why(_)
                | Self::Requests(_)
                | Self::Tools(_)
                | Self::Aliases(_)
                | Self::Memory(_)
                | Self::Macros(_)
                | Self::Schedule(_)
                | Self::Insights(_)
                | Self::Redteam(_)
                | Self::Devices(_)
                | Self::Policy(_)
                | Self::Approvals(_)
                | Self::Users(_)
                | Self::Tokens(_)
                | Self::Audit(_)
        )
    }
}

/// Creates the context of a command that talks to a backend.
fn app<'a>(out: &'a Output, global: &Global) -> Result<App<'a>, Failure> {
    let context = Context::resolve(Environment::of_process(global))?;
    if context.found {
        out.detail(&format!("context {}, backend {}", context.path.display(), context.backend));
    } else if let Some(named) = global.named_context() {
        let path = context.path.display();
        return Err(Failure::NotFound(format!("the context {path} does not exist"))
            .hint(Hint::run("create it", format!("orion --context {} login", named.display())))
            .hint(Hint::run("or list those that exist", "orion context list")));
    }
    Ok(App::new(out, global, context))
}
