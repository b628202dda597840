//! A device for tests: a real folder that is granted, one beside it that is not, and the agent's state.

#[cfg(target_os = "linux")]
mod running;

mod guarded;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
#[cfg(unix)]
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use orion_domain::grants::{Grants, PathGrant};
use orion_domain::{Access, CallId, ErrorCode, PathStyle, Places, RiskRaise, ToolError};
use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;

pub(crate) use guarded::{GuardResult, judged};

use super::{Installed, find};
use crate::apps::Apps;
use crate::call::{self, Context, FileContext, Installation, Memory, RiskGate};
use crate::programs::Programs;
use crate::roots::Roots;
use crate::transfer::Transfers;
use crate::trash::Trash;

/// A result, with its data read.
pub(crate) type Outcome = call::Outcome<Value>;
/// Held while a program is started or written: a new process inherits files open for writing, which cannot run.
#[cfg(unix)]
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) const ALL: &[Access] = &[Access::Read, Access::Write, Access::Delete];

pub(crate) struct Device {
    temp: TempDir,
    pub(crate) roots: Roots,
    pub(crate) places: Places,
    pub(crate) apps: Apps,
    programs: Programs,
    pub(crate) trash: Trash,
    pub(crate) cancelled: AtomicBool,
    pub(crate) time: Duration,
    pub(crate) progress: Cell<u64>,
    /// The raises that the approval of the calls covers.
    pub(crate) approved: Vec<RiskRaise>,
    /// Whether the last call could not be undone.
    pub(crate) is_final: Cell<bool>,
    pub(crate) installation: Installation,
    memory: Memory,
    last_call: Cell<CallId>,
    /// The state folder, if it lies on another file system.
    _state: Option<TempDir>,
}

/// Runs a tool, and releases its memory as after a sent result.
fn run_tool(
    tool: &str,
    arguments: Value,
    context: &FileContext<'_>,
    installed: Installed<'_>,
) -> Result<Outcome, ToolError> {
    let result = find(tool).unwrap().call(arguments, context, installed);
    context.memory.give_back();
    result.map(call::Outcome::decoded)
}

impl Device {
    /// Returns a device that grants every access to `files`.
    pub(crate) fn new() -> Self {
        Self::granting(&[("files", ALL)])
    }

    /// Returns a device that grants each folder with its accesses.
    pub(crate) fn granting(paths: &[(&str, &[Access])]) -> Self {
        Self::in_folder(TempDir::new().unwrap(), None, paths)
    }

