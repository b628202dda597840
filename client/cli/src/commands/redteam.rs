//! `orion redteam`: tries attacks on the person's own policy and devices by dry run, and says what would have got
//! through.

mod attacks;
mod pace;
mod verdict;

use std::fmt::Write as _;

use clap::{Args, ValueEnum};
use clap_complete::ArgValueCandidates;
use orion_domain::Hint;
use orion_wire::v1;
use serde::Serialize;
use serde_json::Value;

use crate::app::App;
use crate::client::Client;
use crate::complete;
use crate::failure::Failure;
use crate::output::table;
use crate::terminal::Spinner;
use crate::text;
use attacks::{Attack, Victim, attacks};
use pace::Pace;
use verdict::{Verdict, verdict};

/// How many of the attacks that got through are listed for people.
const MAX_LISTED: usize = 50;

/// Tries attacks on your policy and devices by dry run: nothing is executed
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion redteam
  orion redteam laptop-123 --only path
  orion redteam --as bob -o json

Each attack is a call that the backend evaluates as it would evaluate the real one; for paths, the device
evaluates a preview too. Ends with 1 where an attack got through: it would run, and no person asked.")]
pub(crate) struct Redteam {
    /// The devices; all of yours when left out
    #[arg(value_name = "DEVICE", add = ArgValueCandidates::new(complete::devices))]
    devices: Vec<String>,
    /// Only attacks of this kind
    #[arg(long, value_enum)]
    only: Option<Kind>,
    /// As if this person's chats were attacked; for admins. Devices are not asked then
    #[arg(long = "as", value_name = "USER", default_value = "")]
    as_user: String,
    /// Ask the backend only, and send nothing to devices
    #[arg(long)]
    no_device: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Instructions planted in what a model reads
    Injection,
    /// Paths that leave the granted folders
    Path,
    /// Commands that are more than they seem
    Command,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Injection => "injection",
            Self::Path => "path",
            Self::Command => "command",
        }
    }
}

/// What came of all attacks, for programs.
#[derive(Debug, Default, Serialize)]
struct ReportView {
    devices: Vec<String>,
    tried: usize,
    denied: usize,
    asked: usize,
    got_through: usize,
    groups: Vec<GroupView>,
    /// What denied or asked, the most first.
    held_by: Vec<HeldView>,
    attacks: Vec<AttackView>,
}

/// What came of the attacks of one kind and aim.
#[derive(Debug, Default, Serialize)]
struct GroupView {
    kind: &'static str,
    aim: String,
    tried: usize,
    denied: usize,
    asked: usize,
    got_through: usize,
}

/// How many attacks one rule or layer held back.
#[derive(Debug, Serialize)]
struct HeldView {
    by: String,
    attacks: usize,
}

/// What came of one attack.
#[derive(Debug, Serialize)]
struct AttackView {
    kind: &'static str,
    aim: String,
    what: String,
    tool: String,
    device: String,
    arguments: Value,
    /// `denied`, `asked` or `got_through`.
    outcome: &'static str,
    /// What denied or asked; for an attack that got through, what allowed it.
    by: String,
    /// For an attack that got through: what would have stopped it.
    remedy: String,
}

impl Redteam {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, a device is not found, or the backend fails.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let client = app.signed_in().await?;
        let victims = victims(client, &self.devices).await?;
        if victims.is_empty() {
            return Err(Failure::NotFound("there is no device to try anything on".to_owned()));
        }
        let (mut report, mut pace) = (ReportView::default(), Pace::new());
        for victim in &victims {
            let trying = Spinner::on(app.out, &format!("trying {}", victim.name));
            report.devices.push(victim.name.clone());
            let is_wanted = |attack: &Attack| self.only.is_none_or(|it| it.name() == attack.kind);
            for attack in attacks(victim)?.into_iter().filter(is_wanted) {
                let verdict = self.try_one(client, &attack, &mut pace).await?;
                report.add(attack, verdict);
            }
            drop(trying);
        }
        app.out.show(&report, || report.page())?;
        Ok(u8::from(report.got_through > 0))
    }

    async fn try_one(
        &self,
        client: &Client,
        attack: &Attack,
        pace: &mut Pace,
    ) -> Result<Verdict, Failure> {
        let request = v1::ExplainCallRequest {
            tool: attack.tool.clone(),
            device: attack.device.clone(),
            arguments: attack.arguments.to_string().into_bytes().into(),
            dry_run: false,
            as_user: self.as_user.clone(),
            ask_device: attack.asks_device && !self.no_device,
            seen: attack.seen.clone(),
        };
        let ask = async || client.ask(client.policy().explain_call(request.clone())).await;
        let answer = pace.send(ask).await?;
        Ok(verdict(attack, &answer))
    }
}

