//! A second process swaps folders and files for links, and renames their parents, as fast as it can, while
//! every file tool is called with paths through the swapped places.
//!
//! `ORION_RACE_SWAPS` is the number of swaps for each tool.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use orion_catalog::{Target, ToolSpec};
use orion_domain::{CallId, ToolError};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};
use uuid::Uuid;

use super::escapes::{arguments, file_tools, is_of_figures, leaked, not_tried};
use super::ground::{Ground, Layers, SIZE, canary};
use crate::call::Outcome;
use crate::tools::testing::alone;

const SWAPS: &str = "ORION_RACE_SWAPS";
const FOLDER: &str = "ORION_RACE_FOLDER";
/// The least number of calls of each tool during the swaps.
const MIN_CALLS: usize = 48;
/// The most calls of a tool that is refused each time, or never.
const MAX_CALLS: usize = 100 * MIN_CALLS;
/// Existing folders that are reached through the swapped places.
const HONEST: [&str; 3] = ["spot", "a/b", "p/q"];

/// The second process, which the other tests start. Without a folder in its environment, it does nothing.
#[test]
fn swapper() {
    let (Ok(folder), Ok(swaps)) = (std::env::var(FOLDER), std::env::var(SWAPS)) else { return };
    let (folder, wanted) = (PathBuf::from(folder), swaps.parse::<u64>().unwrap());
    let at = |name: &str| folder.join("files").join(name);
    let exchange = |one: &str, other: &str| {
        renameat_with(CWD, at(one), CWD, at(other), RenameFlags::EXCHANGE).is_ok()
    };
    let mut done = 0_u64;
    let mut reported = false;
    loop {
        for _ in 0..16 {
            done += u64::from(exchange("spot", "lead"));
            done += u64::from(exchange("plain.txt", "hook"));
            done += u64::from(exchange("a", "c"));
            done += u64::from(fs::rename(at("p"), at("r")).is_ok());
            done += u64::from(exchange("spot", "lead"));
            done += u64::from(fs::rename(at("r"), at("p")).is_ok());
        }
        if done >= wanted && !reported {
            fs::write(folder.join("enough"), "").unwrap();
            reported = true;
        }
        if folder.join("stop").exists() {
            // The file appears complete.
            fs::write(folder.join("swaps.part"), done.to_string()).unwrap();
            fs::rename(folder.join("swaps.part"), folder.join("swaps")).unwrap();
            return;
        }
    }
}

/// A ground whose entries are swapped until it is dropped.
struct Swapped {
    ground: Ground,
    honest: Vec<Dir>,
    swapper: Child,
}

impl Drop for Swapped {
    fn drop(&mut self) {
        drop(fs::write(self.ground.at("stop"), ""));
        drop(self.swapper.wait());
    }
}

impl Swapped {
    fn start(swaps: u64) -> Self {
        let ground = Ground::new();
        for name in HONEST.map(|name| format!("files/{name}")) {
            fs::create_dir_all(ground.at(&name)).unwrap();
        }
        fs::create_dir(ground.at("files/c")).unwrap();
        ground.link("files/lead", "../outside");
        ground.link("files/c/b", ground.at("outside"));
        // Outside are the same names as inside, and more.
        for name in ["outside/note.txt", "outside/sub/note.txt"] {
            let mut text = format!("honest = 1\n{}", canary());
            text.truncate(SIZE);
            fs::write(ground.at(name), text).unwrap();
        }
        let open =
            |name: &str| Dir::open_ambient_dir(ground.at(name), ambient_authority()).unwrap();
        let honest = HONEST.map(|name| open(&format!("files/{name}"))).into_iter().collect();
        let alone = alone();
        #[expect(clippy::disallowed_methods, reason = "a race takes two processes")]
        let swapper = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "sandbox::tests::races::swapper"])
            .env(FOLDER, ground.at(""))
            .env(SWAPS, swaps.to_string())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        drop(alone);
        let swapped = Self { ground, honest, swapper };
        swapped.restore();
        swapped
    }

    /// Restores what calls removed or added, by handles that are not swapped.
    fn restore(&self) {
        for dir in &self.honest {
            for entry in dir.entries().unwrap().flatten() {
                let name = entry.file_name();
                if name == "note.txt" || name == "sub" {
                    continue;
                }
                if entry.file_type().unwrap().is_dir() {
                    dir.remove_dir_all(name).unwrap();
                } else {
                    dir.remove_file(name).unwrap();
                }
            }
            dir.create_dir_all("sub").unwrap();
            for name in ["note.txt", "sub/note.txt"] {
                if dir.read_to_string(name).ok().as_deref() != Some("honest = 1\n") {
                    drop(dir.remove_file(name));
                    dir.write(name, "honest = 1\n").unwrap();
                }
            }
        }
        // One of these is a file, the other a link; only calls create or remove them.
        let (plain, hook) = (self.ground.at("files/plain.txt"), self.ground.at("files/hook"));
        let is_link = |at: &Path| fs::symlink_metadata(at).ok().map(|it| it.is_symlink());
        let both = [is_link(&plain), is_link(&hook)];
        if both.contains(&None) || both[0] == both[1] {
            drop(fs::remove_file(&hook));
            if both[0] == Some(true) {
                fs::write(&hook, "honest = 1\n").unwrap();
            } else {
                if both[0].is_none() {
                    fs::write(&plain, "honest = 1\n").unwrap();
                }
                std::os::unix::fs::symlink("../outside/note.txt", &hook).unwrap();
            }
        }
        for entry in fs::read_dir(self.ground.at("state/trash")).unwrap().flatten() {
            drop(fs::remove_dir_all(entry.path()));
        }
    }

    /// Returns the result of one call, and of its undo call if it can be undone.
    fn call(
        &self,
        layers: Layers,
        spec: &ToolSpec,
        arguments: Value,
    ) -> Result<Outcome, ToolError> {
        if spec.name != "undo_call" {
            return self.ground.call(layers, spec.name, arguments, false);
        }
        let call = CallId::new(Uuid::now_v7());
        let paths = json!([arguments["path"]]);
        drop(self.ground.call_as(call, layers, "delete_file", arguments, false));
        let undo = json!({"call_id": call.to_string(), "paths": paths});
        self.ground.call(layers, spec.name, undo, false)
    }
}

