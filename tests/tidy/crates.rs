//! Checks each crate's allowed dependencies.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use crate::markdown::{Page, names};
use crate::tree::{files, read};

/// Each crate with the project's crates that it may depend on. Dependencies run one way.
const MAY: &[(&str, &str, &[&str])] = &[
    ("orion-domain", "shared/domain", &[]),
    ("orion-catalog", "shared/catalog", &["orion-commands", "orion-domain"]),
    ("orion-policy", "shared/policy", &["orion-catalog", "orion-commands", "orion-domain"]),
    ("orion-audit", "shared/audit", &["orion-domain"]),
    ("orion-planner", "shared/planner", &["orion-catalog", "orion-domain"]),
    ("orion-commands", "shared/commands", &["orion-domain"]),
    ("orion-wire", "shared/wire", &["orion-catalog", "orion-domain"]),
    ("orion-mtls", "shared/mtls", &[]),
    ("orion-allocator", "shared/allocator", &[]),
    ("orion-usage", "shared/usage", &[]),
    (
        "orion-server",
        "server",
        &[
            "orion-allocator",
            "orion-audit",
            "orion-catalog",
            "orion-domain",
            "orion-mtls",
            "orion-planner",
            "orion-policy",
            "orion-usage",
            "orion-wire",
        ],
    ),
    (
        "orion-agent",
        "client/agent",
        &[
            "orion-allocator",
            "orion-audit",
            "orion-catalog",
            "orion-commands",
            "orion-domain",
            "orion-mtls",
            "orion-usage",
            "orion-wire",
        ],
    ),
    (
        "orion-cli",
        "client/cli",
        &[
            "orion-audit",
            "orion-catalog",
            "orion-domain",
            "orion-policy",
            "orion-usage",
            "orion-wire",
        ],
    ),
];

fn manifest(folder: &str) -> Table {
    read(&format!("{folder}/Cargo.toml")).parse().unwrap()
}

/// Returns every dependency of a crate: of the program, of its build and of its tests, on any platform.
fn dependencies(manifest: &Table) -> Vec<(String, Value)> {
    let mut tables = vec![manifest];
    if let Some(Value::Table(platforms)) = manifest.get("target") {
        tables.extend(platforms.values().filter_map(Value::as_table));
    }
    let mut all = Vec::new();
    for table in tables {
        for kind in ["dependencies", "build-dependencies", "dev-dependencies"] {
            for (name, value) in table.get(kind).and_then(Value::as_table).into_iter().flatten() {
                all.push((name.clone(), value.clone()));
            }
        }
    }
    all
}

fn workspace() -> BTreeMap<String, Value> {
    let root: Table = read("Cargo.toml").parse().unwrap();
    root["workspace"]["dependencies"].as_table().unwrap().clone().into_iter().collect()
}

fn members() -> Vec<String> {
    let root: Table = read("Cargo.toml").parse().unwrap();
    let members = root["workspace"]["members"].as_array().unwrap();
    members.iter().map(|member| member.as_str().unwrap().to_owned()).collect()
}

#[test]
fn dependencies_run_one_way() {
    let mut wrong = Vec::new();
    for (name, folder, may) in MAY {
        let manifest = manifest(folder);
        assert_eq!(manifest["package"]["name"].as_str(), Some(*name));
        for (other, _) in dependencies(&manifest) {
            if other.starts_with("orion-") && !may.contains(&other.as_str()) {
                wrong.push(format!("{name} depends on {other}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    let known: BTreeSet<_> = MAY.iter().map(|(_, folder, _)| (*folder).to_owned()).collect();
    let members: BTreeSet<_> = members().into_iter().filter(|member| member != "tests").collect();
    assert_eq!(members, known, "a crate that is not in the table above");
}

#[test]
fn versions_stand_in_the_workspace_alone_and_each_is_used() {
    let mut used = BTreeSet::new();
    let mut own = Vec::new();
    for folder in members() {
        for (name, value) in dependencies(&manifest(&folder)) {
            if value.get("workspace") != Some(&Value::Boolean(true)) {
                own.push(format!("{folder}: {name}"));
            }
            used.insert(name);
        }
    }
    assert_eq!(own, Vec::<String>::new(), "say `workspace = true`");
    let idle: Vec<_> = workspace().into_keys().filter(|name| !used.contains(name)).collect();
    assert_eq!(idle, Vec::<String>::new(), "in the workspace and used by no crate");
}

#[test]
fn every_dependency_is_in_the_documents_with_its_reason() {
    let page = Page::read("docs/dependencies.md");
    let ours = |name: &String| name.starts_with("orion-");
    let wanted: BTreeSet<_> = workspace().into_keys().filter(|name| !ours(name)).collect();
    let mut documented = BTreeSet::new();
    for row in page.rows() {
        let [first, .., why] = &row[..] else { continue };
        assert!(!why.is_empty(), "{first} has no reason");
        documented.extend(names(first));
    }
    assert_eq!(documented, wanted);
}

#[test]
fn one_crypto_provider_is_in_the_tree_and_all_comes_from_one_registry() {
    let lock: Table = read("Cargo.lock").parse().unwrap();
    let mut wrong = Vec::new();
    let mut registries = BTreeSet::new();
    for package in lock["package"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        if ["aws-lc-rs", "aws-lc-sys", "openssl", "openssl-sys", "native-tls"].contains(&name) {
            wrong.push(format!("{name} is a second TLS provider"));
        }
        match package.get("source").and_then(Value::as_str) {
            None if name.starts_with("orion-") => {}
            Some(source) if source.starts_with("registry+") => {
                registries.insert(source);
            }
            source => wrong.push(format!("{name} comes from {source:?}")),
        }
    }
    if registries.len() > 1 {
        wrong.push(format!("several registries: {registries:?}"));
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_crate_is_held_to_the_workspaces_lints() {
    for file in files().into_iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        let manifest: Table = file.text.parse().unwrap();
        if file.path == "shared/allocator/Cargo.toml" {
            // The one crate with unsafe code: each use says why it is sound, in an `expect`.
            let lints = &manifest["lints"];
            assert_eq!(lints["rust"]["unsafe_code"].as_str(), Some("deny"));
            for lint in ["undocumented_unsafe_blocks", "unwrap_used", "panic"] {
                assert_eq!(lints["clippy"][lint].as_str(), Some("warn"), "{lint}");
            }
            continue;
        }
        let lints = manifest.get("lints").and_then(|lints| lints.get("workspace"));
        assert_eq!(lints, Some(&Value::Boolean(true)), "{}", file.path);
    }
    let root: Table = read("Cargo.toml").parse().unwrap();
    let lints = &root["workspace"]["lints"];
    assert_eq!(lints["rust"]["unsafe_code"].as_str(), Some("forbid"));
    for lint in [
        "unwrap_used",
        "expect_used",
        "panic",
        "todo",
        "await_holding_lock",
        "wildcard_enum_match_arm",
        "print_stdout",
        "disallowed_methods",
    ] {
        assert_eq!(lints["clippy"][lint].as_str(), Some("warn"), "{lint}");
    }
}
