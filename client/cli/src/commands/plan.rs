//! `orion plan`: several calls, shown together and approved once.

mod file;
mod follow;

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use orion_domain::Hint;
use orion_wire::v1;
use serde_json::Value;

use super::call::schema;
use crate::app::App;
use crate::approval::{approve_with, page, passkey_needed, typed_answer, with_passkey};
use crate::arguments;
use crate::client::{Client, within};
use crate::complete;
use crate::failure::Failure;
use crate::input;
use crate::interrupt::Hold;
use crate::show::{PlanView, plan_page, plans_table};
use crate::terminal::{self, Spinner};
use crate::text;
use follow::{PREVIEW_TIMEOUT, decided_elsewhere, follow};

/// Several calls, shown together and approved once.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion plan run release.yaml
  orion plan call laptop-123,kiosk delete_file path=old.txt confirm=true
  orion plan list
  orion plan show 0199b2c4-7f3e-7c11
  orion plan approve 0199b2c4-7f3e-7c11 --wait
  orion plan deny 0199b2c4-7f3e-7c11 --reason \"Not on a Friday\"")]
pub(crate) struct Plan {
    #[command(subcommand)]
    what: PlanCommand,
}

#[derive(Debug, Subcommand)]
enum PlanCommand {
    /// Show what the calls of a file would do, ask once, and run them in order
    #[command(after_help = "\
Examples:
  orion plan run release.yaml
  orion plan run release.yaml --keep-going --yes
  orion plan run - < release.yaml

The file is YAML or JSON:
  steps:
    - { device: laptop-123, tool: delete_file, arguments: { path: old.txt, confirm: true } }
    - { devices: [laptop-123, kiosk], tool: create_directory, arguments: { path: new } }

Without a terminal and without --yes the plan waits for `orion plan approve`, and this ends with 6.")]
    Run {
        /// The file; - for standard input
        #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        file: String,
        #[command(flatten)]
        how: RunOptions,
    },
    /// The same for one call on several devices
    #[command(after_help = "\
Example:
  orion plan call laptop-123,kiosk create_directory path=new")]
    Call {
        /// The devices' names or ids, with commas between them
        #[arg(value_name = "DEVICE,DEVICE", add = ArgValueCandidates::new(complete::devices))]
        devices: String,
        /// The tool's name or alias
        #[arg(value_name = "TOOL", add = ArgValueCandidates::new(complete::tools))]
        tool: String,
        /// Arguments: name=text, name:=json, name=@file; a list by giving the name again
        #[arg(value_name = "NAME=VALUE")]
        arguments: Vec<String>,
        /// All arguments as a JSON object, as @file, or - for standard input
        #[arg(long, value_name = "JSON")]
        json: Option<String>,
        #[command(flatten)]
        how: RunOptions,
    },
    /// List what waits or runs
    #[command(after_help = "Example:\n  orion plan list --all -o wide")]
    List {
        /// Also what has ended
        #[arg(long)]
        all: bool,
    },
    /// Show one plan with its steps
    #[command(after_help = "Example:\n  orion plan show 0199b2c4-7f3e-7c11")]
    Show {
        /// The plan's id; may be shortened
        #[arg(add = ArgValueCandidates::new(complete::plans))]
        id: String,
    },
    /// Approve all steps of a plan
    #[command(after_help = "\
Examples:
  orion plan approve 0199b2c4-7f3e-7c11 --wait
  orion plan approve 0199b2c4-7f3e-7c11 --reason \"Agreed in the stand-up\"

At a terminal the plan is shown first, unless --yes or --hash is given.")]
    Approve {
        /// The plan's id; may be shortened
        #[arg(add = ArgValueCandidates::new(complete::plans))]
        id: String,
        /// Follow the plan to its end and take over its exit code
        #[arg(long)]
        wait: bool,
        /// Why; some steps need it
        #[arg(long, value_name = "TEXT", default_value = "")]
        reason: String,
        /// The hash that was shown; where the plan has another, nothing is approved
        #[arg(long, value_name = "HEX")]
        hash: Option<String>,
    },
    /// Deny a plan; one that runs begins no further step
    #[command(
        after_help = "Example:\n  orion plan deny 0199b2c4-7f3e-7c11 --reason \"Wrong folder\""
    )]
    Deny {
        /// The plan's id; may be shortened
        #[arg(add = ArgValueCandidates::new(complete::plans))]
        id: String,
        /// Why
        #[arg(long, value_name = "TEXT", default_value = "")]
        reason: String,
    },
}

