//! Shell completion of values: tools and their arguments, and what the backend has: devices, calls, approvals, people.

use std::time::Duration;

use clap_complete::CompletionCandidate;
use orion_wire::v1;

use crate::client::Client;
use crate::context::{Context, Contexts, Environment};
use crate::failure::Failure;
use crate::global::Global;
use crate::text;

/// The longest wait of a person who presses Tab.
const COMPLETION_TIMEOUT: Duration = Duration::from_millis(700);

/// The maximum number of ids that are offered.
const MAX_IDS: u32 = 50;
/// The maximum length of a value and of what explains it, in characters.
const MAX_HELP_CHARS: usize = 120;

/// Returns the tools of the catalogue.
pub(crate) fn tools() -> Vec<CompletionCandidate> {
    let candidate = |spec: &orion_catalog::ToolSpec| {
        let sentence = spec.description.split_inclusive(". ").next().unwrap_or_default();
        CompletionCandidate::new(spec.name).help(Some(sentence.trim_end().to_owned().into()))
    };
    orion_catalog::CATALOG.iter().map(candidate).collect()
}

/// Asks the backend of the context; `None` when it does not answer at once.
fn asked<T>(question: impl AsyncFnOnce(Client) -> Result<T, Failure>) -> Option<T> {
    let global = Global {
        context: std::env::var_os("ORION_CONTEXT").map(Into::into),
        backend: std::env::var("ORION_BACKEND").ok(),
        ..Global::default()
    };
    let context = Context::resolve(Environment::of_process(&global)).ok()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let answer = async {
        let client = Client::connect(&context, COMPLETION_TIMEOUT).await.ok()?;
        question(client).await.ok()
    };
    runtime.block_on(async { tokio::time::timeout(COMPLETION_TIMEOUT, answer).await }).ok()?
}

/// Returns names or ids with what they are.
fn candidates(
    found: Option<impl IntoIterator<Item = (String, String)>>,
) -> Vec<CompletionCandidate> {
    let candidate = |(value, help): (String, String)| {
        let help = Some(help).filter(|help| !help.is_empty());
        // A name of another device or person is text of others.
        let help = help.map(|help| text::one_line(&help, MAX_HELP_CHARS).into());
        CompletionCandidate::new(text::one_line(&value, MAX_HELP_CHARS)).help(help)
    };
    found.into_iter().flatten().map(candidate).collect()
}

/// Returns the devices of the backend; none when it does not answer at once.
pub(crate) fn devices() -> Vec<CompletionCandidate> {
    let usable = |device: &v1::Device| device.state == v1::DeviceState::Approved as i32;
    candidates(asked(async |client| {
        let request = v1::ListDevicesRequest { pending_only: false };
        let list = client.ask(client.devices().list_devices(request)).await?.devices;
        Ok(list.into_iter().filter(usable).map(|device| (device.name, String::new())))
    }))
}

/// Returns the enrolment tokens that can still be used.
pub(crate) fn invites() -> Vec<CompletionCandidate> {
    candidates(asked(async |client| {
        let list = client.ask(client.devices().list_invites(v1::ListInvitesRequest {})).await?;
        Ok(list.invites.into_iter().map(|invite| (invite.invite_id, invite.name)))
    }))
}

/// Returns the newest calls, for which nobody types an id.
pub(crate) fn calls() -> Vec<CompletionCandidate> {
    candidates(asked(async |client| {
        let request = v1::ListCallsRequest { limit: MAX_IDS, ..v1::ListCallsRequest::default() };
        let list = client.ask(client.tools().list_calls(request)).await?.calls;
        let about = |call: v1::Call| (call.call_id, format!("{} on {}", call.tool, call.device));
        Ok(list.into_iter().map(about))
    }))
}

/// Returns the open approval requests.
pub(crate) fn approvals() -> Vec<CompletionCandidate> {
    candidates(asked(async |client| {
        let request = v1::ListApprovalsRequest { all: false };
        let list = client.ask(client.approvals().list_approvals(request)).await?.approvals;
        let about = |it: v1::Approval| (it.approval_id, format!("{} on {}", it.tool, it.device));
        Ok(list.into_iter().map(about))
    }))
}

