//! Escapes of the project's own, which need no list: links of every kind, what the system itself links
//! to elsewhere, names that some reader decodes.

use std::os::unix::fs::symlink;
use std::path::Path;

use orion_tests::FileCall;

use super::ground::{Ground, Way};
use super::lists::say;
use super::tally::Tallies;

/// Each leads out of the granted folder, or would if somebody decoded it. `{out}` is the folder above.
const CLASSIC: &[&str] = &[
    "..",
    "../",
    "../.",
    "./..",
    "../secret.txt",
    "./../secret.txt",
    "x/../../secret.txt",
    "../root2/secret",
    "../root/../secret.txt",
    "../../secret.txt",
    "../../../../../../../secret.txt",
    "../../../../../../../../../../../../../../../../etc/passwd",
    "..//secret.txt",
    ".//..//./secret.txt",
    "{out}",
    "{out}/",
    "{out}/secret.txt",
    "{out}/root2",
    "{out}/root2/secret",
    "{out}/root/../secret.txt",
    "{root}/../secret.txt",
    "{root}2/secret",
    "/",
    "//",
    "/.",
    "/etc",
    "/etc/passwd",
    "//etc/passwd",
    "/etc/../etc/passwd",
    "/etc/shadow",
    "/root/.bashrc",
    "/proc/self/environ",
    "/proc/self/root/etc/passwd",
    "/proc/self/cwd/agent.toml",
    "/proc/self/fd/3",
    "/proc/1/root/etc/passwd",
    "/dev/stdin",
    "/dev/mem",
    "/sys/kernel/uevent_helper",
    "/run/x",
    "/tmp/../etc/passwd",
    "{state}/key.pem",
    "{state}/identity.json",
    "{state}/../agent.toml",
    "{state}",
    "~/.ssh/id_ed25519",
    "~/secret.txt",
    "$HOME/secret.txt",
    "${HOME}/../secret.txt",
    "~root/.bashrc",
    "file:///etc/passwd",
    "..\\secret.txt",
    "..%2fsecret.txt",
    "%2e%2e/secret.txt",
    "%2e%2e%2fsecret.txt",
    "..%c0%afsecret.txt",
    "..%252fsecret.txt",
    "..\u{2215}secret.txt",
    "\u{ff0e}\u{ff0e}/secret.txt",
    "\u{2025}/secret.txt",
    "..\0/secret.txt",
    "../secret.txt\0.txt",
    "../secret.txt\n",
    ".. /secret.txt",
    "to-out/secret.txt",
    "to-out/root2/secret",
    "to-out/new.txt",
    "to-out/new/new.txt",
    "to-out",
    "to-out/.",
    "to-out/../secret.txt",
    "absolute/secret.txt",
    "absolute",
    "two-hops/secret.txt",
    "two-hops/new.txt",
    "in/up/secret.txt",
    "in/up/new.txt",
    "to-top/etc/passwd",
    "to-top/tmp/orion-new",
    "to-etc/passwd",
    "to-self/root/etc/passwd",
    "to-self/cwd/agent.toml",
    "to-self/fd/3",
    "to-self/exe",
    "to-dev/null",
    "to-state/key.pem",
    "to-file",
    "to-missing",
    "to-missing-folder/new.txt",
    "loop",
    "loop/x",
];

/// Puts the links of the list above into the granted folder.
fn links(root: &Path, state: &Path) {
    std::fs::create_dir(root.join("in")).unwrap();
    let out = root.parent().unwrap();
    for (name, target) in [
        ("to-out", Path::new("..")),
        ("absolute", out),
        ("two-hops", Path::new("in/up")),
        ("in/up", Path::new("../..")),
        ("to-top", Path::new("/")),
        ("to-etc", Path::new("/etc")),
        ("to-self", Path::new("/proc/self")),
        ("to-dev", Path::new("/dev")),
        ("to-state", state),
        ("to-file", &out.join("secret.txt")),
        ("to-missing", &out.join("missing.txt")),
        ("to-missing-folder", &out.join("missing")),
        ("loop", Path::new("loop")),
    ] {
        symlink(target, root.join(name)).unwrap();
    }
}

/// Each with every tool. A link is itself inside: it may be deleted or moved, which takes nothing of
/// what it leads to.
pub(super) async fn none_leads_out(way: Way) {
    let mut ground = Ground::new(way, std::iter::empty()).await;
    let (root, state) = (ground.outside.root().to_owned(), ground.state_dir());
    let written = |text: &&str| {
        text.replace("{out}", &root.parent().unwrap().display().to_string())
            .replace("{root}", &root.display().to_string())
            .replace("{state}", &state.display().to_string())
    };
    let texts: Vec<String> = CLASSIC.iter().map(written).collect();
    let mut tallies = Tallies::default();
    for call in FileCall::all() {
        ground.outside.clear_root();
        links(&root, &state);
        let tally = ground.attack_with(&call, texts.clone()).await;
        tallies.add("classic", &call.name(), tally);
    }
    say(&format!("{}{tallies}", ground.says()));
    assert_eq!(tallies.escapes(), Vec::<String>::new());
}
