//! Every file tool, with every known way to escape. A new file tool of the catalogue is in these tests with
//! the paths and the arguments that its definition states: its `touches` and its `SAMPLE`. A tool whose sample
//! does not reach anything fails `without_either_layer_every_tool_escapes`.

use std::fs;

use orion_catalog::{Execution, ToolSpec};
use orion_domain::{ErrorCode, ToolError};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use super::ground::{CANARY, Ground, Layers, SIZE, UNASKED, told};
use crate::call::Outcome;
use crate::tools::EXECUTORS;

/// Paths that lead out, given the ground's own path. Their targets exist and contain canaries.
const WAYS_OUT: &[&str] = &[
    "{}/outside",
    "{}/outside/canary.txt",
    "{}/outside/new",
    "../outside",
    "../outside/canary.txt",
    "../outside/new",
    "sub/../../outside/canary.txt",
    "up",
    "up/canary.txt",
    "up/sub",
    "up/sub/canary.txt",
    "up/new",
    "up/new/deep",
    "up/fifo",
    "absolute",
    "absolute/canary.txt",
    "absolute/sub",
    "absolute/new",
    "chain",
    "chain/canary.txt",
    "chain/new",
    "sub/up/canary.txt",
    "file",
    "file-absolute",
    "file-chain",
    "root{}/outside/canary.txt",
    "root{}/outside",
    "/proc/self/root{}/outside/canary.txt",
    "/proc/self/root{}/outside",
    "/proc/thread-self/root{}/outside/new",
    "descriptors",
    "working",
    "status",
    "zero",
    "/dev/zero",
    "{}/state",
    "{}/state/key.pem",
    "state/key.pem",
    "hard.txt",
    "{}/shared/note.txt",
    "{}/shared/new",
    "{}/shared",
];

pub(super) fn file_tools() -> impl Iterator<Item = &'static ToolSpec> {
    let specs = EXECUTORS.iter().map(|it| orion_catalog::find(it.name).unwrap().0);
    specs.filter(|spec| spec.execution == Execution::File)
}

/// The arguments of the tool besides paths, so that a call finds and changes what is there.
pub(super) fn arguments(spec: &ToolSpec, first_line: &str) -> Value {
    Value::Object(spec.sample_arguments(first_line, "unasked"))
}

/// Returns calls of a tool with the path in each argument that takes one.
pub(super) fn calls(spec: &ToolSpec, path: &str, first_line: &str) -> Vec<Value> {
    let line = if path == "hard.txt" { "hard = 1" } else { first_line };
    let arguments = arguments(spec, line);
    let call = |name: String| {
        let mut arguments = arguments.clone();
        for (other, honest) in [("source", "note.txt"), ("destination", "made.txt")] {
            if arguments.get(other).is_some() {
                arguments[other] = json!(honest);
            }
        }
        let is_list = arguments[&name].is_array();
        arguments[&name] = if is_list { json!([path]) } else { json!(path) };
        arguments
    };
    spec.path_arguments().into_iter().map(call).collect()
}

pub(super) fn ground() -> Ground {
    let ground = Ground::new();
    for (name, target) in [
        ("files/up", "../outside"),
        ("files/sub/up", "../../outside"),
        ("files/chain", "hop"),
        ("files/hop", "sub/hop"),
        ("files/sub/hop", "../up"),
        ("files/file", "../outside/canary.txt"),
        ("files/file-chain", "chain/canary.txt"),
        ("files/root", "/proc/self/root"),
        ("files/descriptors", "/proc/self/fd"),
        ("files/working", "/proc/self/cwd"),
        ("files/status", "/proc/self/status"),
        ("files/zero", "/dev/zero"),
        ("files/state", "../state"),
    ] {
        ground.link(name, target);
    }
    ground.link("files/absolute", ground.at("outside"));
    ground.link("files/file-absolute", ground.at("outside/canary.txt"));
    fs::hard_link(ground.at("outside/hard.txt"), ground.at("files/hard.txt")).unwrap();
    for fifo in ["files/fifo", "outside/fifo"] {
        mknodat(CWD, ground.at(fifo), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    }
    ground
}

/// Makes one call on a ground. Returns what leaked or was changed and should not be.
fn escaped(
    ground: &Ground,
    layers: Layers,
    spec: &ToolSpec,
    arguments: &Value,
    dry_run: bool,
) -> Option<String> {
    let kept = if spec.has_effects && !dry_run {
        vec!["outside", "shared", "state/key.pem"]
    } else {
        vec![""]
    };
    let trees = || -> Vec<_> {
        kept.iter().filter(|it| ground.at(it).is_dir()).map(|it| ground.tree(it)).collect()
    };
    let (key, before) = (ground.at("state/key.pem"), trees());
    let result = ground.call(layers, spec.name, arguments.clone(), dry_run);
    let what = if trees() != before {
        "changed"
    } else if fs::read_to_string(key).ok().as_deref() != Some(CANARY) {
        "changed the key"
    } else if is_of_figures(spec) && result.is_ok() && is_outside(ground, layers, arguments) {
        "measured"
    } else {
        leaked(layers, arguments, &result)?
    };
    Some(format!("{layers:?} {}{arguments}: {what}", spec.name))
}

/// Whether the answers of a tool hold figures of a file system alone, so that they show no content, name or
/// size of an entry: then each answer about what is outside is an escape.
pub(super) fn is_of_figures(spec: &ToolSpec) -> bool {
    spec.name == "check_disk_space"
}

/// Whether the path of a call leads out, for layers that govern metadata.
fn is_outside(ground: &Ground, layers: Layers, arguments: &Value) -> bool {
    let governs = matches!(layers, Layers::Both | Layers::Handles | Layers::Neither);
    let path = ground.at("files").join(arguments["path"].as_str().unwrap());
    let granted = ["files", "moved", "shared"].map(|name| ground.at(name));
    let real = fs::canonicalize(path).ok();
    governs && real.is_some_and(|real| !granted.iter().any(|folder| real.starts_with(folder)))
}

/// What the answer reveals that the caller must not know.
pub(super) fn leaked(
    layers: Layers,
    arguments: &Value,
    result: &Result<Outcome, ToolError>,
) -> Option<&'static str> {
    let told = told(result);
    // A refusal repeats the requested path.
    let asked = arguments.to_string();
    let says = |word: &str| told.contains(word) && !asked.contains(word);
    // Landlock does not govern reading metadata.
    let looks = matches!(layers, Layers::Both | Layers::Handles | Layers::Neither);
    if told.matches(CANARY).count() > asked.matches(CANARY).count() {
        Some("read")
    } else if says(UNASKED) || says("key.pem") {
        Some("listed")
    } else if says("voluntary_ctxt_switches") {
        Some("read of the kernel's")
    } else if looks && (says(&format!(":{SIZE}")) || says(&format!(" {SIZE} bytes"))) {
        Some("looked at")
    } else {
        None
    }
}

