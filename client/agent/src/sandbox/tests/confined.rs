//! What a confined thread can and cannot do, without any tool.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::thread;

use orion_domain::ErrorCode;

use super::ground::Ground;
use crate::sandbox::{Reach, Sandbox, confine};

fn confined<T: Send>(ground: &Ground, reach: Reach, work: impl FnOnce() -> T + Send) -> T {
    let run = || {
        confine(&ground.folders(), &[ground.trash.dir()], reach).unwrap();
        work()
    };
    thread::scope(|scope| scope.spawn(run).join().unwrap())
}

#[test]
fn a_thread_that_changes_reaches_what_is_lent_and_the_trash_and_nothing_else() {
    let ground = Ground::new();
    confined(&ground, Reach::Change, || {
        fs::write(ground.at("files/new.txt"), "x").unwrap();
        fs::rename(ground.at("files/new.txt"), ground.at("state/trash/new.txt")).unwrap();
        fs::rename(ground.at("state/trash/new.txt"), ground.at("files/sub/new.txt")).unwrap();
        fs::read(ground.at("shared/note.txt")).unwrap();
        for (what, result) in [
            ("read", fs::read(ground.at("outside/canary.txt")).map(drop)),
            ("list", fs::read_dir(ground.at("outside")).map(drop)),
            ("list above", fs::read_dir(ground.at("")).map(drop)),
            ("key", fs::read(ground.at("state/key.pem")).map(drop)),
            ("passwd", fs::read("/etc/passwd").map(drop)),
            ("proc", fs::read("/proc/self/status").map(drop)),
            ("write", fs::write(ground.at("outside/new.txt"), "x")),
            ("change", fs::write(ground.at("outside/canary.txt"), "x")),
            ("folder", fs::create_dir(ground.at("outside/new"))),
            ("remove", fs::remove_file(ground.at("outside/canary.txt"))),
            ("shared", fs::write(ground.at("shared/note.txt"), "x")),
            ("shared new", fs::write(ground.at("shared/new.txt"), "x")),
            ("shared remove", fs::remove_file(ground.at("shared/note.txt"))),
            ("connect", TcpListener::bind("127.0.0.1:0").map(drop)),
        ] {
            let error = result.expect_err(what);
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{what}");
        }
        for (from, to) in [("outside/canary.txt", "files/x"), ("files/note.txt", "outside/x")] {
            assert!(fs::rename(ground.at(from), ground.at(to)).is_err(), "{from}");
            assert!(fs::hard_link(ground.at(from), ground.at(to)).is_err(), "{from}");
        }
    });
    assert!(TcpListener::bind("127.0.0.1:0").is_ok(), "the thread that asked is free");
    assert!(fs::read("/etc/passwd").is_ok());
}

#[test]
fn a_thread_that_reads_or_previews_changes_nothing_anywhere() {
    let ground = Ground::new();
    for reach in [Reach::Read, Reach::Preview] {
        confined(&ground, reach, || {
            fs::read(ground.at("files/note.txt")).unwrap();
            fs::read_dir(ground.at("shared")).unwrap();
            for (what, result) in [
                ("write", fs::write(ground.at("files/note.txt"), "x")),
                ("new", fs::write(ground.at("files/new.txt"), "x")),
                ("folder", fs::create_dir(ground.at("files/new"))),
                ("remove", fs::remove_file(ground.at("files/note.txt"))),
                ("rename", fs::rename(ground.at("files/note.txt"), ground.at("files/x"))),
                ("trash", fs::write(ground.at("state/trash/x"), "x")),
            ] {
                let error = result.expect_err(what);
                assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{what} {reach:?}");
            }
        });
    }
    // A folder that is granted only for writing can be read by a preview and by a change, not by a read.
    let looks = |reach| confined(&ground, reach, || fs::read(ground.at("drop/note.txt")).is_ok());
    assert_eq!([Reach::Read, Reach::Preview, Reach::Change].map(looks), [false, true, true]);
}

#[test]
fn threads_that_a_confined_thread_starts_are_confined() {
    let ground = Ground::new();
    let read = confined(&ground, Reach::Read, || {
        thread::spawn(|| fs::read("/etc/passwd").is_ok()).join().unwrap()
    });
    assert!(!read);
}

#[test]
fn a_thread_that_cannot_be_confined_says_so() {
    let ground = Ground::new();
    // The kernel stacks at most sixteen confinements.
    let refused = confined(&ground, Reach::Read, || {
        (0..16).find_map(|_| confine(&ground.folders(), &[], Reach::Read).err())
    });
    let error = refused.unwrap();
    assert!(error.to_string().starts_with("Landlock refused: "), "{error}");
    assert_eq!(error.refusal().code, ErrorCode::ExecutionFailed);
}

#[test]
fn what_the_kernel_does_is_found_out_and_told() {
    let sandbox = Sandbox::detect();
    assert!(sandbox.has_landlock(), "these tests need a kernel with Landlock");
    assert!(sandbox.to_string().starts_with("landlock (ABI "), "{sandbox}");
    assert!(sandbox.to_string().ends_with(" and handles (openat2)"), "{sandbox}");
    let of = |tool: &str| {
        let (spec, _) = orion_catalog::find(tool).unwrap();
        sandbox.confinement(spec, false).unwrap().as_str()
    };
    assert_eq!(["read_file", "undo_call", "read_config"].map(of), ["landlock"; 3]);
    assert_eq!(["open_app", "get_datetime", "get_device_info"].map(of), ["handles"; 3]);
    assert_eq!(
        (Sandbox::handles().as_str(), Sandbox::handles().has_landlock()),
        ("handles", false)
    );
}
