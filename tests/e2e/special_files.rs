//! Things that are no ordinary files, or ordinary ones beyond measure: every file tool answers in time,
//! with the right code, and the agent stays small. The backend lets everything through.

mod large;
mod rig;
mod room;

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use orion_catalog::Target;
use orion_domain::Capability;
use orion_tests::FileCall;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use serde_json::json;

use crate::escapes::say;
use rig::{Mount, Rig};

/// How a call may end that went as it should, by its code.
const ORDINARY: [&str; 9] = [
    "",
    "NOT_SUPPORTED",
    "PRECONDITION_FAILED",
    "INVALID_PATH",
    "PATH_NOT_ALLOWED",
    "ALREADY_EXISTS",
    "FILE_NOT_FOUND",
    "DIRECTORY_NOT_FOUND",
    "PATH_NOT_FOUND",
];

/// Whether a tool goes through a folder, and changes nothing there.
fn walks(call: &FileCall) -> bool {
    !call.spec.has_effects && call.spec.sample.target == Target::Folder
}

/// Puts one of each kind into a folder, as far as this account may.
fn plant(root: &Path) -> Vec<String> {
    let mut planted = Vec::new();
    let mode = Mode::RUSR | Mode::WUSR;
    for (name, kind, device) in [
        ("fifo", FileType::Fifo, 0),
        ("zero", FileType::CharacterDevice, makedev(1, 5)),
        ("full", FileType::CharacterDevice, makedev(1, 7)),
        ("terminal", FileType::CharacterDevice, makedev(5, 0)),
        ("disk", FileType::BlockDevice, makedev(7, 0)),
    ] {
        match mknodat(CWD, root.join(name), kind, mode, device) {
            Ok(()) => planted.push(name.to_owned()),
            Err(error) => {
                say(&format!("skipped: {name}, which this account may not make: {error}"))
            }
        }
    }
    drop(UnixListener::bind(root.join("socket")).unwrap());
    planted.push("socket".to_owned());
    planted
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifos_sockets_and_devices_are_never_opened() {
    let mut rig = Rig::new().await;
    let root = rig.files();
    for call in FileCall::all() {
        // A tool may move or delete the thing itself, so each finds new ones.
        rig.clear();
        let planted = plant(&root);
        for name in &planted {
            for text in [name.clone(), format!("{name}/x"), format!("./{name}")] {
                for dry_run in [true, false] {
                    let answer = rig.call(&call, &text, dry_run, 5_000).await;
                    let who = format!("{} {text}: {answer:?}", call.name());
                    assert!(ORDINARY.contains(&answer.code.as_str()), "{who}");
                    if call.spec.sample.target.is_content() {
                        assert_ne!(answer.code, "", "{who}");
                    }
                    if text == *name && ["read_file", "write_file"].contains(&call.spec.name) {
                        assert_eq!(answer.code, "NOT_SUPPORTED", "{who}");
                    }
                }
            }
        }
    }
    // Nor when a folder that holds them is gone through.
    rig.clear();
    plant(&root);
    std::fs::write(root.join("notes.txt"), "canary-text\n").unwrap();
    for call in FileCall::all().into_iter().filter(walks) {
        let answer = rig.call(&call, ".", false, 5_000).await;
        assert_eq!(answer.code, "", "{}: {answer:?}", call.name());
    }
    rig.holds_little_memory();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loops_of_links_end() {
    let mut rig = Rig::new().await;
    let root = rig.files();
    for call in FileCall::all() {
        rig.clear();
        std::fs::create_dir(root.join("folder")).unwrap();
        for (name, target) in [
            ("self", "self"),
            ("one", "two"),
            ("two", "one"),
            ("long", "./long/../long"),
            ("folder/here", "."),
            ("folder/up", ".."),
            ("folder/round", "../folder/round/x"),
        ] {
            symlink(target, root.join(name)).unwrap();
        }
        for hop in 0..60 {
            symlink(format!("hop{}", hop + 1), root.join(format!("hop{hop}"))).unwrap();
        }
        for text in ["self", "one/x", "long", "folder/round", "folder/round/y", "hop0", "hop0/x"] {
            let answer = rig.call(&call, text, false, 5_000).await;
            // The link itself may be taken, and is then not followed.
            let ordinary = ORDINARY.contains(&answer.code.as_str());
            assert!(ordinary, "{} {text}: {answer:?}", call.name());
        }
        let deep = format!("{}x", "folder/here/up/".repeat(30).replace("/up/", "/"));
        let answer = rig.call(&call, &deep, true, 5_000).await;
        assert!(!["TIMEOUT", "INTERNAL"].contains(&answer.code.as_str()), "{answer:?}");
        if walks(&call) {
            let answer = rig.call(&call, ".", false, 5_000).await;
            assert_eq!(answer.code, "", "{}: {answer:?}", call.name());
        }
    }
    rig.holds_little_memory();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_systems_own_file_systems_are_not_entered() {
    let mut rig = Rig::new().await;
    let root = rig.files();
    symlink("/proc", root.join("linked")).unwrap();
    symlink("/dev", root.join("devices")).unwrap();
    let mut tried = vec!["linked", "devices"];
    std::fs::create_dir(root.join("mounted")).unwrap();
    let mounted = Mount::new("proc", &root.join("mounted"), "");
    if mounted.is_some() {
        tried.push("mounted");
    }
    let below = [
        "self/root/etc/passwd",
        "self/environ",
        "self/cwd/agent.toml",
        "self/fd/0",
        "self/mem",
        "kmsg",
        "kcore",
        "version",
        "sysrq-trigger",
        "sys/kernel/core_pattern",
        "zero",
        "stdin",
    ];
    for call in FileCall::all() {
        for at in &tried {
            for name in below {
                let answer = rig.call(&call, &format!("{at}/{name}"), false, 5_000).await;
                let who = format!("{} {at}/{name}: {answer:?}", call.name());
                assert_eq!(answer.code, "PATH_NOT_ALLOWED", "{who}");
                assert!(!answer.result.contains("root:x:0:0:"), "{who}");
            }
        }
        if walks(&call) {
            let answer = rig.call(&call, ".", false, 10_000).await;
            assert_eq!(answer.code, "", "{}: {answer:?}", call.name());
            assert!(!answer.result.contains("kcore"), "{}: {answer:?}", call.name());
        }
    }
    drop(mounted);
    rig.holds_little_memory();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hard_link_to_a_file_outside_is_not_written_through() {
    let mut rig = Rig::new().await;
    let (root, outside) = (rig.files(), rig.files().with_file_name("outside.txt"));
    let text = "first=line\nsecond=line\n";
    std::fs::write(&outside, text).unwrap();
    std::fs::hard_link(&outside, root.join("hard.txt")).unwrap();
    for call in FileCall::all().into_iter().filter(|call| call.spec.has_effects) {
        // What takes the name away leaves the file as it is under its other name.
        if call.spec.capabilities.contains(&Capability::FileDelete) {
            continue;
        }
        let answer = rig.call(&call, "hard.txt", false, 5_000).await;
        let held = std::fs::read_to_string(&outside).unwrap();
        assert_eq!(held, text, "{}: {answer:?}", call.name());
    }
    let arguments =
        json!({"path": "hard.txt", "content": "more\n", "append": true, "create_dirs": true});
    let answer = rig.tool("write_file", &arguments, 5_000).await;
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), text, "{answer:?}");
}
