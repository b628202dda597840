//! Accounts, passwords, sessions and roles.

use orion_domain::Role;
use orion_tests::{Cli, World};

use super::Mistakes;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_account_lacks_is_said_with_who_can_give_it() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("notes.txt", "Milk\n");
    let bob = world.person("bob", Role::Viewer).await;
    let _carl = world.person("carl", Role::Operator).await;
    let file = |name: &str, text: &str| std::fs::write(world.folder().join(name), text).unwrap();
    file("short.txt", "hunter2");
    file("wrong.txt", "not the right one");
    let delete = ["users", "delete", "carl", "--yes"];
    assert_eq!(world.cli().run(&delete).await.code, 0);
    let mut mistakes = Mistakes::new(&world);
    mistakes
        .make(&[
            ("orion users create ann --role viewer", 2),
            ("orion users create 'Ann B' --role viewer --no-password", 2),
            ("orion users create ann --role viewer --password hunter2", 2),
            ("orion users create ann --role viewer --password @short.txt", 2),
            ("orion users create ann --role viewer --password @missing.txt", 3),
            ("orion users create bob --role viewer --no-password", 9),
            ("orion users create carl --role viewer --no-password", 9),
            ("orion users role nobody viewer", 3),
            ("orion users role admin viewer", 9),
            ("orion users disable admin", 9),
            ("orion users delete admin --yes", 9),
            ("orion users delete bob", 2),
            ("orion users delete nobody --yes", 3),
            ("orion users enable carl", 3),
            ("orion users password bob", 2),
            ("orion tokens create --name ci --scope read --expires 2y", 2),
            ("orion tokens create --name ci --scope read --expires 400d", 2),
            ("orion tokens revoke nothing", 3),
            ("orion login --user admin --password @wrong.txt", 4),
            ("orion login --secret guessed", 4),
            ("orion login --secret @missing", 3),
            ("orion login", 2),
            ("orion login --user ann", 2),
        ])
        .await;
    mistakes.cli = world.cli_of("bob", &bob);
    mistakes
        .make(&[
            ("orion devices invite", 5),
            ("orion users list", 5),
            ("orion audit list", 5),
            ("orion policy show", 5),
            ("orion approvals list", 5),
            ("orion call kiosk create_directory path=Test", 5),
        ])
        .await;
    mistakes.cli = world.cli_of("stranger", &world.admin().with_token("orion_wrong"));
    mistakes.make(&[("orion devices list", 4), ("orion status", 4), ("orion whoami", 4)]).await;
    let path = world.folder().join("signed-out.toml");
    std::fs::write(&path, format!("backend = \"http://{}\"\n", world.people_address())).unwrap();
    mistakes.cli = Cli::new(&path, world.folder());
    mistakes.make(&[("orion devices list", 4), ("orion status", 4), ("orion whoami", 4)]).await;
    insta::assert_snapshot!("people", mistakes.done());
}
