//! A device whose tools run with either layer, both or none: granted folders, one that is not granted and
//! contains canaries, and the agent's state.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use orion_catalog::ToolSpec;
use orion_domain::grants::{Grants, PathGrant, Scope};
use orion_domain::{Access, CallId, PathStyle, Places, RiskRaise, ToolError};
use serde_json::Value;
use tempfile::TempDir;
use uuid::Uuid;

use crate::apps::Apps;
use crate::call::{Context, Installation, Memory, ObservationMode, Outcome};
use crate::perform::{Performance, perform};
use crate::programs::Programs;
use crate::roots::{GrantedFolder, Roots};
use crate::sandbox::{Reach, confine};
use crate::tools::testing::{GuardResult, judged};
use crate::tools::{Installed, find};
use crate::transfer::Transfers;
use crate::trash::Trash;
use crate::workers::FileCall;
use crate::workers::tests::workers;

/// The content of every canary.
pub(super) const CANARY: &str = "CANARY-5e41";
/// Part of a name outside that no call requests.
pub(super) const UNASKED: &str = "unasked-93b0";
/// The size of a canary in bytes, which no other file has.
pub(super) const SIZE: usize = 77_777;

/// Which layers are active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layers {
    Both,
    /// Landlock is off.
    Handles,
    /// Handles are replaced by joining paths.
    Landlock,
    Neither,
}

impl Layers {
    fn is_naive(self) -> bool {
        matches!(self, Self::Landlock | Self::Neither)
    }

    fn is_confined(self) -> bool {
        matches!(self, Self::Both | Self::Landlock)
    }
}

pub(super) struct Ground {
    temp: TempDir,
    pub(super) roots: Roots,
    scope: Scope,
    naive: OnceLock<Roots>,
    places: Places,
    pub(super) trash: Trash,
}

/// Returns the content of a file that no call may read or change.
pub(super) fn canary() -> String {
    format!("{CANARY} = 1\n{}", "x".repeat(SIZE - CANARY.len() - 5))
}

impl Ground {
    /// `files` is granted for everything, `shared` for reading, `drop` only for writing.
    pub(super) fn new() -> Self {
        // In memory if possible: the disk's speed does not matter here.
        let memory = Path::new("/dev/shm");
        let temp = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() }.unwrap();
        let at = |name: &str| temp.path().join(name);
        for name in ["files/sub", "shared", "drop", "outside/sub", "state"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        fs::create_dir(at(&format!("outside/{UNASKED}"))).unwrap();
        for name in ["files/note.txt", "files/sub/note.txt", "shared/note.txt", "drop/note.txt"] {
            fs::write(at(name), "honest = 1\n").unwrap();
        }
        let unasked = format!("outside/{UNASKED}.txt");
        for name in ["outside/canary.txt", "outside/sub/canary.txt", &unasked, "outside/note.txt"] {
            fs::write(at(name), canary()).unwrap();
        }
        fs::write(at("outside/hard.txt"), "hard = 1\n").unwrap();
        fs::write(at("state/key.pem"), CANARY).unwrap();

        let workspace = at("files").to_str().unwrap().to_owned();
        let places = Places::parse(PathStyle::Posix, Some(&workspace), Some(&workspace)).unwrap();
        let granting = |name: &str, access: &[Access]| PathGrant {
            path: at(name).to_str().unwrap().to_owned(),
            access: access.iter().copied().collect::<BTreeSet<_>>(),
        };
        let grants = Grants {
            paths: vec![
                granting("files", &[Access::Read, Access::Write, Access::Delete]),
                granting("shared", &[Access::Read]),
                granting("drop", &[Access::Write]),
            ],
            ..Grants::default()
        };
        let scope = grants.compile(&places).0;
        Self {
            roots: Roots::open(&scope, &scope, &[]),
            scope,
            naive: OnceLock::new(),
            trash: Trash::open(&at("state")).unwrap(),
            places,
            temp,
        }
    }

