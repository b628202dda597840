//! The first admin, and people after that: a secret that is good once, a password, a token.

use orion_domain::Role;
use orion_tests::{Cli, World};
use orion_wire::v1;
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_admin_signs_in_with_the_secret_once_and_then_with_the_password() {
    let world = World::unclaimed().await;
    let backend = format!("http://{}", world.people_address());
    let secret = world.data_dir().join("first-admin-secret");
    let kept = secret.with_file_name("kept-secret");
    std::fs::copy(&secret, &kept).unwrap();
    std::fs::write(world.folder().join("password.txt"), "correct horse battery\n").unwrap();
    std::fs::write(world.folder().join("wrong.txt"), "correct horse batterz\n").unwrap();
    let cli = |context: &str| Cli::new(&world.folder().join(context), world.folder());
    let with = |more: [&str; 4]| -> Vec<String> {
        ["--backend", &backend, "login"]
            .iter()
            .chain(&more)
            .map(|word| (*word).to_owned())
            .collect()
    };
    let run = async |context: &str, words: Vec<String>| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        cli(context).run(&words).await
    };
    std::fs::remove_file(world.folder().join("context.toml")).unwrap();

    let secret_word = format!("@{}", kept.display());
    let first = with(["--secret", &secret_word, "--password", "@password.txt"]);
    let signed_in = run("context.toml", first.clone()).await;
    assert_eq!(signed_in.code, 0, "{signed_in:?}");
    assert!(!secret.exists(), "the used secret is still there");
    let listed = cli("context.toml").run(&["devices", "list"]).await;
    assert_eq!(listed.code, 0, "{listed:?}");

    let again = run("again.toml", first).await;
    assert_eq!(again.code, 4, "{again:?}");
    let wrong = run("wrong.toml", with(["--user", "admin", "--password", "@wrong.txt"])).await;
    assert_eq!(wrong.code, 4, "{wrong:?}");
    let nobody = run("nobody.toml", with(["--user", "nobody", "--password", "@wrong.txt"])).await;
    assert_eq!((nobody.code, &nobody.stderr), (4, &wrong.stderr), "a name can be told apart");
    let right = run("right.toml", with(["--user", "admin", "--password", "@password.txt"])).await;
    assert_eq!(right.code, 0, "{right:?}");
    assert_eq!(cli("right.toml").run(&["audit", "verify"]).await.code, 0);
    assert_mode_is_private(&world.folder().join("right.toml"));
    assert!(!world.folder().join("wrong.toml").exists());
}

fn assert_mode_is_private(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "{}", path.display());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_is_in_a_log_or_in_the_record() {
    let world = World::new().await;
    let (kiosk, token) = world.device("kiosk").invite().await;
    let enrolling = kiosk.enroll(&token);
    assert_eq!(enrolling.exit_code().await, 0);
    kiosk.run().await;
    let bob = world.person("bob", Role::Operator).await;
    bob.call("kiosk", "get_datetime", json!({})).await;
    world.admin().auth().who_am_i(v1::WhoAmIRequest {}).await.unwrap();
    kiosk.stop().await;
    world.server().stop().await;

    let parsed: orion_wire::EnrollmentToken = token.parse().unwrap();
    let secrets = [world.admin().token(), token.as_str(), parsed.secret.expose()];
    let logs = [world.server().log(), kiosk.agent().log(), enrolling.log()];
    for secret in secrets {
        assert!(logs.iter().all(|log| !log.contains(secret)), "a secret is in a log");
        for entry in orion_tests::tree(&world.data_dir()).values().flatten() {
            assert!(!entry.contains(secret), "a secret is in the record");
        }
    }
}