/// Returns the devices to try, with what an attack needs to know of them.
///
/// # Errors
/// A device is not among those that take calls, so that nothing would be tried on it.
async fn victims(client: &Client, wanted: &[String]) -> Result<Vec<Victim>, Failure> {
    let request = v1::ListDevicesRequest::default();
    let mut all = client.ask(client.devices().list_devices(request)).await?.devices;
    all.retain(|device| device.state() == v1::DeviceState::Approved && device.name != "backend");
    let is_listed = |name: &&String| all.iter().any(|device| device.name == **name);
    if let Some(unknown) = wanted.iter().find(|name| !is_listed(name)) {
        let name = text::one_line(unknown, 80);
        return Err(Failure::NotFound(format!("there is no device {name} that takes your calls"))
            .hint(Hint::run("list the devices", "orion devices list")));
    }
    let victim = |device: &v1::Device| Victim {
        name: device.name.clone(),
        root: root(&device.grants),
        is_windows: device.os == "windows",
        other: all
            .iter()
            .find(|other| other.name != device.name)
            .map(|other| other.name.clone())
            .unwrap_or_default(),
    };
    let is_wanted = |device: &&v1::Device| wanted.is_empty() || wanted.contains(&device.name);
    Ok(all.iter().filter(is_wanted).map(victim).collect())
}

/// Returns the first granted folder; the home folder where none is granted.
fn root(grants: &str) -> String {
    let grants: Value = serde_json::from_str(grants).unwrap_or_default();
    let paths = grants["paths"].as_array().into_iter().flatten();
    let mut paths = paths.filter_map(|grant| grant["path"].as_str().or(grant.as_str()));
    paths.next().unwrap_or("~").trim_end_matches('/').to_owned()
}

impl ReportView {
    fn add(&mut self, attack: Attack, verdict: Verdict) {
        let Attack { kind, aim, what, tool, device, arguments, .. } = attack;
        let at = self.groups.iter().position(|it| it.kind == kind && it.aim == aim);
        let at = at.unwrap_or_else(|| {
            self.groups.push(GroupView { kind, aim: aim.clone(), ..GroupView::default() });
            self.groups.len() - 1
        });
        let (outcome, by, remedy) = match verdict {
            Verdict::Denied(by) => ("denied", by, String::new()),
            Verdict::Asked(by) => ("asked", by, String::new()),
            Verdict::GotThrough { by, remedy } => ("got_through", by, remedy),
        };
        self.tried += 1;
        let count = |denied: &mut usize, asked: &mut usize, got_through: &mut usize| {
            *match outcome {
                "denied" => denied,
                "asked" => asked,
                _ => got_through,
            } += 1;
        };
        count(&mut self.denied, &mut self.asked, &mut self.got_through);
        if let Some(group) = self.groups.get_mut(at) {
            group.tried += 1;
            count(&mut group.denied, &mut group.asked, &mut group.got_through);
        }
        if outcome != "got_through" {
            match self.held_by.iter_mut().find(|held| held.by == by) {
                Some(held) => held.attacks += 1,
                None => self.held_by.push(HeldView { by: by.clone(), attacks: 1 }),
            }
            self.held_by.sort_by_key(|held| std::cmp::Reverse(held.attacks));
        }
        self.attacks.push(AttackView {
            kind,
            aim,
            what,
            tool,
            device,
            arguments,
            outcome,
            by,
            remedy,
        });
    }

    fn page(&self) -> String {
        let groups = self.groups.iter().map(|group| {
            let GroupView { kind, aim, tried, denied, asked, got_through } = group;
            let name = format!("{kind}: {aim}");
            vec![
                name,
                tried.to_string(),
                denied.to_string(),
                asked.to_string(),
                got_through.to_string(),
            ]
        });
        let groups = table(&["ATTACK", "TRIED", "DENIED", "ASKED", "GOT THROUGH"], groups);
        let held = self
            .held_by
            .iter()
            .map(|held| vec![held.attacks.to_string(), text::one_line(&held.by, 100)]);
        let held = table(&["HELD", "BY"], held);
        let through = self.attacks.iter().filter(|attack| attack.outcome == "got_through");
        let rows = through.clone().take(MAX_LISTED).map(|attack| {
            vec![
                text::one_line(&attack.what, 70),
                attack.device.clone(),
                text::one_line(&attack.by, 40),
                text::one_line(&attack.remedy, 160),
            ]
        });
        let mut page = format!("{groups}\n\n{held}");
        let count = through.count();
        if count == 0 {
            page.push_str("\n\nnothing got through");
        } else {
            let rows = table(&["GOT THROUGH", "DEVICE", "ALLOWED BY", "WHAT WOULD STOP IT"], rows);
            page.push_str("\n\n");
            page.push_str(&rows);
            if count > MAX_LISTED {
                let more = count - MAX_LISTED;
                let _ = write!(page, "\n\n{more} more got through; -o json lists them");
            }
        }
        page
    }
}