    /// Returns the granted folders by their handles.
    pub(super) fn folders(&self) -> Vec<GrantedFolder> {
        self.roots.granted().collect()
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    pub(super) fn text(&self, name: &str) -> String {
        self.at(name).to_str().unwrap().to_owned()
    }

    pub(super) fn link(&self, name: &str, target: impl AsRef<Path>) {
        symlink(target, self.at(name)).unwrap();
    }

    /// Returns the roots for these layers, already open: every later swap happens after that.
    pub(super) fn roots(&self, layers: Layers) -> &Roots {
        let naive = || Roots::open(&self.scope, &self.scope, &[]).naive();
        if layers.is_naive() { self.naive.get_or_init(naive) } else { &self.roots }
    }

    /// Runs a tool with these layers, in a worker process, as the agent does.
    pub(super) fn call(
        &self,
        layers: Layers,
        tool: &str,
        arguments: Value,
        dry_run: bool,
    ) -> Result<Outcome, ToolError> {
        self.call_as(CallId::new(Uuid::now_v7()), layers, tool, arguments, dry_run)
    }

    /// Runs a tool as the call with this id.
    pub(super) fn call_as(
        &self,
        call: CallId,
        layers: Layers,
        tool: &str,
        arguments: Value,
        dry_run: bool,
    ) -> Result<Outcome, ToolError> {
        let (spec, _) = orion_catalog::find(tool).unwrap();
        let judged = judged(&self.trash, &self.places, tool, &arguments);
        if spec.content.is_beside() {
            let run = || self.in_a_thread(call, layers, spec, arguments, dry_run, &judged);
            return thread::scope(|scope| scope.spawn(run).join().unwrap());
        }
        workers().run(FileCall {
            call,
            tool,
            arguments,
            dry_run,
            has_effects: spec.has_effects && !dry_run,
            reach: layers.is_confined().then(|| Reach::of(spec, dry_run)),
            roots: self.roots(layers),
            touches: &judged.touches,
            seeing: &ObservationMode::Nothing,
            undo: judged.undo,
            verdict: None,
            approved_raises: RiskRaise::ALL.to_vec(),
            trash: &self.trash,
            places: &self.places,
            device_id: "kiosk",
            installation: &Installation::default(),
            memory: &Memory::default(),
            deadline: Instant::now() + Duration::from_secs(60),
            cancelled: &AtomicBool::new(false),
            progress: &|_, _, _| {},
        })
    }

    /// Runs a tool whose content moves beside its call in this thread, as the agent does.
    fn in_a_thread(
        &self,
        call: CallId,
        layers: Layers,
        spec: &ToolSpec,
        arguments: Value,
        dry_run: bool,
        judged: &GuardResult,
    ) -> Result<Outcome, ToolError> {
        if layers.is_confined() {
            confine(&self.folders(), &[self.trash.dir()], Reach::of(spec, dry_run)).unwrap();
        }
        let transfers = Arc::new(Transfers::with_peer(b"Milk\n"));
        perform(Performance {
            common: Context {
                call,
                device_id: "kiosk",
                dry_run,
                roots: self.roots(layers),
                places: &self.places,
                installation: &Installation { transfers, ..Installation::default() },
                memory: &Memory::default(),
                cancelled: &AtomicBool::new(false),
                deadline: Instant::now() + Duration::from_secs(60),
                progress: &|_, _, _| {},
            },
            executor: find(spec.name).unwrap(),
            arguments,
            seeing: &ObservationMode::Nothing,
            touches: &judged.touches,
            undo: judged.undo.as_ref(),
            verdict: None,
            approved_raises: RiskRaise::ALL.to_vec(),
            trash: &self.trash,
            installed: Installed {
                apps: &Apps::default(),
                programs: &Programs::default(),
                output: &|_, _| true,
            },
        })
    }

    /// Returns everything beneath a folder that a tool could have changed: names, kinds, content, mode, time.
    pub(super) fn tree(&self, name: &str) -> BTreeMap<String, String> {
        let mut tree = BTreeMap::new();
        let mut folders = vec![self.at(name)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let found = fs::symlink_metadata(&path).unwrap();
                if found.is_dir() {
                    folders.push(path.clone());
                }
                let content = if found.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
                let content = String::from_utf8(content).unwrap();
                let state = format!("{:o} {:?} {content}", found.mode(), found.modified().unwrap());
                tree.insert(path.to_str().unwrap().to_owned(), state);
            }
        }
        tree
    }
}

/// Returns the whole answer to a caller as text.
pub(super) fn told(result: &Result<Outcome, ToolError>) -> String {
    match result {
        Ok(outcome) => format!("{} {}", outcome.message, outcome.data),
        Err(error) => serde_json::to_string(error).unwrap(),
    }
}
