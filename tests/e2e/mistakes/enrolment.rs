//! A device's owner: tokens that are no good, folders that are not there, and a file with mistakes.

use orion_tests::World;
use orion_wire::{EnrollmentToken, v1};

use super::Mistakes;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_cannot_enrol_or_run_says_what_it_needs() {
    let world = World::new().await;
    let (kiosk, spent) = world.device("kiosk").invite().await;
    assert_eq!(kiosk.enroll(&spent).exit_code().await, 0);
    let (_, fresh) = world.device("other").invite().await;
    let token: EnrollmentToken = fresh.parse().unwrap();
    let unreachable =
        EnrollmentToken { addresses: vec!["127.0.0.1:1".to_owned()], ..token.clone() };
    let unreachable = unreachable.to_string();
    let people = EnrollmentToken { addresses: vec![world.people_address()], ..token };
    let people = people.to_string();
    let request = v1::InviteDeviceRequest { valid_seconds: 1, ..Default::default() };
    let expired = world.admin().devices().invite_device(request).await.unwrap().into_inner().token;
    let file = |name: &str, text: &str| std::fs::write(world.folder().join(name), text).unwrap();
    file("broken.toml", "[ceiling\nprofile = \"reader\"\n");
    file("unknown.toml", "[ceiling]\nprofil = \"reader\"\n");
    file("wrong.toml", "[ceiling]\nprofile = \"raeder\"\n");
    file("type.toml", "[ceiling]\npaths = \"/srv\"\n");
    file("sandbox.toml", "[sandbox]\nkind = \"chroot\"\n");
    file("notes.txt", "Milk\n");
    let mut mistakes = Mistakes::new(&world);
    mistakes.replacing(&fresh[..fresh.len() / 2], "[half]");
    mistakes.replacing(&spent, "[spent]");
    mistakes.replacing(&unreachable, "[unreachable]");
    mistakes.replacing(&people, "[people]");
    mistakes.replacing(&expired, "[expired]");
    // The token for one second is expired by the time it is used.
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    let half = fresh[..fresh.len() / 2].to_owned();
    mistakes
        .make(&[
            ("orion-agent", 2),
            ("orion-agent rnu", 2),
            ("orion-agent run", 4),
            ("orion-agent status", 4),
            ("orion-agent pause", 4),
            ("orion-agent resume", 4),
            ("orion-agent enroll", 4),
            ("orion-agent enroll hunter2", 4),
            ("orion-agent enroll orion1.x", 4),
            ("orion-agent enroll @missing.txt", 1),
            ("orion-agent enroll @notes.txt", 4),
            ("orion-agent enroll -", 4),
            (&format!("orion-agent enroll {half}"), 4),
            (&format!("orion-agent enroll {spent}"), 4),
            (&format!("orion-agent enroll {expired}"), 4),
            (&format!("orion-agent enroll {unreachable} --timeout 1"), 4),
            (&format!("orion-agent enroll {people} --timeout 1"), 4),
            (&format!("orion-agent enroll {spent} --name 'My Laptop'"), 2),
            (&format!("orion-agent enroll {spent} --timeout 0"), 2),
            (&format!("orion-agent enroll {spent} --timeout soon"), 2),
            ("orion-agent allow", 2),
            ("orion-agent allow nowhere", 1),
            ("orion-agent allow ~/nowhere --read", 1),
            ("orion-agent allow notes.txt --execute", 2),
            ("orion-agent deny", 2),
            ("orion-agent ceiling", 2),
            ("orion-agent --config missing.toml ceiling check", 1),
            ("orion-agent --config broken.toml ceiling check", 1),
            ("orion-agent --config unknown.toml ceiling check", 1),
            ("orion-agent --config wrong.toml ceiling check", 1),
            ("orion-agent --config type.toml ceiling check", 1),
            ("orion-agent --config sandbox.toml ceiling check", 1),
            ("orion-agent --config broken.toml run", 1),
            ("orion-agent --state-dir notes.txt status", 1),
            ("orion-agent audit verify", 1),
        ])
        .await;
    insta::assert_snapshot!("enrolment", mistakes.done());
}
