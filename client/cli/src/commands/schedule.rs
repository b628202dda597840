//! `orion schedule`: calls at times to come.

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use orion_domain::Hint;
use orion_wire::v1;
use serde_json::{Map, Value, json};

use super::call::{Target, make};
use crate::app::App;
use crate::client::Client;
use crate::complete;
use crate::failure::Failure;
use crate::output::GOOD;
use crate::show::{ScheduleView, schedule_page, schedules_table};
use crate::text;

/// Calls at times to come.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion schedule add 'disk check' --when '0 8 * * 1-5' nas-1 check_disk_space path=/srv
  orion schedule list
  orion schedule show 01a2fc13-f72a-727b
  orion schedule cancel 'disk check'

Each call is made as you and decided at its time. What needs approval then waits for it.")]
pub(crate) struct Schedule {
    #[command(subcommand)]
    what: ScheduleCommand,
}

#[derive(Debug, Subcommand)]
enum ScheduleCommand {
    /// Make a call at times to come
    #[command(after_help = "\
Examples:
  orion schedule add 'disk check' --when '0 8 * * 1-5' nas-1 check_disk_space path=/srv
  orion schedule add pulse --when 'every 10m' check_service service=nginx.service
  orion schedule add party --when 2026-12-24T18:00 --timezone Europe/Brussels tv-1 open_app app=firefox
  orion schedule add tidy --when 'every 1d' run_macro name=tidy")]
    Add {
        /// Its name; each of your tasks has its own
        #[arg(value_name = "NAME")]
        name: String,
        /// A cron expression of five fields, `every 10m`, or an ISO 8601 time
        #[arg(long, value_name = "WHEN")]
        when: String,
        /// The time zone, such as Europe/Brussels; the backend's if you leave it out
        #[arg(long, value_name = "ZONE")]
        timezone: Option<String>,
        #[command(flatten)]
        target: Target,
        /// Only show the next times
        #[arg(long)]
        dry_run: bool,
        /// Where it waits for approval, wait too
        #[arg(long)]
        wait: bool,
    },
    /// List your tasks, the newest first
    #[command(after_help = "Example:\n  orion schedule list")]
    List {
        /// Everybody's, for an admin
        #[arg(long)]
        all: bool,
    },
    /// Show one task
    #[command(after_help = "Example:\n  orion schedule show 01a2fc13-f72a-727b")]
    Show {
        /// Its name or its id, which may be shortened
        #[arg(value_name = "TASK", add = ArgValueCandidates::new(complete::schedules))]
        task: String,
    },
    /// Cancel a task, so that it makes no more calls
    #[command(after_help = "Example:\n  orion schedule cancel 01a2fc13-f72a-727b")]
    Cancel {
        /// Its name or its id, which may be shortened
        #[arg(value_name = "TASK", add = ArgValueCandidates::new(complete::schedules))]
        task: String,
    },
}

impl Schedule {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, there is no such task, or the backend rejects the request.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let client = app.signed_in().await?;
        match self.what {
            ScheduleCommand::Add { name, when, timezone, target, dry_run, wait } => {
                let planned = target.request(client).await?;
                let mut arguments = planned_call(planned)?;
                arguments.insert("name".to_owned(), name.into());
                arguments.insert("when".to_owned(), when.into());
                arguments.insert("timezone".to_owned(), timezone.into());
                arguments.insert("confirm".to_owned(), true.into());
                let request = v1::CallToolRequest {
                    tool: "schedule_task".to_owned(),
                    arguments: Value::Object(arguments).to_string().into_bytes().into(),
                    dry_run,
                    ..v1::CallToolRequest::default()
                };
                make(app, client, request, wait).await
            }
            ScheduleCommand::List { all } => {
                let list = listed(client, String::new(), all).await?;
                if list.is_empty() {
                    app.out.next("there is no task; `orion schedule add` makes one");
                }
                app.out.show(&list, || schedules_table(app.out, &list))?;
                Ok(0)
            }
            ScheduleCommand::Show { task } => {
                let id = id_of(client, &task).await?;
                let mut list = listed(client, id, false).await?;
                let view = match (list.pop(), list.pop()) {
                    (Some(only), None) => only,
                    (Some(_), Some(_)) => {
                        let message = format!("several tasks have an id that begins with {task}");
                        return Err(Failure::Usage(message).hint("give more of the id"));
                    }
                    (None, _) => {
                        return Err(Failure::NotFound(format!("you have no task {task}"))
                            .hint(Hint::run("list your tasks", "orion schedule list")));
                    }
                };
                app.out.show(&view, || schedule_page(app.out, &view))?;
                Ok(0)
            }
            ScheduleCommand::Cancel { task } => {
                let request =
                    v1::CancelScheduleRequest { schedule_id: id_of(client, &task).await? };
                let answer = client.ask(client.schedules().cancel_schedule(request)).await?;
                let view = ScheduleView::from(answer.schedule.unwrap_or_default());
                let name = text::one_line(&view.name, 80);
                app.out.note(&format!("{GOOD}✓{GOOD:#} {name} makes no more calls"));
                app.out.show(&view, String::new)?;
                Ok(0)
            }
        }
    }
}

