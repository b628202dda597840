//! Commands, options and values that do not exist, and files that are not what they should be.

use orion_tests::World;

use super::Mistakes;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_line_that_is_wrong_says_what_was_expected() {
    let world = World::new().await;
    let _kiosk = world.device("kiosk").start().await;
    let mut mistakes = Mistakes::new(&world);
    mistakes
        .make(&[
            ("orion", 2),
            ("orion divices list", 2),
            ("orion device list", 2),
            ("orion devices lst", 2),
            ("orion devices", 2),
            ("orion devices list --ouput json", 2),
            ("orion devices list -o jsn", 2),
            ("orion devices list -o csv", 2),
            ("orion devices list --timeout soon", 2),
            ("orion devices list --timeout=-5s", 2),
            ("orion devices list all", 2),
            ("orion devices list --quiet --verbose", 2),
            ("orion devices show", 2),
            ("orion devices invite --path files", 2),
            ("orion devices invite --profile root", 2),
            ("orion devices invite --uses 0", 2),
            ("orion devices invite --uses many", 2),
            ("orion devices invite --valid forever", 2),
            ("orion devices mode kiosk reckless", 2),
            ("orion approvals deny", 2),
            ("orion approvals approve 0199b2c4-7f3e-7c11 --as-rule soon", 2),
            ("orion approvals approve 0199b2c4-7f3e-7c11 --for-chat --as-rule 3d", 2),
            ("orion policy rollback zero", 2),
            ("orion policy rollback 0", 2),
            ("orion users create bob", 2),
            ("orion users create bob --role boss", 2),
            ("orion tokens create", 2),
            ("orion tokens create --name ci --scope everything", 2),
            ("orion audit list --limit 0", 2),
            ("orion audit list --since yesterday", 2),
            ("orion audit list --since 1d --until 2d", 2),
            ("orion audit show first", 2),
            ("orion completion tcsh", 2),
            ("orion call kiosk get_datetime --wait --background", 2),
            ("orion call kiosk get_datetime --queue=soon", 2),
            ("orion stop", 2),
            ("orion ask", 2),
            ("orion plan", 2),
            ("orion cp notes.txt", 2),
        ])
        .await;
    insta::assert_snapshot!("command_line", mistakes.done());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_not_what_it_should_be_is_named_with_what_is_wrong() {
    let world = World::new().await;
    let _kiosk = world.device("kiosk").start().await;
    let write = |name: &str, text: &[u8]| std::fs::write(world.folder().join(name), text).unwrap();
    write("notes.txt", b"Milk\n");
    write("picture.png", &[0x89, b'P', b'N', b'G', 0xff, 0xfe]);
    write("tabs.yaml", b"version: 1\ndevices:\n\tkiosk:\n\t\tprofile: reader\n");
    write("typo.yaml", b"version: 1\ndevises:\n  kiosk: {profile: reader}\n");
    write("profile.yaml", b"version: 1\ndevices:\n  kiosk: {profile: raeder}\n");
    write("grants.yaml", b"profil: reader\n");
    write("access.yaml", b"paths:\n  - {path: /srv, access: [raed]}\n");
    write("plan.yaml", b"steps:\n  - {device: kiosk, tol: get_datetime}\n");
    write("broken.toml", b"backend = http://127.0.0.1:7080\n");
    write("unknown.toml", b"backend = \"http://127.0.0.1:7080\"\npasword = \"x\"\n");
    std::fs::create_dir(world.folder().join("folder")).unwrap();
    let mut mistakes = Mistakes::new(&world);
    mistakes
        .make(&[
            ("orion policy check missing.yaml", 3),
            ("orion policy check folder", 1),
            ("orion policy check picture.png", 1),
            ("orion policy check notes.txt", 1),
            ("orion policy check tabs.yaml --offline", 1),
            ("orion policy check typo.yaml --offline", 1),
            ("orion policy check profile.yaml", 1),
            ("orion policy apply typo.yaml --yes", 1),
            ("orion policy test missing.yaml", 3),
            ("orion devices invite --grants @missing.yaml", 3),
            ("orion devices invite --grants @grants.yaml", 2),
            ("orion devices permissions set kiosk access.yaml", 2),
            ("orion devices permissions set kiosk missing.yaml", 3),
            ("orion plan run missing.yaml", 3),
            ("orion plan run notes.txt", 2),
            ("orion plan run plan.yaml", 2),
            ("orion call kiosk write_file path=a.txt content=@missing.txt", 3),
            ("orion call kiosk write_file path=a.txt content=@folder", 1),
            ("orion call kiosk write_file path=a.txt content=@picture.png", 1),
            ("orion call kiosk read_file --json @missing.json", 3),
            ("orion cp missing.txt kiosk:", 3),
            ("orion cp folder kiosk:", 2),
            ("orion audit verify --file missing.jsonl", 3),
            ("orion audit verify --file notes.txt", 1),
            ("orion audit export --file nowhere/audit.jsonl", 1),
            ("orion --context broken.toml devices list", 2),
            ("orion --context unknown.toml devices list", 2),
            ("orion --context folder devices list", 1),
            ("orion --context missing.toml devices list", 3),
            ("orion --context work devices list", 3),
            ("orion context use work", 3),
            ("orion context remove work", 3),
        ])
        .await;
    insta::assert_snapshot!("files", mistakes.done());
}
