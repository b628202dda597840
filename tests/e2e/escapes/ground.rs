//! Where escapes are tried: a granted folder deep inside others that are full of marks, and an agent with
//! or without a backend that checks.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use orion_domain::CallState;
use orion_tests::{Client, Deceived, Device, FileCall, Link, LyingServer, Outside, World};
use orion_wire::v1;
use serde_json::{Value, json};
use uuid::Uuid;

use super::lists::Tried;
use super::tally::Tally;

/// The folder that is full of marks.
const BASE: &str = "held";
/// The granted folder, below that.
const ROOT: &str = "held/l1/l2/l3/l4/l5/l6/root";
/// Calls at once; a device takes 16.
const AT_ONCE: usize = 12;

/// How many lines are tried before what they made is cleared away: a tool that looks for names like
/// the one it did not find should not have all of them to look through.
const PART: usize = 500;

/// Who checks.
#[derive(Debug, Clone, Copy)]
pub(super) enum Way {
    /// As it should be.
    BackendAndAgent,
    /// The backend lies.
    AgentAlone,
}

/// See the module.
pub(super) struct Ground {
    pub(super) outside: Outside,
    /// A call that was made on the device, for undoings to name: else they are refused for that, and
    /// their paths are not looked at.
    made: String,
    side: Side,
    numbers: usize,
}

enum Side {
    Both { world: World, device: Device },
    Alone { device: Deceived, link: Box<Link>, _server: LyingServer },
}

impl Ground {
    pub(super) async fn new<'a>(way: Way, texts: impl Iterator<Item = &'a str>) -> Self {
        let granted = format!("{{files}}/{ROOT}");
        let config = format!("[ceiling]\nprofile = \"operator\"\npaths = [\"{granted}\"]\n");
        let planted = |files: &Path| Outside::plant(&files.join(BASE), &files.join(ROOT), texts);
        let (side, outside) = match way {
            Way::BackendAndAgent => {
                let world = World::new().await;
                let grants = json!({"profile": "operator", "paths": [granted]});
                let device = world.device("kiosk").grant(grants).ceiling(&config).enroll().await;
                let outside = planted(&device.files());
                device.run().await;
                (Side::Both { world, device }, outside)
            }
            Way::AgentAlone => {
                let server = LyingServer::start().await;
                let mut outside = None;
                let device = Deceived::start_with(&server, &config, |files| {
                    outside = Some(planted(files));
                });
                let device = device.await;
                let mut link = Box::new(server.link().await);
                let everything = json!({"profile": "developer", "paths": ["/", "/etc", "/root", "/proc", "/var/lib"]});
                assert_eq!(link.grant(everything).await.error, "");
                (Side::Alone { device, link, _server: server }, outside.unwrap())
            }
        };
        let made = match &side {
            Side::Both { world, .. } => {
                world.admin().call("kiosk", "get_datetime", json!({})).await.id
            }
            Side::Alone { .. } => Uuid::now_v7().to_string(),
        };
        Self { outside, made, side, numbers: 0 }
    }

    /// What a reader of the counts has to know.
    pub(super) fn says(&self) -> String {
        let who = match &self.side {
            Side::Both { .. } => "backend and agent",
            Side::Alone { .. } => "the agent alone",
        };
        let reading =
            if self.outside.notes_reading() { "" } else { "; this mount does not note reading" };
        format!("{who}{reading}\n")
    }

    /// The agent's own state.
    pub(super) fn state_dir(&self) -> PathBuf {
        match &self.side {
            Side::Both { device, .. } => device.state_dir(),
            Side::Alone { device, .. } => device.state_dir(),
        }
    }

    /// Tries lines of a list.
    pub(super) async fn attack(&mut self, call: &FileCall, tried: &[Tried<'_>]) -> Tally {
        let root = self.outside.root().display().to_string();
        let text = |tried: &Tried<'_>| match tried {
            Tried { line, below: true } => format!("{root}/{line}"),
            Tried { line, below: false } => (*line).to_owned(),
        };
        let mut tally = Tally::default();
        for part in tried.chunks(PART) {
            self.outside.clear_root();
            tally.add(self.attack_with(call, part.iter().map(text).collect()).await);
        }
        tally
    }

    fn arguments(&self, call: &FileCall, text: &str, number: usize) -> Value {
        let mut arguments = call.arguments(text, number);
        if let Some(named) = arguments.get_mut("call_id") {
            *named = json!(self.made);
        }
        arguments
    }

    /// One call by one path: its code, and everything that was told.
    pub(super) async fn ask(
        &mut self,
        call: &FileCall,
        text: &str,
        dry_run: bool,
    ) -> (String, String) {
        call.prepare(self.outside.root(), 0);
        let arguments = self.arguments(call, text, 0);
        match &mut self.side {
            Side::Both { world, .. } => {
                one(world.admin(), call.spec.name, &arguments, dry_run).await
            }
            Side::Alone { link, .. } => {
                let order = link.any_order(call.spec, &arguments, dry_run);
                let mut said = None;
                link.run_all([((), order)], 1, |(), result| said = Some(result)).await;
                let v1::CallResult { code, result, .. } = said.unwrap();
                (code, String::from_utf8_lossy(&result).into_owned())
            }
        }
    }

    /// Tries texts with a tool, every fourth only as a preview, and looks at the outside then.
    pub(super) async fn attack_with(&mut self, call: &FileCall, texts: Vec<String>) -> Tally {
        let first = self.numbers;
        self.numbers += texts.len();
        let root = self.outside.root().to_owned();
        let prepare = |(index, text): (usize, &String)| {
            let number = first + index;
            call.prepare(&root, number);
            (self.arguments(call, text, number), index % 4 == 3)
        };
        let prepared: Vec<_> = texts.iter().enumerate().map(prepare).collect();
        let mut tally = Tally::default();
        let (outside, name) = (&self.outside, call.name());
        match &mut self.side {
            Side::Alone { link, .. } => {
                let orders: Vec<_> = prepared
                    .into_iter()
                    .enumerate()
                    .map(|(index, (arguments, dry_run))| {
                        (index, link.any_order(call.spec, &arguments, dry_run))
                    })
                    .collect();
                let judge = |index: usize, result: v1::CallResult| {
                    let said = String::from_utf8_lossy(&result.result);
                    tally.judge(outside, &name, &texts[index], &result.code, &said);
                };
                link.run_all(orders, AT_ONCE, judge).await;
            }
            Side::Both { world, .. } => {
                for (index, (code, said)) in run(world.admin(), call.spec.name, prepared).await {
                    tally.judge(outside, &name, &texts[index], &code, &said);
                }
            }
        }
        let changes = self.outside.changes();
        tally.escapes.extend(changes.into_iter().map(|change| format!("{name}: {change}")));
        tally
    }
}