/// Returns the id of the task of this person that has this name, the newest first. What else looks like an id is one.
async fn id_of(client: &Client, task: &str) -> Result<String, Failure> {
    let own = listed(client, String::new(), false).await?;
    let is_active = |view: &&ScheduleView| view.state == "active";
    let named: Vec<_> = own.iter().filter(|view| view.name == task).collect();
    let found = named.iter().copied().find(is_active).or_else(|| named.first().copied());
    match found {
        Some(view) => Ok(view.schedule_id.clone()),
        None if task.chars().all(|c| c.is_ascii_hexdigit() || c == '-') => Ok(task.to_owned()),
        None => Err(Failure::NotFound(format!("you have no task {}", text::one_line(task, 80)))
            .hint(Hint::run("list your tasks", "orion schedule list"))),
    }
}

async fn listed(
    client: &Client,
    schedule_id: String,
    all: bool,
) -> Result<Vec<ScheduleView>, Failure> {
    let request = v1::ListSchedulesRequest { schedule_id, all };
    let list = client.ask(client.schedules().list_schedules(request)).await?;
    Ok(list.schedules.into_iter().map(ScheduleView::from).collect())
}

/// Returns the arguments of `schedule_task` that say what is called: a call, or the macro that it runs.
fn planned_call(planned: v1::CallToolRequest) -> Result<Map<String, Value>, Failure> {
    let v1::CallToolRequest { tool, device, arguments, .. } = planned;
    let arguments: Value = serde_json::from_slice(&arguments)
        .map_err(|error| Failure::Usage(format!("the arguments cannot be read: {error}")))?;
    let mut all = Map::new();
    if tool == "run_macro" {
        all.insert("macro".to_owned(), arguments.get("name").cloned().unwrap_or_default());
        if let Some(parameters) = arguments.get("parameters") {
            all.insert("parameters".to_owned(), parameters.clone());
        }
    } else {
        let device = Some(device).filter(|device| !device.is_empty());
        let call = json!({"tool": tool, "device": device, "arguments": arguments});
        all.insert("call".to_owned(), call);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_macro_is_given_as_the_call_that_runs_it() {
        let of = |tool: &str, device: &str, arguments: Value| {
            let (tool, device) = (tool.to_owned(), device.to_owned());
            let arguments = arguments.to_string().into_bytes().into();
            let request =
                v1::CallToolRequest { tool, device, arguments, ..v1::CallToolRequest::default() };
            Value::Object(planned_call(request).unwrap())
        };
        assert_eq!(
            of("read_file", "kiosk", json!({"path": "a"})),
            json!({"call": {"tool": "read_file", "device": "kiosk", "arguments": {"path": "a"}}})
        );
        assert_eq!(of("run_macro", "", json!({"name": "tidy"})), json!({"macro": "tidy"}));
        assert_eq!(
            of("run_macro", "", json!({"name": "tidy", "parameters": {"a": 1}})),
            json!({"macro": "tidy", "parameters": {"a": 1}})
        );
    }
}
