//! Invitations that can still be used are listed, and withdrawn.

use orion_domain::Role;
use orion_tests::World;
use orion_wire::EnrollmentToken;
use serde_json::Value;

async fn listed(world: &World) -> Vec<Value> {
    let list = world.cli().run(&["devices", "invites", "list", "-o", "json"]).await;
    assert_eq!(list.code, 0, "{list:?}");
    serde_json::from_str(&list.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_withdrawn_invitation_lets_no_device_in_and_those_that_used_it_stay() {
    let world = World::new().await;
    let made = ["devices", "invite", "--uses", "3", "--preapproved", "--label", "env=lab"];
    let words = [&made[..], &["--profile", "reader", "-o", "json"]].concat();
    let made = world.cli().run(&words).await;
    let made: Value = serde_json::from_str(&made.stdout).unwrap();
    let (id, token) = (made["invite_id"].as_str().unwrap(), made["token"].as_str().unwrap());
    let (kiosk, _) = world.device("kiosk").invite().await;
    let first = kiosk.enroll(token);
    assert_eq!(first.exit_code().await, 0, "{}", first.log());

    let open = listed(&world).await;
    let this = open.iter().find(|invite| invite["invite_id"] == *id).unwrap();
    assert_eq!((&this["uses_left"], &this["created_by"]), (&2.into(), &"admin".into()));
    assert_eq!(
        (&this["labels"]["env"], &this["grants"]["profile"]),
        (&"lab".into(), &"reader".into())
    );
    let secret = token.parse::<EnrollmentToken>().unwrap().secret;
    assert!(!format!("{open:?}").contains(secret.expose()), "a list shows a secret");
    let table = world.cli().run(&["devices", "invites", "list"]).await.stdout;
    let row = table.lines().find(|line| line.starts_with(&id[..18])).unwrap();
    assert!(row.contains("as it suggests") && row.contains("at once"), "{table}");
    let ann = world.person("ann", Role::Operator).await;
    let ann = world.cli_of("ann", &ann);
    for refused in [&["list"][..], &["revoke", id]] {
        let refused = ann.run(&[&["devices", "invites"], refused].concat()).await;
        assert_eq!(refused.code, 5, "{refused:?}");
    }

    let withdrawn = world.cli().run(&["devices", "invites", "revoke", &id[..30]]).await;
    assert_eq!(withdrawn.code, 0, "{withdrawn:?}");
    assert!(
        withdrawn.stderr.contains("lets no device in any more; 2 uses were left"),
        "{withdrawn:?}"
    );
    assert!(withdrawn.stderr.contains("It had let in: kiosk."), "{withdrawn:?}");
    assert!(!listed(&world).await.iter().any(|invite| invite["invite_id"] == *id));
    let (other, _) = world.device("other").invite().await;
    let refused = other.enroll(token);
    assert_eq!(refused.exit_code().await, 4);
    assert!(refused.log().contains("An admin withdrew this token"), "{}", refused.log());
    assert!(!other.state_dir().join("identity.toml").exists());
    kiosk.run().await;

    let guess = world.cli().run(&["devices", "invites", "revoke", "0"]).await;
    assert_eq!(guess.code, 2, "{guess:?}");
    assert!(guess.stderr.contains("8 characters at least"), "{guess:?}");
    let again = world.cli().run(&["devices", "invites", "revoke", id]).await;
    assert_eq!(again.code, 3, "{again:?}");
    assert!(again.stderr.contains("No invitation that can still be used has that id"), "{again:?}");
}
