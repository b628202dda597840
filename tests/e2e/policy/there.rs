//! What a device finds beside what its policy names: told with the acknowledgement, shown to people.

use orion_tests::{World, eventually};
use serde_json::{Value, json};

use super::{applied, fine, write};

const CEILING: &str = "\
[ceiling]
profile = \"operator\"
paths = [\"{files}\"]
apps = [\"editor\"]
[apps]
editor = \"/no/such/program\"
";

const NAMES: &str = "\
version: 1
devices:
  kiosk:
    profile: operator
    paths: [\"{files}\", \"{files}/way\", \"{files}/Work\", \"{files}/work\", \"/etc/nginx\"]
    apps: [editor]
rules:
  - { id: ask, tools: [delete_file], paths: [\"{files}/way/*.txt\"], action: ask }
";

const CORRECTED: &str = "\
version: 1
devices:
  kiosk:
    profile: operator
    paths: [\"{files}\", \"{files}/real\", \"{files}/work\"]
";

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_on_the_device_as_the_policy_names_it_is_told_and_is_gone_once_corrected() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").ceiling(CEILING).start().await;
    for folder in ["real", "work"] {
        std::fs::create_dir_all(kiosk.files().join(folder)).unwrap();
    }
    std::os::unix::fs::symlink("real", kiosk.files().join("way")).unwrap();
    let names = write(&world, "names.yaml", &kiosk, NAMES);
    let checked = fine(world.cli().run(&["policy", "check", &names]).await);
    assert!(checked.stdout.contains("warning[case]"), "{checked:?}");
    assert!(checked.stdout.contains("are two folders there"), "{checked:?}");
    applied(&world, &names).await;
    kiosk.ready().await;

    let shown =
        async || fine(world.cli().run(&["devices", "show", "kiosk", "-o", "json"]).await).json();
    let warnings = async |wanted: usize| {
        let warnings = async || shown().await["policy_warnings"].as_array().cloned();
        eventually("warnings", async || warnings().await.filter(|it| it.len() == wanted)).await
    };
    let told = warnings(4).await;
    let files = kiosk.files().display().to_string();
    let short = |it: &Value| it.as_str().unwrap().split(". ").next().unwrap().replace(&files, "");
    assert_eq!(
        told.iter().map(short).collect::<Vec<_>>(),
        [
            "`/way` is behind a link there and leads to `/real`",
            "`/Work` is written `/work` there",
            "`/way/*.txt` is behind a link there and leads to `/real`",
            "`editor` is not installed there",
        ]
    );
    let page = fine(world.cli().run(&["devices", "show", "kiosk"]).await);
    assert!(page.stdout.contains("found there"), "{page:?}");
    let policy = fine(world.cli().run(&["policy", "show"]).await);
    assert!(
        policy.stderr.contains("warning: kiosk: `editor` is not installed there"),
        "{policy:?}"
    );
    let review = fine(world.cli().run(&["devices", "review", "kiosk", "-o", "json"]).await).json();
    let lint = |entry: &str| {
        let entries = review["grants"].as_array().unwrap();
        let found = entries.iter().find(|it| it["entry"].as_str().unwrap().starts_with(entry));
        found.unwrap()["lint"].clone()
    };
    assert_eq!(lint("editor"), json!([told[3]]));
    assert_eq!(lint(&kiosk.path("way")), json!([told[0]]));

    applied(&world, &write(&world, "corrected.yaml", &kiosk, CORRECTED)).await;
    kiosk.ready().await;
    assert_eq!(warnings(0).await, [json!(null); 0]);
}
