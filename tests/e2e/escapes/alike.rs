//! There or not there: what is outside or kept out is refused in the same words, so that nobody learns
//! what is there. The backend lies and lets everything through; the agent's words are what is compared.

use std::os::unix::fs::symlink;
use std::path::Path;

use orion_tests::FileCall;
use serde_json::Value;

use super::ground::{Ground, Way};

/// Two places, one of which is there. `{out}` is the folder above the granted one.
const PAIRS: &[(&str, &str)] = &[
    ("../secret.txt", "../secreu.txt"),
    ("{out}/secret.txt", "{out}/secreu.txt"),
    ("{out}/etc/passwd", "{out}/etd/passwd"),
    ("{out}/etc", "{out}/etd"),
    ("{root}/../root2/secret", "{root}/../root3/secret"),
    ("/etc/passwd", "/etc/passwe"),
    ("/opt", "/opu"),
    ("/etc/passwd/x", "/etc/passwe/x"),
    ("/proc/self/environ", "/proc/self/environt"),
    // Both by a name that keeps keys out: what is told comes from the name alone.
    ("{state}/key.pem", "{state}/kez.pem"),
    ("{state}/identity.toml", "{state}/identity.tomm"),
    ("to-out/secret.txt", "to-out/secreu.txt"),
    ("to-out/etc/passwd", "to-out/etd/passwd"),
    ("to-out/etc", "to-out/etd"),
    ("to-out/secret.txt/x", "to-out/secreu.txt/x"),
    ("to-file/x", "to-none/x"),
    ("to-folder/x", "to-nofold/x"),
    ("to-folder/passwd", "to-nofold/passwd"),
    ("to-etc/passwd", "to-etd/passwd"),
    (".ssh/config", ".ssh/confih"),
    (".ssh", "x/.ssh"),
    (".env", "x/.env"),
    (".env/x", "x/.env/x"),
    ("x/id_rsa", "y/id_rsa"),
    ("to-ssh/config", "to-ssh/confih"),
    ("to-ssh/config/x", "to-ssh/confih/x"),
    ("to-env/x", "to-noenv/x"),
];

/// The same for links in the last place, which are themselves inside: only tools that follow them are
/// refused, and those that take the link itself do so whatever it leads to.
const LINKS: &[(&str, &str)] = &[
    ("to-file", "to-none"),
    ("to-folder", "to-nofold"),
    ("to-etc", "to-etd"),
    ("to-ssh", "to-nossh"),
    ("to-env", "to-noenv"),
    ("to-file/", "to-none/"),
    ("to-folder/.", "to-nofold/."),
];

fn prepare(root: &Path) {
    let out = root.parent().unwrap();
    for folder in [".ssh", "x", "y"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    for file in [".ssh/config", ".env", "x/id_rsa"] {
        std::fs::write(root.join(file), "TOKEN=1\n").unwrap();
    }
    for (name, target) in [
        ("to-out", out.to_owned()),
        ("to-file", out.join("secret.txt")),
        ("to-none", out.join("secreu.txt")),
        ("to-folder", out.join("etc")),
        ("to-nofold", out.join("etd")),
        ("to-etc", "/etc".into()),
        ("to-etd", "/etd".into()),
        ("to-ssh", ".ssh".into()),
        ("to-nossh", "y/.ssh".into()),
        ("to-env", ".env".into()),
        ("to-noenv", "y/.env".into()),
    ] {
        symlink(target, root.join(name)).unwrap();
    }
}

/// A result without the path that was asked for, the folder that it names, and what differs from call
/// to call.
fn words(result: &str, path: &str) -> String {
    let mut envelope: Value = serde_json::from_str(result).unwrap();
    for volatile in ["call_id", "duration_ms"] {
        envelope["meta"][volatile].take();
    }
    // A file is reached from the folder that it is in, and what would be moved away is taken from it.
    let folder = path.rsplit_once('/').map_or(path, |(folder, _)| folder);
    let whole = format!("\\\"{folder}\\\"");
    let text = envelope.to_string().replace(path, "[path]").replace(&whole, "[folder]");
    ["\"", " --read\"", " --write\""].iter().fold(text, |text, option| {
        let pasted = format!(" allow {folder}{option}");
        text.replace(&pasted, &format!(" allow [folder]{option}"))
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_outside_or_kept_out_is_refused_in_the_same_words_there_or_not() {
    let mut ground = Ground::new(Way::AgentAlone, std::iter::empty()).await;
    let (root, state) = (ground.outside.root().to_owned(), ground.state_dir());
    let out = root.parent().unwrap().display().to_string();
    let granted = root.display().to_string();
    let written = |text: &str| {
        let state = state.display().to_string();
        text.replace("{out}", &out).replace("{root}", &granted).replace("{state}", &state)
    };
    // The absolute path is what an answer names.
    let named = |text: &str| orion_tests::plain_target(&root, text).display().to_string();
    let mut differing = Vec::new();
    let mut compared = 0;
    for call in FileCall::all() {
        for &(there, missing) in PAIRS.iter().chain(LINKS) {
            // What changes nothing has nothing to preview.
            for dry_run in [true, false].into_iter().skip(usize::from(!call.spec.has_effects)) {
                ground.outside.clear_root();
                prepare(&root);
                let mut said = Vec::new();
                for text in [written(there), written(missing)] {
                    let (code, result) = ground.ask(&call, &text, dry_run).await;
                    said.push((code, words(&result, &named(&text))));
                }
                // A link is taken or refused as itself, in whatever words, but alike.
                let alike = match (&said[0], &said[1]) {
                    ((one, _), (other, _)) if one.is_empty() && other.is_empty() => true,
                    (one, other) => one == other,
                };
                let refused = said.iter().all(|(code, _)| code == "PATH_NOT_ALLOWED");
                let may_take = LINKS.contains(&(there, missing));
                if !alike || !(refused || may_take) {
                    let call = call.name();
                    differing.push(format!("{call} {there} {missing} {dry_run}: {said:#?}"));
                }
                compared += 1;
            }
        }
    }
    assert_eq!(differing, Vec::<String>::new());
    super::lists::say(&format!("{compared} pairs of answers compared, all alike"));
    assert_eq!(ground.outside.changes(), Vec::<String>::new());
}
