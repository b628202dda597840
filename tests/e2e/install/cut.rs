//! A download that was cut runs nothing.

use orion_domain::Digest;
use orion_tests::World;

use super::mirror::{Change, Mirror};
use super::person::{Person, serve};
use super::releases::program;
use super::{invite, line};

/// Every so many bytes, the script is cut. Near its end it is cut at every byte.
const STEP: usize = 61;
const END: usize = 120;
/// Every so many bytes, the agent is cut.
const AGENT_STEP: usize = 64 * 1024;
const AGENT_BYTES: usize = 10 * AGENT_STEP + 1;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_that_is_cut_anywhere_runs_nothing() {
    let mirror = Mirror::start().await;
    let world = World::configured(&format!("[downloads]\nurl = \"{}\"\n", mirror.url())).await;
    mirror.leads_to(&world.people_address());
    let file = world.folder().join("program");
    std::fs::write(&file, program(62, 64)).unwrap();
    serve(&world, &file).await;
    let script = mirror.get("/install.sh").await;
    let ann = Person::new();
    let requests = mirror.requests();
    let near_end = script.len() - END;
    for cut in (0..near_end).step_by(STEP).chain(near_end..script.len() - 1) {
        let path = ann.home().join("cut.sh");
        std::fs::write(&path, &script[..cut]).unwrap();
        ann.owns(&path);
        let ran = ann.pastes("sh -s -- orion1.x --yes <cut.sh").await;
        assert_eq!(ran.stdout, "", "cut at {cut}: {ran:?}");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(ann.tree().len(), 0, "cut at {cut}");
    }
    assert_eq!((mirror.requests(), ann.systemctl_calls()), (requests, Vec::new()));
    // The whole script does run, as far as its agent lets it.
    let path = ann.home().join("cut.sh");
    std::fs::write(&path, &script).unwrap();
    ann.owns(&path);
    let ran = ann.pastes("sh -s -- orion1.x --yes <cut.sh").await;
    assert!(ran.stderr.contains("does not run on this system"), "{ran:?}");
    assert!(mirror.requests() > requests);
    // A pinned line refuses a script that was cut before a shell sees it.
    mirror.changes(Change::Cut("install.sh", script.len() / 2));
    let invited = invite(&world, &["--name", "laptop"]).await;
    for with in ["curl", "wget"] {
        let refused = ann.pastes(line(&invited, with)).await;
        assert_ne!(refused.code, 0, "{refused:?}");
        assert_eq!(refused.stdout, "", "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_is_cut_at_every_64_kib_is_not_run() {
    let mirror = Mirror::start().await;
    let world = World::configured(&format!("[downloads]\nurl = \"{}\"\n", mirror.url())).await;
    mirror.leads_to(&world.people_address());
    let file = world.folder().join("program");
    let bytes = program(62, AGENT_BYTES);
    std::fs::write(&file, &bytes).unwrap();
    serve(&world, &file).await;
    let invited = invite(&world, &["--name", "laptop", "--path", "~/files"]).await;
    let ann = Person::new();
    for cut in (0..AGENT_BYTES).step_by(AGENT_STEP) {
        mirror.changes(Change::Cut("orion-agent", cut));
        let refused = ann.pastes(line(&invited, "curl")).await;
        assert_eq!(refused.code, 1, "cut at {cut}: {refused:?}");
        assert!(refused.stderr.contains("could not be downloaded whole"), "{refused:?}");
        // A proxy that hides that it cut is found by the digest.
        mirror.changes(Change::Replace("orion-agent", bytes[..cut].to_vec()));
        let refused = ann.pastes(line(&invited, "wget")).await;
        assert_eq!(refused.code, 1, "cut at {cut}: {refused:?}");
        let found = Digest::of(&bytes[..cut]).to_string();
        assert!(refused.stderr.contains(&found) || refused.stderr.contains("whole"), "{refused:?}");
        assert_eq!(ann.tree().len(), 0, "cut at {cut}");
    }
    assert_eq!(ann.systemctl_calls(), Vec::<String>::new());
}
