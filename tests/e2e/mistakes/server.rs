//! The backend's configuration and its files.

use orion_tests::World;

use super::Mistakes;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backend_that_cannot_start_says_what_to_change() {
    let world = World::new().await;
    let file = |name: &str, text: &str| std::fs::write(world.folder().join(name), text).unwrap();
    file("notes.txt", "Milk\n");
    file("broken.toml", "[people\nlisten = 7080\n");
    file("unknown.toml", "[people]\nlisen = \"127.0.0.1:7080\"\n");
    file("section.toml", "[poeple]\nlisten = \"127.0.0.1:7080\"\n");
    file("type.toml", "[people]\nlisten = 7080\n");
    file("address.toml", "[people]\nlisten = \"localhost\"\n");
    file("open.toml", "[people]\nlisten = \"0.0.0.0:7080\"\n");
    file("half.toml", "[people]\ncertificate = \"people.pem\"\n");
    file(
        "missing-certificate.toml",
        "[people]\ncertificate = \"people.pem\"\nkey = \"people.key\"\n",
    );
    file("no-certificate.toml", "[people]\ncertificate = \"notes.txt\"\nkey = \"notes.txt\"\n");
    file("model.toml", "[[models]]\nname = \"m\"\nkind = \"opnai\"\n");
    file("model-url.toml", "[[models]]\nname = \"m\"\nkind = \"openai\"\nmodel = \"x\"\n");
    file(
        "model-key.toml",
        "[[models]]\nname = \"m\"\nkind = \"openai\"\nurl = \"http://127.0.0.1:9/v1\"\nmodel = \"x\"\napi_key_file = \"missing.key\"\n",
    );
    file("negative.toml", "[calls]\ntimeout_seconds = -1\n");
    let taken = format!(
        "[people]\nlisten = \"{}\"\n[devices]\nlisten = \"127.0.0.1:0\"\n",
        world.people_address()
    );
    file("taken.toml", &taken);
    file("free.toml", "[people]\nlisten = \"127.0.0.1:0\"\n[devices]\nlisten = \"127.0.0.1:0\"\n");
    let data = world.data_dir().display().to_string();
    std::fs::create_dir(world.folder().join("full")).unwrap();
    std::fs::write(world.folder().join("full/notes.txt"), "Milk").unwrap();
    let mut mistakes = Mistakes::new(&world);
    mistakes
        .make(&[
            ("orion-server", 2),
            ("orion-server rnu", 2),
            ("orion-server config", 2),
            ("orion-server config check --config missing.toml", 1),
            ("orion-server config check --config broken.toml", 1),
            ("orion-server config check --config unknown.toml", 1),
            ("orion-server config check --config section.toml", 1),
            ("orion-server config check --config type.toml", 1),
            ("orion-server config check --config address.toml", 1),
            ("orion-server config check --config open.toml", 1),
            ("orion-server config check --config half.toml", 1),
            ("orion-server config check --config missing-certificate.toml", 1),
            ("orion-server config check --config no-certificate.toml", 1),
            ("orion-server config check --config model.toml", 1),
            ("orion-server config check --config model-url.toml", 1),
            ("orion-server config check --config model-key.toml", 1),
            ("orion-server config check --config negative.toml", 1),
            ("orion-server run --config missing.toml --data-dir data", 1),
            ("orion-server run --config unknown.toml --data-dir data", 1),
            ("orion-server run --config taken.toml --data-dir data", 1),
            ("orion-server run --config free.toml --data-dir notes.txt", 1),
            (&format!("orion-server run --config free.toml --data-dir {data}"), 1),
            ("orion-server check --data-dir nowhere", 1),
            ("orion-server audit verify --data-dir nowhere", 1),
            ("orion-server audit key --data-dir nowhere", 1),
            ("orion-server admin reset --data-dir nowhere", 1),
            ("orion-server admin reset --user 'Ann B'", 2),
            ("orion-server backup --data-dir nowhere copy", 1),
            (&format!("orion-server backup --data-dir {data} full"), 1),
            ("orion-server restore --data-dir new nowhere", 1),
            ("orion-server restore --data-dir new full", 1),
            ("orion-server ca list --data-dir nowhere", 1),
            (&format!("orion-server audit reset-signing --reason x --data-dir {data}"), 1),
        ])
        .await;
    insta::assert_snapshot!("server", mistakes.done());
}
