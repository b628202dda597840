//! The people who type codes: those who guess are locked out, and of two one decides.

use orion_domain::Role;
use orion_tests::World;
use orion_wire::v1;
use serde_json::Value;

use super::ground::{ASKS, Raw, Shown, at_terminal, audited};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_types_wrong_codes_is_locked_out_of_the_right_one_and_nobody_else_is() {
    let world = World::new().await;
    let raw = Raw::open(&world).await;
    let words = raw.words(&world);
    // What is no code at all is no guess.
    let typo = world.cli().run(&["devices", "enroll", "HELLO", "--words", &words, "--yes"]).await;
    assert_eq!(typo.code, 2, "{typo:?}");
    for n in 0..5 {
        // No code has one letter only, but for one in 20⁷.
        let wrong =
            world.cli().run(&["devices", "enroll", "ZZZZ-ZZZZ", "--words", &words, "--yes"]).await;
        assert_eq!(wrong.code, 3, "{n}: {wrong:?}");
        assert!(wrong.stderr.contains("No device that asks to be enrolled shows this code"));
        assert!(!wrong.shown().contains("kiosk"), "nothing is shown of others: {wrong:?}");
    }
    let code = raw.asked.code.clone();
    for line in [&["--words", &words, "--yes"][..], &["--refuse"]] {
        let locked = world.cli().run(&[&["devices", "enroll", &code], line].concat()).await;
        assert_ne!(locked.code, 0, "{locked:?}");
        assert!(locked.stderr.contains("Too many wrong codes were typed"), "{locked:?}");
        assert!(locked.stderr.contains("wait for 5 min"), "{locked:?}");
    }
    assert_eq!(audited(&world, ["enrollment.wrong_code", "enrollment.confirmed"]).await, [5, 0]);

    // Another admin is not held back, and who is no admin does not get as far as a code.
    let bob = world.person("bob", Role::Operator).await;
    let request = v1::FindEnrollmentRequest { code };
    let refused = bob.devices().find_enrollment(request).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::PermissionDenied);
    let ann = world.person("ann", Role::Admin).await;
    raw.confirm(&ann, &words).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_admins_at_once_one_decides_and_the_other_learns_who() {
    let world = World::new().await;
    let ann = world.person("ann", Role::Admin).await;
    for round in 0..4 {
        let raw = Raw::open(&world).await;
        let words = raw.words(&world);
        let refuse = async |by: &orion_tests::Client| {
            let request = v1::RefuseEnrollmentRequest { code: raw.asked.code.clone() };
            by.devices().refuse_enrollment(request).await.map(drop)
        };
        let (one, other) = if round % 2 == 0 {
            let confirm = async |by| raw.confirm(by, &words).await.map(drop);
            tokio::join!(confirm(world.admin()), confirm(&ann))
        } else {
            tokio::join!(async { raw.confirm(world.admin(), &words).await.map(drop) }, refuse(&ann))
        };
        let results = [one, other];
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{results:?}");
        let error = results.iter().find_map(|result| result.as_ref().err()).unwrap();
        assert_eq!(error.code(), tonic::Code::FailedPrecondition, "{error}");
        assert!(error.message().contains("This request was "), "{error}");
    }
    let [confirmed, refused] =
        audited(&world, ["enrollment.confirmed", "enrollment.refused"]).await;
    assert_eq!(confirmed + refused, 4);
    assert!(confirmed >= 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_name_of_another_device_is_not_given_to_a_second_one() {
    let world = World::new().await;
    world.device("kiosk").enroll().await;
    let raw = Raw::open(&world).await;
    let words = raw.words(&world);
    let taken = raw.confirm(world.admin(), &words).await.unwrap_err();
    assert_eq!(taken.code(), tonic::Code::FailedPrecondition, "{taken}");
    assert!(taken.message().contains("There is a device kiosk already"), "{taken}");
    let code = raw.asked.code.clone();
    let line = ["devices", "enroll", &code, "--name", "kiosk-2", "--words", &words, "--yes"];
    let confirmed = world.cli().run(&line).await;
    assert_eq!(confirmed.code, 0, "{confirmed:?}");
    assert!(confirmed.stderr.contains("kiosk-2"), "{confirmed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_confirmation_can_be_withdrawn_until_the_device_has_used_it() {
    let world = World::new().await;
    let (kiosk, _) = world.device("kiosk").invite().await;
    let (mut agent, Shown { code, words }) =
        at_terminal(&world.device_address(), &kiosk, &[]).await;
    let confirm = ["devices", "enroll", &code, "--words", &words, "--yes", "-o", "json"];
    let confirmed = world.cli().run(&confirm).await;
    assert_eq!(confirmed.code, 0, "{confirmed:?}");
    let confirmed: Value = serde_json::from_str(&confirmed.stdout).unwrap();
    let id = confirmed["request_id"].as_str().unwrap();

    let list = world.cli().run(&["devices", "invites", "list", "-o", "json"]).await;
    let list: Vec<Value> = serde_json::from_str(&list.stdout).unwrap();
    let this = list.iter().find(|invite| invite["invite_id"] == *id).unwrap();
    assert_eq!((&this["confirmed_by_code"], &this["uses_left"]), (&true.into(), &1.into()));
    let withdrawn = world.cli().run(&["devices", "invites", "revoke", id]).await;
    assert_eq!(withdrawn.code, 0, "{withdrawn:?}");
    agent.sees(ASKS).await;
    agent.line(confirmed["answer"].as_str().unwrap()).await;
    agent.sees("An admin withdrew this token").await;
    assert_eq!(agent.ended().await, 4, "{}", agent.rest());
    assert!(!kiosk.state_dir().join("identity.toml").exists());
}