/// How a plan is run.
#[derive(Debug, Clone, Copy, Args)]
struct RunOptions {
    /// Go on where a step fails or has drifted
    #[arg(long)]
    keep_going: bool,
    /// Where the plan waits for a person, wait too
    #[arg(long)]
    wait: bool,
}

impl Plan {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, the plan is rejected, or the backend fails. A failed plan is no error here:
    /// its exit code is returned.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        match self.what {
            PlanCommand::Run { file, how } => {
                let (steps, keep_going) = file::read(&input::document(&file)?)?;
                let client = app.signed_in().await?;
                let how = RunOptions { keep_going: how.keep_going || keep_going, ..how };
                make(app, client, steps, how).await
            }
            PlanCommand::Call { devices, tool, arguments, json, how } => {
                let client = app.signed_in().await?;
                let base = json
                    .as_deref()
                    .map(|json| arguments::object("--json", json))
                    .transpose()?
                    .unwrap_or_default();
                let schema =
                    schema(client, &tool, devices.split(',').next().unwrap_or_default()).await?;
                let arguments = arguments::arguments(&arguments, base, schema.as_ref())?;
                let steps = file::over(&devices, &tool, &Value::Object(arguments))?;
                make(app, client, steps, how).await
            }
            PlanCommand::List { all } => {
                let client = app.signed_in().await?;
                let request = v1::ListPlansRequest { all };
                let list = client.ask(client.plans().list_plans(request)).await?;
                let plans: Vec<_> = list.plans.into_iter().map(PlanView::from).collect();
                if plans.is_empty() {
                    app.out.note("no plan waits or runs");
                }
                app.out.show(&plans, || plans_table(app.out, &plans))?;
                Ok(0)
            }
            PlanCommand::Show { id } => {
                let client = app.signed_in().await?;
                let plan = get(client, &id).await?;
                app.out.show(&plan, || plan_page(app.out, &plan))?;
                Ok(0)
            }
            PlanCommand::Approve { id, wait, reason, hash } => {
                let client = app.signed_in().await?;
                let plan = get(client, &id).await?;
                if hash.as_ref().is_some_and(|hash| !hash.eq_ignore_ascii_case(&plan.hash)) {
                    let command = format!("orion plan show {}", plan.plan_id);
                    let message = "the plan has another hash, so nothing was approved".to_owned();
                    return Err(
                        Failure::Conflict(message).hint(Hint::run("read the plan again", command))
                    );
                }
                let asks = hash.is_none() && !app.yes && plan.state == "open";
                if asks && terminal::is_interactive() {
                    app.out.error_line(&plan_page(app.out, &plan));
                    if !terminal::confirm("Approve the whole plan?").await? {
                        return Err(Failure::Conflict("nothing was approved".to_owned()));
                    }
                }
                let decided = decide(client, &plan, true, &reason).await?;
                if decided.state == "open" {
                    more_must_approve(app, &decided);
                } else if !wait {
                    let show = show_command(&decided);
                    app.out.next(&format!("`{show}` says how it goes"));
                }
                if wait {
                    return follow(app, client, decided).await;
                }
                app.out.show(&decided, || state_line(&decided))?;
                Ok(0)
            }
            PlanCommand::Deny { id, reason } => {
                let client = app.signed_in().await?;
                let plan = get(client, &id).await?;
                let decided = decide(client, &plan, false, &reason).await?;
                app.out.show(&decided, || state_line(&decided))?;
                Ok(0)
            }
        }
    }
}

fn more_must_approve(app: &App<'_>, plan: &PlanView) {
    app.out.next(&format!("more people must approve it; `{}` says who", show_command(plan)));
}

fn show_command(plan: &PlanView) -> String {
    format!("orion plan show {}", text::one_line(text::short_id(&plan.plan_id), 40))
}

fn state_line(plan: &PlanView) -> String {
    let steps = text::counted(plan.step_count, "step", "steps");
    format!("plan {} with {steps}: {}", text::short_id(&plan.plan_id), plan.state)
}

