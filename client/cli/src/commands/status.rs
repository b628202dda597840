//! `orion status`: whether the backend answers, who is signed in, and what waits.

use std::path::PathBuf;

use clap::Args;
use orion_domain::{ErrorCode, Hint};
use orion_wire::v1;
use serde::Serialize;

use super::whoami::PersonView;
use crate::app::App;
use crate::client::Client;
use crate::context::Contexts;
use crate::failure::Failure;
use crate::output::facts;
use crate::text;

/// Shows whether the backend answers, who is signed in, and what waits.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion status
  orion status -o json | jq .devices.online

Ends with 0 if somebody is signed in at a backend that answers, with 1 if none answers, and with 4 if nobody is
signed in.")]
pub(crate) struct Status {}

/// The state of everything, for programs.
#[derive(Debug, Serialize)]
struct StatusView {
    backend: String,
    reachable: bool,
    context: ContextPart,
    person: Option<PersonView>,
    devices: Option<DeviceCounts>,
    waiting_approvals: Option<usize>,
    waiting_plans: Option<usize>,
    open_requests: Option<usize>,
    stops: Option<usize>,
}

#[derive(Debug, Serialize)]
struct ContextPart {
    name: Option<String>,
    path: PathBuf,
    exists: bool,
}

#[derive(Debug, Default, Serialize)]
struct DeviceCounts {
    online: usize,
    offline: usize,
    pending: usize,
    quarantined: usize,
}

impl DeviceCounts {
    fn of(devices: &[v1::Device]) -> Self {
        let mut counts = Self::default();
        for device in devices {
            match v1::DeviceState::try_from(device.state) {
                Ok(v1::DeviceState::Approved) if device.online => counts.online += 1,
                Ok(v1::DeviceState::Approved) => counts.offline += 1,
                Ok(v1::DeviceState::Pending) => counts.pending += 1,
                Ok(v1::DeviceState::Quarantined) => counts.quarantined += 1,
                Ok(
                    v1::DeviceState::Rejected
                    | v1::DeviceState::Revoked
                    | v1::DeviceState::Unspecified,
                )
                | Err(_) => {}
            }
        }
        counts
    }

    fn line(&self) -> String {
        let Self { online, offline, pending, quarantined } = self;
        let mut parts = vec![format!("{online} online"), format!("{offline} offline")];
        if *pending > 0 {
            parts.push(format!("{pending} pending (orion devices pending)"));
        }
        if *quarantined > 0 {
            parts.push(format!("{quarantined} in quarantine"));
        }
        parts.join(", ")
    }
}

