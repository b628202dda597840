//! Outputs of models in every form, and texts without a call, as data: see the files in `cases/`.
//!
//! A file has cases that start with `=== NAME`. One with calls ends with `---` and a line for each call or
//! problem.

use std::path::Path;

use crate::extract::{ExtractedCall, Extraction, Released, extract};

struct Case {
    name: String,
    output: String,
    expected: String,
}

/// Reads the cases of a folder.
fn cases(folder: &str) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/extract/tests/cases").join(folder);
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let text = format!("\n{}", std::fs::read_to_string(&file).unwrap());
        let form = file.file_stem().unwrap().to_str().unwrap();
        for case in text.split("\n=== ").skip(1) {
            let (name, body) = case.split_once('\n').unwrap();
            let (output, expected) = body.split_once("\n---\n").unwrap_or((body, ""));
            let output = output.strip_suffix('\n').unwrap_or(output).to_owned();
            let expected = expected.trim_end().to_owned();
            cases.push(Case { name: format!("{form}: {name}"), output, expected });
        }
    }
    cases
}

/// Writes a result as the files do.
fn written(found: &Extraction) -> String {
    let call = |call: &ExtractedCall| {
        let kind = if call.recovered { "recovered" } else { "exact" };
        let text = if call.untyped { "/text" } else { "" };
        let id = call.id.as_ref().map(|id| format!(" id={id}")).unwrap_or_default();
        let device = call.device.as_ref().map(|it| format!(" device={it}")).unwrap_or_default();
        let preview = if call.dry_run { " dry_run" } else { "" };
        let arguments = serde_json::to_string(&call.arguments).unwrap();
        format!("{kind}{text}{id}{device}{preview} {} {arguments}", call.tool)
    };
    let problem = |problem| {
        let value = serde_json::to_value(problem).unwrap();
        format!("problem {}", value["problem"].as_str().unwrap())
    };
    let lines = found.calls.iter().map(call).chain(found.problems.iter().map(problem));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_form_is_read_as_its_file_says() {
    let cases = cases("calls");
    assert!(cases.len() >= 400, "{}", cases.len());
    for Case { name, output, expected } in cases {
        assert_eq!(written(&extract(&output)), expected, "{name}\n{output}");
    }
}

#[test]
fn texts_without_a_call_give_none() {
    let cases = cases("none");
    assert!(cases.len() >= 150, "{}", cases.len());
    for Case { name, output, .. } in cases {
        let found = extract(&output);
        assert_eq!(found.calls, [], "{name}\n{output}");
        let is_doubtful = ["near-misses", "templates"].iter().any(|form| name.starts_with(form));
        assert!(is_doubtful || found.problems.is_empty(), "{name}\n{output}\n{found:?}");
    }
}

/// A text that looks like a call is taken, set aside with its reason, or said as a problem.
#[test]
fn nothing_that_looks_like_a_call_is_dropped_silently() {
    for Case { name, output, .. } in cases("none") {
        let shows_one =
            output.contains("\"delete_file\"") || output.contains("functions.delete_file");
        // Reasoning is never shown, and a fence of code is shown as it is.
        let is_said = !name.starts_with("reasoning") && !name.starts_with("code") && shows_one;
        let found = extract(&output);
        let said = found.set_aside.len() + found.problems.len();
        assert!(!is_said || said > 0 || output.contains("```xml"), "{name}\n{output}\n{found:?}");
    }
}

/// What was shown while a text arrived is the same at every split, and the beginning of what is shown at last.
#[test]
fn every_split_of_the_stream_shows_and_reads_the_same() {
    for Case { name, output, .. } in cases("calls").into_iter().chain(cases("none")) {
        let found = extract(&output);
        let whole = Released::default().push(&output);
        let mut released = Released::default();
        let mut arrived = String::new();
        let mut shown = String::new();
        for letter in output.chars() {
            let piece = letter.encode_utf8(&mut [0; 4]).to_owned();
            arrived.push_str(&piece);
            shown.push_str(&released.push(&piece));
        }
        assert_eq!((extract(&arrived), &shown), (found.clone(), &whole), "{name}");
        for (split, _) in output.char_indices() {
            let mut released = Released::default();
            let shown = released.push(&output[..split]) + &released.push(&output[split..]);
            assert_eq!(shown, whole, "{name} at {split}");
        }
        // Where a server put the opening tag of reasoning into the prompt, its end is news.
        let from_prompt = output.contains("</think>") && !output.contains("<think>");
        assert!(
            from_prompt || found.text.starts_with(whole.trim()),
            "{name}\n{whole:?}\n{:?}",
            found.text
        );
    }
}

/// A text cut at any byte never holds a call that the whole text does not hold, but for the marks at its end.
#[test]
fn a_text_that_is_cut_off_holds_no_other_call() {
    for Case { name, output, .. } in cases("calls") {
        let whole = extract(&output);
        for (cut, _) in output.char_indices() {
            for call in extract(&output[..cut]).calls {
                let is_there = whole
                    .calls
                    .iter()
                    .any(|known| (&known.tool, &known.arguments) == (&call.tool, &call.arguments));
                assert!(is_there || !whole.problems.is_empty(), "{name} at {cut}: {call:?}");
            }
        }
    }
}