/// Returns calls of a tool with paths through every swapped place.
fn calls(spec: &ToolSpec) -> Vec<Value> {
    let with = |pairs: &[(&str, String)]| {
        let mut arguments = arguments(spec, "honest = 1");
        for (name, path) in pairs {
            arguments[*name] = json!(path);
        }
        arguments
    };
    let below = |names: &[&str]| -> Vec<String> {
        let pairs = HONEST.iter().flat_map(|top| names.iter().map(move |name| (top, name)));
        pairs.map(|(top, name)| format!("{top}/{name}").trim_end_matches('/').to_owned()).collect()
    };
    let mut files = below(&["note.txt", "sub/note.txt"]);
    files.push("plain.txt".to_owned());
    if spec.name == "undo_call" {
        // The calls of `delete_file` that are undone.
        return files.iter().map(|path| json!({"path": path, "confirm": true})).collect();
    }
    let named = spec.path_arguments();
    if named == ["destination", "source"] {
        let from = [files, below(&["sub"])].concat();
        let to = below(&["to", "sub/to"]).into_iter().cycle();
        let pairs = from.into_iter().zip(to);
        return pairs
            .map(|(source, to)| with(&[("source", source), ("destination", to)]))
            .collect();
    }
    let paths = match spec.sample.target {
        Target::Folder if spec.has_effects => below(&["sub"]),
        Target::Folder => below(&["", "sub"]),
        Target::NewFolder => below(&["new", "sub/new"]),
        Target::NewFile => [files, below(&["new.txt", "sub/new/new.txt"])].concat(),
        Target::File | Target::Entry => files,
        Target::Nothing => panic!("{}", not_tried(spec)),
    };
    let calls = paths.into_iter().flat_map(|path| {
        named.iter().map(move |name| (name.clone(), path.clone())).collect::<Vec<_>>()
    });
    calls.map(|(name, path)| with(&[(&name, path)])).collect()
}

/// The results of a race.
#[derive(Debug, Default)]
struct Race {
    succeeded: usize,
    failed: usize,
    swaps: u64,
    escapes: Vec<String>,
}

fn race(layers: Layers, spec: &ToolSpec, swaps: u64) -> Race {
    let swapped = Swapped::start(swaps);
    let before = swapped.ground.tree("outside");
    let enough = swapped.ground.at("enough");
    let mut race = Race::default();
    for arguments in calls(spec).iter().cycle() {
        // On a busy machine many calls in a row may meet the same side of the swaps.
        let meets_both = race.succeeded > 0 && race.failed > 0;
        let calls = race.succeeded + race.failed;
        if enough.exists() && calls >= MIN_CALLS && (meets_both || calls >= MAX_CALLS) {
            break;
        }
        let result = swapped.call(layers, spec, arguments.clone());
        *if result.is_ok() { &mut race.succeeded } else { &mut race.failed } += 1;
        let leaked = leaked(layers, arguments, &result);
        race.escapes.extend(leaked.map(|what| format!("{}{arguments}: {what}", spec.name)));
        if spec.has_effects {
            swapped.restore();
        }
        if !race.escapes.is_empty() {
            break;
        }
    }
    let count = swapped.ground.at("swaps");
    fs::write(swapped.ground.at("stop"), "").unwrap();
    while !count.exists() {
        std::thread::yield_now();
    }
    race.swaps = fs::read_to_string(count).unwrap().parse().unwrap_or(0);
    if swapped.ground.tree("outside") != before {
        race.escapes.push(format!("{}: changed", spec.name));
    }
    race
}

fn no_race_leads_out(layers: Layers) {
    let swaps = std::env::var(SWAPS).map_or(20_000, |text| text.parse().unwrap());
    for spec in file_tools() {
        let race = race(layers, spec, swaps);
        let Race { succeeded, failed, swaps: done, escapes } = &race;
        eprintln!("{layers:?} {}: {done} swaps, {succeeded} done, {failed} refused", spec.name);
        assert_eq!(*escapes, [""; 0], "{layers:?}");
        assert!(*done >= swaps && *succeeded > 0 && *failed > 0, "{}: {race:?}", spec.name);
    }
}

#[test]
fn no_race_leads_out_with_both_layers() {
    no_race_leads_out(Layers::Both);
}

#[test]
fn no_race_leads_out_with_landlock_off() {
    no_race_leads_out(Layers::Handles);
}

/// Limited to what Landlock governs.
#[test]
fn no_race_leads_out_where_handles_are_replaced_by_joining() {
    no_race_leads_out(Layers::Landlock);
}

#[test]
fn without_either_layer_races_lead_out() {
    for spec in file_tools().filter(|spec| !is_of_figures(spec)) {
        let leads_out = |_| !race(Layers::Neither, spec, 2_000).escapes.is_empty();
        assert!((0..20).any(leads_out), "{}", not_tried(spec));
    }
}