/// Returns the answer to a question, or None where the person's role does not permit it.
fn permitted<T>(answer: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(failure) if failure.tool_code() == Some(ErrorCode::PermissionDenied) => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Returns whether the backend itself answered with this failure.
fn is_of_backend(failure: &Failure) -> bool {
    matches!(failure.cause(), Failure::Tool(_) | Failure::Status { .. })
}

impl StatusView {
    fn new(app: &App<'_>) -> Self {
        let path = app.context.path.clone();
        let name = Contexts::of_person().and_then(|contexts| contexts.name_of(&path));
        Self {
            backend: app.context.backend.clone(),
            reachable: false,
            context: ContextPart { name, path, exists: app.context.found },
            person: None,
            devices: None,
            waiting_approvals: None,
            waiting_plans: None,
            open_requests: None,
            stops: None,
        }
    }

    /// Asks the backend for the rest.
    async fn fill(&mut self, app: &App<'_>) -> Result<(), Failure> {
        let client = app.client().await?;
        // A connection alone says little: a listener of another protocol takes it too.
        let answer = client.ask(client.auth().who_am_i(v1::WhoAmIRequest {})).await;
        self.reachable = answer.as_ref().err().is_none_or(is_of_backend);
        if self.reachable {
            app.signed_in().await?;
        }
        self.person = Some(PersonView::from((answer?, app.context.backend.as_str())));
        self.fill_counts(client).await
    }

    async fn fill_counts(&mut self, client: &Client) -> Result<(), Failure> {
        let request = v1::ListDevicesRequest { pending_only: false };
        let listed = permitted(client.ask(client.devices().list_devices(request)).await)?;
        self.devices = listed.map(|listed| DeviceCounts::of(&listed.devices));
        let request = v1::ListApprovalsRequest { all: false };
        let listed = permitted(client.ask(client.approvals().list_approvals(request)).await)?;
        self.waiting_approvals = listed.map(|listed| listed.approvals.len());
        let request = v1::ListPlansRequest { all: false };
        let listed = permitted(client.ask(client.plans().list_plans(request)).await)?;
        self.waiting_plans = listed.map(|listed| {
            let is_open = |it: &&v1::Plan| it.state() == v1::PlanState::Open;
            listed.plans.iter().filter(is_open).count()
        });
        let request = v1::ListAccessRequestsRequest { all: false };
        let mut service = client.access_requests();
        let listed = permitted(client.ask(service.list_access_requests(request)).await)?;
        self.open_requests = listed.map(|listed| {
            let is_open = |it: &&v1::AccessRequest| it.state() == v1::AccessRequestState::Open;
            listed.requests.iter().filter(is_open).count()
        });
        let request = v1::ListStopsRequest {};
        let listed = permitted(client.ask(client.tools().list_stops(request)).await)?;
        self.stops = listed.map(|listed| listed.stops.len());
        Ok(())
    }

    fn page(&self, app: &App<'_>) -> String {
        let Self {
            backend,
            reachable,
            context,
            person,
            devices,
            waiting_approvals,
            waiting_plans,
            open_requests,
            stops,
        } = self;
        let ContextPart { name, path, exists } = context;
        let answers = if *reachable { "answers" } else { "was not reached" };
        let context = match (exists, name) {
            (false, _) => "none yet".to_owned(),
            (true, Some(name)) => format!("{name} ({})", path.display()),
            (true, None) => path.display().to_string(),
        };
        let person = person.as_ref().map(|person| {
            let until = text::when(&app.out.zone, person.token.expires_at);
            format!("{}, {}, by {} until {until}", person.user, person.role, person.credential())
        });
        // A backend that does not answer does not say who is signed in.
        let nobody = if *reachable { "nobody" } else { "" };
        let count = |count: Option<usize>, command: &str| match count {
            None => String::new(),
            Some(0) => "none".to_owned(),
            Some(more) => format!("{more} ({command})"),
        };
        facts([
            ("backend", format!("{backend} {answers}")),
            ("context", context),
            ("signed in", person.unwrap_or_else(|| nobody.to_owned())),
            ("devices", devices.as_ref().map(DeviceCounts::line).unwrap_or_default()),
            ("waiting approvals", count(*waiting_approvals, "orion approvals list")),
            ("waiting plans", count(*waiting_plans, "orion plan list")),
            ("access requests", count(*open_requests, "orion requests list")),
            ("stops", count(*stops, "orion stop --list")),
        ])
    }
}

impl Status {
    /// Runs the command. What is known is printed, whatever fails.
    ///
    /// # Errors
    /// The backend does not answer, or nobody is signed in.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let mut view = StatusView::new(app);
        let filled = view.fill(app).await;
        app.out.show(&view, || view.page(app))?;
        match filled {
            Ok(()) => Ok(0),
            // The connection ended without an answer, as one without TLS does where the backend has a certificate.
            Err(failure) if !view.reachable && matches!(failure.cause(), Failure::Failed(_)) => {
                let Some(host) = app.context.backend.strip_prefix("http://") else {
                    return Err(failure);
                };
                let login = format!("orion login --backend https://{host} --ca people-ca.pem");
                Err(failure.hint(Hint::run("if it has a certificate, sign in with it", login)))
            }
            Err(failure) if !app.context.found && failure.exit_code() == 1 => {
                Err(failure.hint(Hint::run("or try everything on this machine", "orion demo")))
            }
            Err(failure) => Err(failure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_counted_by_what_they_can_do_now() {
        let device = |state: v1::DeviceState, online| v1::Device {
            state: state.into(),
            online,
            ..v1::Device::default()
        };
        let counts = DeviceCounts::of(&[
            device(v1::DeviceState::Approved, true),
            device(v1::DeviceState::Approved, false),
            device(v1::DeviceState::Approved, false),
            device(v1::DeviceState::Pending, false),
            device(v1::DeviceState::Revoked, false),
        ]);
        assert_eq!(counts.line(), "1 online, 2 offline, 1 pending (orion devices pending)");
    }
}
