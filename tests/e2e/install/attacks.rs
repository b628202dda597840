//! Attacks on the pasted line, each of which ends with a clear word and leaves nothing.

use std::os::unix::fs::PermissionsExt as _;

use orion_domain::Digest;
use orion_tests::World;
use orion_wire::EnrollmentToken;

use super::mirror::{Change, Mirror};
use super::person::{Person, is_root, serve, serve_agent};
use super::releases::program;
use super::{invite, line};

/// A world that devices reach through somebody else's machine.
async fn between() -> (Mirror, World) {
    let mirror = Mirror::start().await;
    let world = World::configured(&format!("[downloads]\nurl = \"{}\"\n", mirror.url())).await;
    mirror.leads_to(&world.people_address());
    (mirror, world)
}

/// Checks that a pasted line was refused with these words, and that nothing is left.
fn refused(what: &str, ann: &Person, ended: &orion_tests::Output, words: &str) {
    assert_ne!(ended.code, 0, "{what}: {ended:?}");
    assert!(ended.stderr.contains(words), "{what}: {ended:?}");
    assert_eq!(ann.tree().len(), 0, "{what}: {:?}", ann.tree().keys());
    assert_eq!(ann.systemctl_calls(), Vec::<String>::new(), "{what}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_somebody_in_between_changes_is_not_run() {
    let (mirror, world) = between().await;
    let file = world.folder().join("program");
    std::fs::write(&file, program(62, 100_000)).unwrap();
    serve(&world, &file).await;
    let invited = invite(&world, &["--name", "laptop", "--path", "~/files"]).await;
    let ann = Person::new();
    let evil = b"#!/bin/sh\ntouch \"$HOME/was-run\"\n".to_vec();
    let html = b"<html>Sign in to this network</html>\n".to_vec();
    const NOT_THE_SCRIPT: &str = "did not arrive as it was";
    const NOT_THE_AGENT: &str = "is not the agent of this backend";
    for (what, change, words) in [
        ("a script with one other byte", Change::Flip("install.sh"), NOT_THE_SCRIPT),
        ("another script", Change::Replace("install.sh", evil.clone()), NOT_THE_SCRIPT),
        ("a network that asks to sign in", Change::Replace("install.sh", html), NOT_THE_SCRIPT),
        ("an empty script", Change::Replace("install.sh", Vec::new()), NOT_THE_SCRIPT),
        ("an agent with one other byte", Change::Flip("orion-agent"), NOT_THE_AGENT),
        ("another agent", Change::Replace("orion-agent", evil), NOT_THE_AGENT),
        ("an empty agent", Change::Replace("orion-agent", Vec::new()), NOT_THE_AGENT),
        ("a program that does not run", Change::None, "does not run on this system"),
    ] {
        mirror.changes(change);
        for with in ["curl", "wget"] {
            let ended = ann.pastes(line(&invited, with)).await;
            refused(&format!("{what}, {with}"), &ann, &ended, words);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_fit_this_machine_or_account_is_refused_before_anything_is_left() {
    let (_mirror, world) = between().await;
    let file = world.folder().join("program");
    std::fs::write(&file, program(183, 100_000)).unwrap();
    serve(&world, &file).await;
    let invited = invite(&world, &["--name", "laptop", "--path", "~/files"]).await;
    let ann = Person::new();
    if cfg!(target_arch = "x86_64") {
        let ended = ann.pastes(line(&invited, "curl")).await;
        refused("another architecture", &ann, &ended, "no agent for linux-x86_64");
    }
    std::fs::write(&file, program(62, 3_000_000)).unwrap();
    serve(&world, &file).await;
    let invited = invite(&world, &["--name", "laptop", "--path", "~/files"]).await;
    let line = line(&invited, "curl");
    let token = invited["token"].as_str().unwrap();
    let with_arguments =
        |arguments: &str| line.replace(&format!("-- {token}"), &format!("-- {arguments}"));
    for (what, line, words) in [
        ("no space", format!("ulimit -f 1000; {line}"), "could not be downloaded whole"),
        ("not root", with_arguments(&format!("{token} --system")), "--system needs root"),
        ("no token", with_arguments(""), "the token is missing"),
        ("no token but a word", with_arguments("hunter2"), "not an enrolment token"),
        ("two tokens", with_arguments(&format!("{token} {token}")), "two tokens"),
        ("an option of something else", with_arguments("--purge"), "not an option of this script"),
        (
            "an option without its value",
            with_arguments("--allow-path"),
            "--allow-path needs a value",
        ),
        ("somebody else's home", format!("HOME=/; export HOME; {line}"), "does not belong to you"),
        ("no home", format!("unset HOME; {line}"), "does not belong to you"),
        (
            "a home that is no folder",
            format!("HOME=/dev/null; export HOME; {line}"),
            "does not belong to you",
        ),
    ] {
        // The arguments of the invitation follow the token.
        let line = line.replace("-- hunter2 --allow-path ~/files", "-- hunter2");
        let line = line.replace("-- --allow-path --allow-path ~/files", "-- --allow-path");
        let ended = ann.pastes(&line).await;
        refused(what, &ann, &ended, words);
    }
    // A service that is asked for without a terminal and without folders.
    let invited = invite(&world, &["--name", "laptop"]).await;
    let ended = ann.pastes(super::line(&invited, "curl")).await;
    refused("nobody to ask", &ann, &ended, "there is no terminal to ask at");
    if is_root() {
        let ended = ann.pastes_as_root(line).await;
        refused("root", &ann, &ended, "you are root");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_of_another_backend_or_with_another_fingerprint_enrols_nothing_and_leaves_nothing()
{
    let (_mirror, world) = between().await;
    serve_agent(&world).await;
    let invited = invite(&world, &["--name", "laptop", "--path", "~/files", "--preapproved"]).await;
    let line = line(&invited, "curl");
    let text = invited["token"].as_str().unwrap();
    let token: EnrollmentToken = text.parse().unwrap();
    let ann = Person::new();
    let elsewhere = World::new().await;
    let foreign = invite(&elsewhere, &["--name", "laptop"]).await;
    let foreign: EnrollmentToken = foreign["token"].as_str().unwrap().parse().unwrap();
    let (pins, addresses) = (token.pins.clone(), token.addresses.clone());
    for (what, token, words) in [
        (
            "another fingerprint",
            EnrollmentToken { pins: vec![Digest::of(b"another authority")], ..token.clone() },
            "Nothing was sent to it",
        ),
        (
            "the token of another backend, led here",
            EnrollmentToken { addresses: addresses.clone(), ..foreign.clone() },
            "Nothing was sent to it",
        ),
        (
            "the secret of another backend",
            EnrollmentToken { addresses, pins, ..foreign },
            "the backend did not take the token",
        ),
        ("an expired token", EnrollmentToken { expires_at: 1, ..token.clone() }, "has expired"),
    ] {
        let ended = ann.pastes(&line.replace(text, &token.to_string())).await;
        assert!(ended.stderr.contains("this device is not enrolled"), "{what}: {ended:?}");
        refused(what, &ann, &ended, words);
    }
    let damaged = ann.pastes(&line.replace(text, &text[..text.len() - 1])).await;
    refused("a token that was cut", &ann, &damaged, "copy the whole line again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hostile_search_path_environment_and_locale_change_nothing() {
    let (mirror, world) = between().await;
    let file = world.folder().join("program");
    // A program that does nothing and succeeds, in the place of an agent.
    std::fs::copy("/bin/true", &file).unwrap();
    serve(&world, &file).await;
    let script = mirror.get("/install.sh").await;
    let ann = Person::new();
    let hostile = ann.others_folder();
    let marker = hostile.join("was-run");
    let fake = format!("#!/bin/sh\ntouch '{}'\nexit 0\n", marker.display());
    for name in [
        "curl",
        "wget",
        "sh",
        "sha256sum",
        "shasum",
        "cut",
        "id",
        "uname",
        "getconf",
        "mktemp",
        "find",
        "chmod",
        "rm",
        "systemctl",
        "printf",
        "orion-agent",
    ] {
        std::fs::write(hostile.join(name), &fake).unwrap();
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(hostile.join(name), mode).unwrap();
    }
    // The tools' own files of options lead to the attacker.
    let rc = format!("url = \"file:///etc/hostname\"\noutput = \"{}\"\n", marker.display());
    let (curlrc, wgetrc) = (ann.home().join(".curlrc"), ann.home().join(".wgetrc"));
    std::fs::write(&curlrc, rc).unwrap();
    std::fs::write(&wgetrc, format!("output_document = {}\n", marker.display())).unwrap();
    let path = ann.home().join("install.sh");
    std::fs::write(&path, &script).unwrap();
    for file in [&curlrc, &wgetrc, &path] {
        ann.owns(file);
    }
    let before = ann.tree();
    let searched = format!("{}:.:/usr/bin:/bin", hostile.display());
    for environment in [
        [("PATH", &*searched), ("LC_ALL", "tr_TR.UTF-8"), ("IFS", "/o1")],
        [("PATH", ""), ("LC_ALL", "C.UTF-8"), ("TMPDIR", hostile.to_str().unwrap())],
        [("PATH", "."), ("LANG", "\u{202e}\n"), ("CURL_HOME", hostile.to_str().unwrap())],
        [("PATH", &*searched), ("POSIXLY_CORRECT", "1"), ("CDPATH", "/:.")],
    ] {
        let run = "/bin/sh -s -- orion1.x --yes <install.sh";
        let ended = ann.pastes_with(run, &environment).await;
        assert_eq!(ended.code, 0, "{environment:?}: {ended:?}");
        assert!(!marker.exists(), "{environment:?}: {ended:?}");
        assert_eq!(ann.tree(), before, "{environment:?}");
    }
    assert_eq!(ann.systemctl_calls(), Vec::<String>::new());
}
