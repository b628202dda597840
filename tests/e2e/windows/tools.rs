//! Each tool of the catalogue on Windows: it works, or it says why there is none of it.

use orion_catalog::{CATALOG, RunsOn, ToolSpec};
use orion_domain::{CallState, ErrorCode};
use orion_tests::World;
use serde_json::{Value, json};

use super::laptop::{FILES, Laptop};
use crate::catalogue::{ENTRY, NOTE, arguments_at};
use crate::escapes::say;

/// Returns the tool's sample call, confirmed, on files in a folder of its own, which this makes.
fn sample(laptop: &Laptop<'_>, spec: &ToolSpec) -> Value {
    let folder = laptop.file(spec.name);
    std::fs::create_dir_all(folder.join("folder")).unwrap();
    std::fs::write(folder.join(NOTE.0), NOTE.1).unwrap();
    std::fs::write(folder.join(ENTRY), "").unwrap();
    let mut arguments = arguments_at(spec, "laptop", &format!("{FILES}/{}", spec.name));
    if arguments.get("confirm").is_some() {
        arguments["confirm"] = json!(true);
    }
    arguments
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_tool_works_or_says_why_it_does_not() {
    let world = World::new().await;
    let Some(laptop) = Laptop::new(&world).await else { return };
    let mut failed = Vec::new();
    let (mut works, mut is_not_there) = (0, 0);
    for spec in CATALOG.iter().filter(|spec| spec.runs_on == RunsOn::Device) {
        let call = laptop.approved(spec.name, sample(&laptop, spec)).await;
        let outcome = match call.end() {
            (CallState::Succeeded, _) => {
                works += 1;
                "works".to_owned()
            }
            (_, Some(ErrorCode::NotSupported)) => {
                is_not_there += 1;
                format!("not supported: {}", call.error().message)
            }
            // What the sample names is not on this laptop, or is not granted; the answer is the tool's own.
            (_, Some(code))
                if code != ErrorCode::Internal && code != ErrorCode::ExecutionFailed =>
            {
                format!("{}: {}", code.as_str(), call.error().message)
            }
            _ => {
                failed.push(format!("{}: {call:?}", spec.name));
                "fails".to_owned()
            }
        };
        say(&format!("{:<22} {outcome}", spec.name));
    }
    say(&format!("{works} tools work, {is_not_there} are not supported on Windows"));
    assert_eq!(failed, Vec::<String>::new(), "{}", laptop.log());
    assert!(works > 20, "only {works} tools work");
}
