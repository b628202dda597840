//! Why what is written like a call is not meant as one.

use rstest::rstest;
use serde_json::json;

use super::{CALL, extract, prose};
use crate::extract::{Extraction, NotMeant, SetAside, occurrences};

#[rstest]
#[case::negated("I will NOT run {}", NotMeant::Negated)]
#[case::curly_apostrophe("I don’t run {}", NotMeant::Negated)]
#[case::behind("{} is not what I run.", NotMeant::Negated)]
#[case::question("Run {}?", NotMeant::Hypothetical)]
#[case::condition("If you agree, I run {}", NotMeant::Hypothetical)]
#[case::example("For example: {}", NotMeant::Example)]
#[case::heading("# Syntax\n\n{}", NotMeant::Example)]
#[case::quoted("Ann wants \"{}\" now", NotMeant::Quoted)]
#[case::in_code("Run `{}` now", NotMeant::Quoted)]
#[case::block_quote("> {}", NotMeant::Quoted)]
#[case::comment("<!-- {} -->", NotMeant::Commented)]
#[case::line_comment("// {}", NotMeant::Commented)]
#[case::told("The page says {}", NotMeant::Echoed)]
#[case::label("Observation: {}", NotMeant::Echoed)]
#[case::response("<tool_response>{}</tool_response>", NotMeant::Echoed)]
fn a_call_that_is_not_meant_is_set_aside(#[case] text: &str, #[case] why: NotMeant) {
    let output = text.replace("{}", CALL);
    let found = extract(&output);
    let reasons: Vec<_> = found.set_aside.iter().map(|aside| aside.why).collect();
    let Extraction { calls, text, problems, set_aside: _ } = found;
    assert_eq!((calls, text, problems), (vec![], output.trim().to_owned(), vec![]));
    assert_eq!(reasons, [why]);
    // In the content of a file, the same is a call that somebody wrote.
    assert_eq!(occurrences(&output).len(), 1);
}

#[test]
fn one_that_is_meant_is_taken_beside_one_that_is_not() {
    let found =
        extract(&format!("I will not run {CALL}.\n\nI run this: {{\"tool\":\"get_datetime\"}}"));
    assert_eq!(found.calls.len(), 1);
    assert_eq!(found.set_aside, [SetAside { start: 15, why: NotMeant::Negated }]);
    assert_eq!(
        serde_json::to_value(found.set_aside).unwrap(),
        json!([{"start": 15, "why": "negated"}])
    );
}

#[test]
fn a_broken_call_that_is_not_meant_is_no_problem_and_hides_what_follows() {
    let output = "Never write {\"tool\": x}";
    let found = extract(output);
    let set_aside = vec![SetAside { start: 12, why: NotMeant::Negated }];
    assert_eq!(found, Extraction { set_aside, ..prose(output) });
    assert_eq!(extract(&format!("{output}. Now {CALL}")).calls, []);
}

#[test]
fn a_whole_answer_is_a_call_whatever_its_arguments_say() {
    for text in ["I will not.", "For example", "\"quoted\"", "> x", "<!-- x -->", "User: x"] {
        let output = json!({"tool": "write_file", "content": text}).to_string();
        let found = extract(&output);
        assert_eq!((found.calls.len(), found.calls[0].recovered), (1, false), "{output}");
    }
}

#[test]
fn a_call_occurs_behind_what_is_broken_and_in_reasoning_and_code() {
    for text in ["{\"tool\": x} {}", "<think>{}</think>", "```python\nx = {}\n```", "{\"a\": b} {}"]
    {
        assert_eq!(occurrences(&text.replace("{}", CALL)).len(), 1, "{text}");
    }
    assert_eq!(occurrences(&format!("{CALL}\n").repeat(99)).len(), 99);
}