    /// Returns a device whose state lies on another file system than its files. `None` if there is only one.
    #[cfg(target_os = "linux")]
    pub(crate) fn in_shared_memory() -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let (here, there) = (TempDir::new().unwrap(), TempDir::new_in("/dev/shm").ok()?);
        let device = |temp: &TempDir| fs::metadata(temp.path()).unwrap().dev();
        (device(&here) != device(&there))
            .then(|| Self::in_folder(here, Some(there), &[("files", ALL)]))
    }

    fn in_folder(temp: TempDir, files: Option<TempDir>, paths: &[(&str, &[Access])]) -> Self {
        let (temp, state) = match files {
            #[cfg(unix)]
            Some(files) => {
                std::os::unix::fs::symlink(temp.path(), files.path().join("state")).unwrap();
                (files, Some(temp))
            }
            _ => {
                fs::create_dir(temp.path().join("state")).unwrap();
                (temp, None)
            }
        };
        for name in ["files", "outside"] {
            fs::create_dir(temp.path().join(name)).unwrap();
        }
        fs::write(temp.path().join("outside/secret.txt"), "secret").unwrap();
        let at = |name: &str| temp.path().join(name).to_str().unwrap().to_owned();
        let workspace = at("files");
        let places = Places::parse(PathStyle::Posix, Some(&workspace), Some(&workspace)).unwrap();
        let trash = Trash::open(&temp.path().join("state")).unwrap();
        Self {
            roots: granted_roots(&temp, &places, paths),
            places,
            apps: Apps::default(),
            programs: Programs::of_this_device(&temp.path().join("state"), None),
            trash,
            cancelled: AtomicBool::new(false),
            time: Duration::from_secs(60),
            progress: Cell::new(0),
            approved: RiskRaise::ALL.to_vec(),
            is_final: Cell::new(false),
            installation: Installation {
                backend: Vec::new(),
                state_dir: temp.path().join("state"),
                http_artifacts: true,
                transfers: Arc::new(Transfers::with_peer(b"Milk\n")),
            },
            memory: Memory::default(),
            last_call: Cell::new(CallId::new(Uuid::nil())),
            _state: state,
            temp,
        }
    }

    /// Grants these folders from here on, and no others.
    pub(crate) fn grant(&mut self, paths: &[(&str, &[Access])]) {
        self.roots = granted_roots(&self.temp, &self.places, paths);
    }

    /// Returns a path in the device's temporary folder.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.at(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn folder(&self, name: &str) {
        fs::create_dir_all(self.at(name)).unwrap();
    }

    #[cfg(unix)]
    pub(crate) fn link(&self, name: &str, target: impl AsRef<Path>) {
        std::os::unix::fs::symlink(target, self.at(name)).unwrap();
    }

    pub(crate) fn call(&self, tool: &str, arguments: Value) -> Result<Outcome, ToolError> {
        self.run(tool, arguments, false)
    }

    /// Runs a preview, and asserts that it changes nothing.
    pub(crate) fn dry(&self, tool: &str, arguments: Value) -> Result<Outcome, ToolError> {
        let before = self.tree();
        let outcome = self.run(tool, arguments, true);
        assert_eq!(self.tree(), before, "a preview of {tool} changed something");
        outcome
    }

    pub(crate) fn data(&self, tool: &str, arguments: Value) -> Value {
        self.call(tool, arguments).unwrap().data
    }

    /// Returns the code that a call is refused with, and asserts that the refusal changes nothing.
    pub(crate) fn refused(&self, tool: &str, arguments: Value) -> ErrorCode {
        self.error(tool, arguments).code
    }

    pub(crate) fn error(&self, tool: &str, arguments: Value) -> ToolError {
        let before = self.tree();
        let dry = self.run(tool, arguments.clone(), true);
        let error = self.run(tool, arguments, false).unwrap_err();
        assert_eq!(self.tree(), before, "a refused {tool} changed something");
        if error.code != ErrorCode::ConfirmationRequired {
            assert_eq!(
                dry.map(drop).map_err(|error| error.code),
                Err(error.code),
                "{tool} as a preview"
            );
        }
        error
    }

    fn run(&self, tool: &str, arguments: Value, dry_run: bool) -> Result<Outcome, ToolError> {
        let guard = judged(&self.trash, &self.places, tool, &arguments);
        self.context(dry_run, &guard, |context| {
            run_tool(tool, arguments, context, self.installed())
        })
    }

    /// Runs a call that the guard did not evaluate.
    pub(crate) fn unjudged(&self, tool: &str, arguments: Value) -> Result<Outcome, ToolError> {
        self.with_context(|context| run_tool(tool, arguments, context, self.installed()))
    }

    /// Returns what is installed on the device.
    pub(crate) const fn installed(&self) -> Installed<'_> {
        Installed { apps: &self.apps, programs: &self.programs, output: &|_, _| true }
    }

    fn context<T>(
        &self,
        dry_run: bool,
        guard: &GuardResult,
        run: impl FnOnce(&FileContext<'_>) -> T,
    ) -> T {
        self.last_call.set(CallId::new(Uuid::now_v7()));
        self.is_final.set(false);
        let common = Context {
            call: self.last_call.get(),
            device_id: "kiosk",
            dry_run,
            roots: &self.roots,
            places: &self.places,
            installation: &self.installation,
            memory: &self.memory,
            cancelled: &self.cancelled,
            deadline: Instant::now() + self.time,
            progress: &|done, _, _| self.progress.set(done),
        };
        run(&FileContext {
            common,
            trash: &self.trash,
            risk: &RiskGate::new(None, self.approved.clone(), dry_run),
            is_final: &self.is_final,
            touches: &guard.touches,
            undo: guard.undo.as_ref(),
            expected: None,
        })
    }

    /// Returns the id of the last call.
    pub(crate) fn last_call(&self) -> String {
        self.last_call.get().to_string()
    }

    /// Runs a closure with the context of a call.
    pub(crate) fn with_context<T>(&self, run: impl FnOnce(&FileContext<'_>) -> T) -> T {
        self.context(false, &GuardResult::default(), run)
    }

    /// Undoes the last call.
    pub(crate) fn undo(&self, paths: &[&str]) -> Result<Outcome, ToolError> {
        self.undo_of(&self.last_call(), paths)
    }

    pub(crate) fn undo_of(&self, call: &str, paths: &[&str]) -> Result<Outcome, ToolError> {
        self.call("undo_call", json!({"call_id": call, "paths": paths}))
    }

    /// Returns the names of the calls in the trash.
    pub(crate) fn trashed(&self) -> Vec<String> {
        let names = fs::read_dir(self.at("state/trash")).unwrap();
        let mut names: Vec<_> =
            names.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Returns the temporary files that are left.
    pub(crate) fn litter(&self) -> Vec<String> {
        let is_litter = |path: &String| path.contains("/.orion-") || path.ends_with(".open");
        self.tree().into_keys().filter(is_litter).collect()
    }

    /// As [`tree`](Self::tree), without the trash, to which a change may add.
    pub(crate) fn files(&self) -> BTreeMap<String, String> {
        let trash = self.text("state/trash/");
        let mut tree = self.tree();
        tree.retain(|path, _| !path.starts_with(&trash));
        tree
    }

    /// Returns every path, with the content of files and the target of links.
    pub(crate) fn tree(&self) -> BTreeMap<String, String> {
        let mut tree = BTreeMap::new();
        let mut folders = vec![self.temp.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let kind = fs::symlink_metadata(&path).unwrap().file_type();
                let content = if kind.is_dir() {
                    folders.push(path.clone());
                    "folder".to_owned()
                } else if kind.is_file() {
                    format!("{:?}", fs::metadata(&path).unwrap().len())
                        + &fs::read(&path).map(|it| short(&it)).unwrap_or_default()
                } else {
                    format!("{:?}", fs::read_link(&path).ok())
                };
                tree.insert(path.to_str().unwrap_or("?").to_owned(), content);
            }
        }
        tree
    }

    /// Asserts that a tool that takes a path refuses the same paths in the same words as every other.
    pub(crate) fn assert_unchanged(&self, tool: &str, argument: &str, more: &Value) {
        let with = |path: &str| {
            let mut arguments = more.clone();
            let is_list = more[argument].is_array();
            arguments[argument] = if is_list { json!([path]) } else { json!(path) };
            arguments
        };
        self.folder("files2");
        self.put("files/.ssh/id", "key");
        let outside = [
            self.text("outside"),
            self.text("outside/secret.txt"),
            self.text("outside/none"),
            self.text("files2"),
            self.text("files2/none"),
            "../outside".to_owned(),
            "../outside/secret.txt".to_owned(),
            "/etc/passwd".to_owned(),
            "/dev/zero".to_owned(),
            ".ssh".to_owned(),
            ".ssh/id".to_owned(),
            ".SSH/none".to_owned(),
            ".orion-trash".to_owned(),
            ".orion-trash/x".to_owned(),
        ];
        for path in outside {
            let error = self.error(tool, with(&path));
            assert_eq!(error.code, ErrorCode::PathNotAllowed, "{tool} {path}");
            let attempted = error.details["attempted_path"].as_str().unwrap();
            let access = error.details["access"].as_str().unwrap();
            let words = format!(
                "{attempted} is denied, or not inside a path that allows {access} on this device: {}.",
                self.text("files")
            );
            assert_eq!(error.message, words, "{tool} {path}");
        }
        for path in ["", "a\0b"] {
            assert_eq!(self.refused(tool, with(path)), ErrorCode::InvalidPath, "{tool} {path:?}");
        }
        assert_eq!(self.refused(tool, json!({"no_such": 1})), ErrorCode::InvalidArgument);
        #[cfg(unix)]
        self.hold_links(tool, &with);
        self.cancelled.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(self.refused(tool, with("x")), ErrorCode::Cancelled, "{tool}");
        self.cancelled.store(false, std::sync::atomic::Ordering::Relaxed);
    }

    #[cfg(unix)]
    fn hold_links(&self, tool: &str, with: &dyn Fn(&str) -> Value) {
        self.link("files/out", self.at("outside"));
        self.link("files/up", "../outside");
        self.link("files/gone", "../none");
        self.link("files/keys", ".ssh");
        self.link("files/turn", "turn");
        for path in ["out/x", "up/x", "up/secret.txt", "gone/x", "keys/id", "keys/none"] {
            let code = self.refused(tool, with(path));
            assert_eq!(code, ErrorCode::PathNotAllowed, "{tool} {path}");
        }
        assert_eq!(self.refused(tool, with("turn/x")), ErrorCode::PreconditionFailed, "{tool}");
    }
}

fn granted_roots(temp: &TempDir, places: &Places, paths: &[(&str, &[Access])]) -> Roots {
    let grant = |(name, access): &(&str, &[Access])| PathGrant {
        path: temp.path().join(name).to_str().unwrap().to_owned(),
        access: set(access),
    };
    let grants = Grants { paths: paths.iter().map(grant).collect(), ..Grants::default() };
    let scope = grants.compile(places).0;
    Roots::open(&scope, &scope, &[])
}

fn set(access: &[Access]) -> BTreeSet<Access> {
    access.iter().copied().collect()
}

fn short(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.get(..256).unwrap_or(bytes)).into_owned()
}