fn all_escapes(layers: Layers, spec: &ToolSpec) -> Vec<String> {
    let mut escapes = Vec::new();
    let line = format!("{CANARY} = 1");
    let mut ground = ground();
    let mut fresh = ground.tree("");
    for way in WAYS_OUT {
        let path = way.replace("{}", ground.text("").trim_end_matches('/'));
        for mut arguments in calls(spec, &path, &line) {
            for dry_run in [true, false] {
                escapes.extend(escaped(&ground, layers, spec, &arguments, dry_run));
                if layers == Layers::Neither && !escapes.is_empty() {
                    return escapes;
                }
                // The call changed what it may change, so the next one starts with a new ground.
                if ground.tree("") != fresh {
                    let old = ground.text("");
                    ground = self::ground();
                    fresh = ground.tree("");
                    let text = arguments.to_string().replace(&old, &ground.text(""));
                    arguments = serde_json::from_str(&text).unwrap();
                }
            }
        }
    }
    // A root that became a link after it was opened.
    for target in ["outside", "/proc/self/root", "/"] {
        for path in ["note.txt", "sub", "new", "."] {
            for arguments in calls(spec, path, &line) {
                let ground = self::ground();
                ground.roots(layers);
                fs::rename(ground.at("files"), ground.at("moved")).unwrap();
                ground.link("files", target);
                escapes.extend(escaped(&ground, layers, spec, &arguments, false));
            }
        }
    }
    escapes
}

#[test]
fn nothing_escapes_with_both_layers() {
    for spec in file_tools() {
        assert_eq!(all_escapes(Layers::Both, spec), [""; 0]);
    }
}

#[test]
fn nothing_escapes_with_landlock_off() {
    for spec in file_tools() {
        assert_eq!(all_escapes(Layers::Handles, spec), [""; 0]);
    }
}

/// [`leaked`] ignores what Landlock does not govern: metadata, whether something exists, and a link's
/// target. No tool changes mode, owner or times of a file that it did not make.
#[test]
fn nothing_that_landlock_governs_escapes_where_handles_are_replaced_by_joining() {
    for spec in file_tools() {
        assert_eq!(all_escapes(Layers::Landlock, spec), [""; 0]);
    }
}

/// Says what to do where the tests would not notice an escape of a tool.
pub(super) fn not_tried(spec: &ToolSpec) -> String {
    let name = spec.name;
    format!(
        "{name} is not tried well: with `SAMPLE` in shared/catalog/src/tools/{name}.rs, it changes nothing outside, \
         and its answers show no content, name or size of anything there"
    )
}

#[test]
fn without_either_layer_every_tool_escapes() {
    for spec in file_tools().filter(|spec| spec.name != "undo_call") {
        assert_ne!(all_escapes(Layers::Neither, spec), [""; 0], "{}", not_tried(spec));
    }
}

#[test]
fn no_error_tells_whether_something_outside_is_there() {
    let line = format!("{CANARY} = 1");
    for layers in [Layers::Both, Layers::Handles] {
        for spec in file_tools() {
            let ground = ground();
            for (there, missing) in [
                ("../outside/canary.txt", "../outside/absent.txt"),
                ("../outside/sub", "../outside/abs"),
                ("up/canary.txt", "up/absent.txt"),
                ("up/sub/canary.txt", "up/abs/absent.txt"),
                ("absolute/canary.txt", "absolute/absent.txt"),
                ("root/etc/passwd", "root/etc/passwa"),
                ("state/key.pem", "state/yek.pem"),
                ("/etc/passwd", "/etc/passwa"),
            ] {
                for (place, arguments) in calls(spec, there, &line).into_iter().enumerate() {
                    let ask = |arguments: &Value| {
                        let result = ground.call(layers, spec.name, arguments.clone(), false);
                        result.unwrap_err()
                    };
                    let found = ask(&arguments);
                    let absent = ask(&calls(spec, missing, &line)[place]);
                    let name = |path: &str| path.rsplit('/').next().unwrap().to_owned();
                    let words = |error: &ToolError, path: &str| {
                        let text = serde_json::to_string(error).unwrap();
                        text.replace(path, "PATH").replace(&name(path), "NAME")
                    };
                    assert_eq!(found.code, ErrorCode::PathNotAllowed, "{} {there}", spec.name);
                    let (found, absent) = (words(&found, there), words(&absent, missing));
                    let same = |text: &str| text.replace("/sub/", "/abs/");
                    assert_eq!(same(&found), same(&absent), "{} {there}", spec.name);
                }
            }
        }
    }
}
