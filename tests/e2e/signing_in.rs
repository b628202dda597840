//! Getting in: a secret that is good once, a password, and a way back for who is locked out.

use orion_domain::{ErrorCode, Role};
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
async fn wrong_passwords_are_limited_for_the_account_and_not_for_others() {
    let world = World::new().await;
    for user in ["bob", "ann"] {
        let request = v1::CreateUserRequest {
            user: user.to_owned(),
            role: "viewer".to_owned(),
            password: "correct horse battery".to_owned(),
        };
        world.admin().auth().create_user(request).await.unwrap();
    }
    let login = |user: &str, password: &str| {
        let nobody = world.admin().with_token("");
        let request = v1::LoginRequest { user: user.to_owned(), password: password.to_owned() };
        tokio::spawn(async move {
            nobody.auth().login(request).await.map(drop).map_err(|status| {
                let error = orion_wire::tool_error_from(&status);
                (status.code(), error.map(|error| error.code))
            })
        })
    };
    let wrong = Err((tonic::Code::Unauthenticated, None));
    let limited = Err((tonic::Code::ResourceExhausted, Some(ErrorCode::RateLimited)));
    for user in ["bob", "never-was"] {
        // All at once: what is under way counts.
        let tries: Vec<_> = (0..12).map(|_| login(user, "wrong")).collect();
        let mut answers = Vec::new();
        for answer in tries {
            answers.push(answer.await.unwrap());
        }
        answers.sort_by_key(|answer| *answer == limited);
        assert_eq!(answers, [vec![wrong; 10], vec![limited; 2]].concat(), "{user}");
        assert_eq!(login(user, "correct horse battery").await.unwrap(), limited, "{user}");
    }
    assert_eq!(login("ann", "correct horse battery").await.unwrap(), Ok(()));
    // Who is signed in stays so, and an admin's word is no guess.
    world.admin().auth().who_am_i(v1::WhoAmIRequest {}).await.unwrap();
}

/// Runs `orion-server admin reset` and gives where the secret is.
async fn reset(world: &World, user: &str) -> std::path::PathBuf {
    let data_dir = world.data_dir().display().to_string();
    let words = ["admin", "reset", "--user", user, "--data-dir", &data_dir];
    let made = world.cli().program("orion-server", &words, b"").await;
    assert_eq!(made.code, 0, "{made:?}");
    let file = world.data_dir().join("admin-reset-secret");
    assert!(made.stdout.contains(&format!("--secret @{}", file.display())), "{made:?}");
    assert_mode_is_private(&file);
    file
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_admin_who_is_locked_out_gets_back_in_from_the_backends_own_machine() {
    let world = World::new().await;
    let backend = format!("http://{}", world.people_address());
    std::fs::write(world.folder().join("password.txt"), "correct horse battery\n").unwrap();
    let cli = |context: &str| Cli::new(&world.folder().join(context), world.folder());
    let login = async |context: &str, more: &[&str]| {
        cli(context).run(&[&["--backend", &backend, "login"], more].concat()).await
    };

    // While it does not run: an account that was never there becomes an admin. Where it will listen is said by its
    // configuration.
    world.server().stop().await;
    let config = world.folder().join("own.toml");
    std::fs::write(&config, "[people]\nlisten = \"127.0.0.1:19443\"\ntls = \"own\"\n").unwrap();
    let data_dir = world.data_dir().display().to_string();
    let words = ["admin", "reset", "--data-dir", &data_dir, "--config", config.to_str().unwrap()];
    let made = world.cli().program("orion-server", &words, b"").await;
    let line = format!(
        "orion login --backend https://127.0.0.1:19443 --ca {data_dir}/people-ca.pem --secret @"
    );
    assert!(made.stdout.starts_with(&line), "{made:?}");
    let file = reset(&world, "ann").await;
    let secret = format!("@{}", file.display());
    world.restart_server().await;
    let ann = login("ann.toml", &["--secret", &secret, "--password", "@password.txt"]).await;
    assert_eq!(ann.code, 0, "{ann:?}");
    assert!(ann.stderr.contains("as ann, admin"), "{ann:?}");

    // While it runs: the account is the first admin's, whose session ends with the new password.
    let file = reset(&world, "admin").await;
    let kept = world.folder().join("kept");
    std::fs::copy(&file, &kept).unwrap();
    let kept = format!("@{}", kept.display());
    let other = login("other.toml", &["--secret", &kept, "--user", "bob"]).await;
    assert_eq!(other.code, 4, "{other:?}");
    let back = login("back.toml", &["--secret", &kept, "--password", "@password.txt"]).await;
    assert_eq!(back.code, 0, "{back:?}");
    assert!(!file.exists(), "the used secret is still there");
    assert_eq!(cli("back.toml").run(&["users", "list"]).await.code, 0);
    let before = world.admin().auth().who_am_i(v1::WhoAmIRequest {}).await.unwrap_err();
    assert_eq!(before.code(), tonic::Code::Unauthenticated);
    let again = login("again.toml", &["--secret", &kept, "--password", "@password.txt"]).await;
    assert_eq!(again.code, 4, "{again:?}");

    let listed = cli("ann.toml").run(&["audit", "list", "-o", "json"]).await.json();
    let kinds = listed.as_array().unwrap().iter().rev().filter_map(|row| row["kind"].as_str());
    let about: Vec<_> = kinds.filter(|kind| kind.starts_with("admin.")).collect();
    let twice = ["admin.reset_made", "admin.reset_used"];
    assert_eq!(about, [twice, twice].concat());
    let text = std::fs::read_to_string(world.folder().join("kept")).unwrap();
    assert!(!world.server().log().contains(&text), "a secret is in a log");

    let nowhere = world.folder().join("nowhere").display().to_string();
    let words = ["admin", "reset", "--data-dir", &nowhere];
    let refused = world.cli().program("orion-server", &words, b"").await;
    assert_eq!(refused.code, 1, "{refused:?}");
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