type Answers = Vec<(usize, (String, String))>;

/// Makes the calls at the public API, several at once, with a yes for each that waits for one.
async fn run(admin: &Client, tool: &'static str, calls: Vec<(Value, bool)>) -> Answers {
    let (calls, next) = (Arc::new(calls), Arc::new(AtomicUsize::new(0)));
    let answers = Arc::new(Mutex::new(Vec::with_capacity(calls.len())));
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..AT_ONCE {
        let (calls, next, answers) = (Arc::clone(&calls), Arc::clone(&next), Arc::clone(&answers));
        let admin = admin.clone();
        workers.spawn(async move {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some((arguments, dry_run)) = calls.get(index) else { return };
                let answer = one(&admin, tool, arguments, *dry_run).await;
                answers.lock().unwrap().push((index, answer));
            }
        });
    }
    while let Some(worker) = workers.join_next().await {
        worker.unwrap();
    }
    Arc::into_inner(answers).unwrap().into_inner().unwrap()
}

/// The code of one call, and everything that was told.
async fn one(admin: &Client, tool: &str, arguments: &Value, dry_run: bool) -> (String, String) {
    let mut call = if dry_run {
        admin.dry_run("kiosk", tool, arguments.clone()).await
    } else {
        admin.call("kiosk", tool, arguments.clone()).await
    };
    if call.state == CallState::AwaitingApproval {
        admin.decide(call.approval_id(), true, "").await.unwrap();
        call = admin.ended(&call.id).await.unwrap();
    }
    let code = call.end().1.map_or("", orion_domain::ErrorCode::as_str);
    (code.to_owned(), serde_json::to_string(&call.envelope).unwrap())
}