async fn get(client: &Client, id: &str) -> Result<PlanView, Failure> {
    let request = v1::GetPlanRequest { plan_id: id.to_owned(), wait_ms: 0, known_revision: 0 };
    let answer = client.ask(client.plans().get_plan(request)).await?;
    Ok(PlanView::from(answer.plan.unwrap_or_default()))
}

/// Approves or denies a plan by the hash that was shown with it.
async fn decide(
    client: &Client,
    plan: &PlanView,
    approve: bool,
    reason: &str,
) -> Result<PlanView, Failure> {
    let hash: orion_domain::Digest = plan
        .hash
        .parse()
        .map_err(|_| Failure::Failed("the backend gave the plan no hash".to_owned()))?;
    let request = v1::DecidePlanRequest {
        plan_id: plan.plan_id.clone(),
        hash: hash.as_bytes().to_vec().into(),
        approve,
        reason: reason.to_owned(),
        passkey: None,
    };
    let answer = client.ask(client.plans().decide_plan(request)).await?;
    Ok(PlanView::from(answer.plan.unwrap_or_default()))
}

/// Creates a plan, shows it, decides it as the command line says, and follows it to its end.
async fn make(
    app: &App<'_>,
    client: &Client,
    steps: Vec<v1::NewPlanStep>,
    how: RunOptions,
) -> Result<u8, Failure> {
    let limit = app.timeout.unwrap_or(PREVIEW_TIMEOUT);
    let waiting = Spinner::on(app.out, "previewing");
    let request = v1::CreatePlanRequest { steps, keep_going: how.keep_going };
    let made = within(limit, client.plans().create_plan(request)).await;
    drop(waiting);
    let plan = PlanView::from(made?.plan.unwrap_or_default());
    if app.out.is_for_people() {
        app.out.line(&plan_page(app.out, &plan))?;
    }
    let page = match plan.asks(|approval| approval.passkey_required) {
        true => Some(page(client, "plans", &plan.plan_id).await),
        false => None,
    };
    let hint = match &page {
        Some(page) => with_passkey(page),
        None => {
            let reason = plan.asks(|approval| approval.reason_required);
            let reason = if reason { " --reason \"…\"" } else { "" };
            approve_with(app.out, &format!("orion plan approve {}{reason}", plan.plan_id))
        }
    };
    let (approve, reason) = if app.yes {
        (true, String::new())
    } else if how.wait {
        app.out.error_line(&hint);
        return follow(app, client, plan).await;
    } else if terminal::is_interactive() {
        if let Some(page) = &page {
            app.out.error_line(&passkey_needed("plan", page));
        }
        let hold = Hold::new();
        let reason_required = plan.asks(|approval| approval.reason_required);
        let asked = tokio::select! {
            biased;
            answer = typed_answer("Run this plan?", reason_required) => answer,
            decided = decided_elsewhere(client, &plan) => {
                drop(hold);
                app.out.error_line(&format!("The plan is {}.", decided.state));
                return follow(app, client, decided).await;
            }
            _ = tokio::signal::ctrl_c() => Err(Failure::Interrupted),
        };
        match asked {
            Ok(answer) => answer,
            Err(failure) => {
                // A person who stops at the approval request does not want the plan to keep waiting.
                decide(client, &plan, false, "Stopped at the terminal.").await?;
                drop(hold);
                return Err(failure);
            }
        }
    } else {
        app.out.error_line(&hint);
        return waits(app, &plan);
    };
    match decide(client, &plan, approve, &reason).await {
        Ok(decided) if approve && !how.wait && decided.state == "open" => {
            more_must_approve(app, &decided);
            app.out.error_line(&hint);
            waits(app, &decided)
        }
        Ok(decided) => follow(app, client, decided).await,
        Err(failure) => {
            if approve && get(client, &plan.plan_id).await.is_ok_and(|now| now.state == "open") {
                app.out.note("the plan still waits for approval");
                app.out.error_line(&hint);
            }
            Err(failure)
        }
    }
}

/// Reports a plan that waits for other people, and returns the exit code.
fn waits(app: &App<'_>, plan: &PlanView) -> Result<u8, Failure> {
    if !app.out.is_for_people() {
        app.out.show(plan, String::new)?;
    }
    Ok(orion_domain::ErrorCode::ApprovalRequired.exit_code())
}
