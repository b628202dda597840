//! Every periodic job is started, has a name of its own and stands in `docs/jobs.md`.

use std::collections::BTreeSet;

use crate::tree::{code_lines, files_ending, read};

#[test]
fn every_job_is_named_after_its_file_is_started_and_is_documented() {
    let (docs, jobs) = (read("docs/jobs.md"), read("server/src/jobs.rs"));
    let mut names = BTreeSet::new();
    for file in files_ending(".rs") {
        let Some(name) = file.path.strip_prefix("server/src/jobs/") else { continue };
        let name = name.trim_end_matches(".rs");
        let quoted = |line: &str| line.contains(&format!("const NAME: &'static str = \"{name}\";"));
        assert!(file.text.lines().any(quoted), "{}: its name is not {name}", file.path);
        let call = format!("spawn(tasks, {name}::");
        let is_started = code_lines(&jobs).any(|(_, line)| line.contains(&call));
        assert!(is_started, "{name} has no line in `spawn_all` of server/src/jobs.rs");
        let seconds = file.text.split("INTERVAL: Duration = Duration::from_secs(").nth(1);
        let Some(seconds) = seconds.and_then(|text| text.split(')').next()) else {
            panic!("{}: write INTERVAL as `Duration::from_secs(N)`", file.path)
        };
        let row = format!("| `{name}` | {seconds} s | ");
        assert!(docs.contains(&row), "docs/jobs.md has no row that begins with: {row}");
        names.insert(name.to_owned());
    }
    let rows = docs.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, names.len(), "docs/jobs.md has rows of jobs that do not exist");
}
