//! Every output of the extractor's own cases, streamed and received byte by byte.

use std::path::Path;

use orion_domain::extract::{Released, extract};
use serde_json::json;

use super::read;
use crate::model::remote::form::Form;

/// Returns the outputs of all cases.
fn outputs() -> Vec<String> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/domain/src/extract/tests/cases");
    let files = ["calls", "none"].into_iter().flat_map(|kind| {
        std::fs::read_dir(folder.join(kind)).unwrap().map(|file| file.unwrap().path())
    });
    let texts = files.map(|file| format!("\n{}", std::fs::read_to_string(file).unwrap()));
    let cases = texts.flat_map(|text| {
        let cases = text.split("\n=== ").skip(1).map(str::to_owned);
        cases.collect::<Vec<_>>()
    });
    cases
        .map(|case| {
            let (_, body) = case.split_once('\n').unwrap();
            let (output, _) = body.split_once("\n---\n").unwrap_or((body, ""));
            output.strip_suffix('\n').unwrap_or(output).to_owned()
        })
        .collect()
}

#[test]
fn an_answer_that_arrives_byte_by_byte_is_the_same_answer() {
    let outputs = outputs();
    assert!(outputs.len() >= 550, "{}", outputs.len());
    for output in outputs {
        let mut stream = String::new();
        for letter in output.chars() {
            let chunk = json!({"choices": [{"delta": {"content": letter.to_string()}}]});
            stream.push_str(&format!("data: {chunk}\n\n"));
        }
        stream.push_str("data: [DONE]\n\n");
        let answer = read(Form::Chat, &stream).unwrap();
        assert_eq!(extract(&answer.text), extract(&output));
        let mut released = Released::default();
        let shown: String =
            answer.text.chars().map(|letter| released.push(&letter.to_string())).collect();
        assert_eq!(shown, Released::default().push(&output));
    }
}