/// Returns the plans that are open or run.
pub(crate) fn plans() -> Vec<CompletionCandidate> {
    candidates(asked(async |client| {
        let request = v1::ListPlansRequest { all: false };
        let list = client.ask(client.plans().list_plans(request)).await?.plans;
        Ok(list.into_iter().map(|plan| (plan.plan_id, String::new())))
    }))
}

/// Returns the accounts.
pub(crate) fn users() -> Vec<CompletionCandidate> {
    candidates(asked(async |client| {
        let list = client.ask(client.auth().list_users(v1::ListUsersRequest {})).await?.users;
        Ok(list.into_iter().map(|user| (user.user, user.role)))
    }))
}

/// Returns this person's tokens.
pub(crate) fn tokens() -> Vec<CompletionCandidate> {
    candidates(asked(async |client| {
        let request = v1::ListTokensRequest::default();
        let list = client.ask(client.auth().list_tokens(request)).await?.tokens;
        Ok(list.into_iter().map(|token| (token.token_id, token.name)))
    }))
}

/// Returns the versions of the policy.
pub(crate) fn policies() -> Vec<CompletionCandidate> {
    candidates(asked(async |client| {
        let request = v1::ListPolicyVersionsRequest {};
        let list = client.ask(client.policy().list_policy_versions(request)).await?.versions;
        Ok(list.into_iter().map(|version| (version.version.to_string(), version.note)))
    }))
}

/// Returns this person's aliases.
pub(crate) fn aliases() -> Vec<CompletionCandidate> {
    candidates(asked(async |client| {
        let list =
            client.ask(client.tools().list_aliases(v1::ListAliasesRequest {})).await?.aliases;
        Ok(list.into_iter().map(|alias| (alias.name, alias.tool)))
    }))
}

/// Returns this person's macros.
pub(crate) fn macros() -> Vec<CompletionCandidate> {
    candidates(asked(async |client| {
        let list = client.ask(client.macros().list_macros(v1::ListMacrosRequest {})).await?.macros;
        let about = |kept: v1::Macro| (kept.name, format!("{} calls", kept.steps.len()));
        Ok(list.into_iter().map(about))
    }))
}

/// Returns this person's tasks.
pub(crate) fn schedules() -> Vec<CompletionCandidate> {
    candidates(asked(async |client| {
        let request = v1::ListSchedulesRequest::default();
        let list = client.ask(client.schedules().list_schedules(request)).await?.schedules;
        Ok(list.into_iter().map(|task| (task.schedule_id, task.name)))
    }))
}

/// Returns the arguments of the tool that the command line names, each with its `=`.
pub(crate) fn arguments() -> Vec<CompletionCandidate> {
    arguments_of(std::env::args())
}

fn arguments_of(words: impl Iterator<Item = String>) -> Vec<CompletionCandidate> {
    let Some((spec, _)) = words.filter_map(|word| orion_catalog::find(&word)).last() else {
        return Vec::new();
    };
    let schema = spec.arguments_schema();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let candidate = |(name, property): (&String, &serde_json::Value)| {
        let help = property["description"].as_str().map(|help| help.to_owned().into());
        CompletionCandidate::new(format!("{name}=")).help(help)
    };
    properties.map(candidate).collect()
}

/// Returns the names of this person's contexts.
pub(crate) fn contexts() -> Vec<CompletionCandidate> {
    let names = Contexts::of_person().and_then(|contexts| contexts.names().ok());
    names.unwrap_or_default().into_iter().map(CompletionCandidate::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_the_tool_on_the_line_are_offered() {
        let offered = |line: &str| {
            let found = arguments_of(line.split(' ').map(str::to_owned));
            let names = found.iter().map(|it| it.get_value().to_string_lossy().into_owned());
            names.collect::<Vec<_>>()
        };
        let names = offered("orion -- orion call kiosk create_directory pa");
        assert_eq!(names, ["parents=", "path="]);
        assert_eq!(offered("orion -- orion call kiosk"), Vec::<String>::new());
    }

    #[test]
    fn every_tool_is_offered() {
        let offered: Vec<_> =
            tools().iter().map(|c| c.get_value().to_string_lossy().into_owned()).collect();
        let names: Vec<_> = orion_catalog::CATALOG.iter().map(|spec| spec.name).collect();
        assert_eq!(offered, names);
    }
}
