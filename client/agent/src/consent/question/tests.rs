//! What a question shows, and what it says of the rest.

use orion_domain::observation::Kind;
use orion_domain::{Access, DevicePath, PathStyle};
use serde_json::json;

use super::*;

fn question(arguments: &Value, preview: &str) -> Question {
    let path = DevicePath::parse(PathStyle::Posix, "/srv/a").unwrap();
    let touches =
        Touches { paths: vec![PathTouch { path, access: Access::Delete }], ..Touches::default() };
    let observed = [Observation {
        path: "/srv/a".to_owned(),
        real: "/home/bob/a".to_owned(),
        kind: Kind::Nothing,
        bytes: 0,
        mode: 0,
        digest: None,
    }];
    let subject = Subject {
        call: "0199",
        tool: "delete_file",
        risk: Risk::High,
        user: "bob",
        why: "agent.toml asks before delete_file",
        arguments: arguments.as_object().unwrap(),
        digest: Digest::ZERO,
        touches: &touches,
    };
    Question::new(subject, preview, &observed, (0, 60_000))
}

#[test]
fn everything_of_a_call_is_shown_with_the_place_that_a_path_leads_to() {
    let question = question(&json!({"confirm": true, "path": "/srv/a"}), "Would delete it.");
    assert!(question.is_whole());
    assert_eq!(
        Shown(&question).to_string(),
        "\
▌ May delete_file run on this device? It is of high risk.
▌ for      bob
▌ asked    because agent.toml asks before delete_file
▌ with     confirm = true
▌ with     path = /srv/a
▌ touches  delete /srv/a, which leads to /home/bob/a
▌ preview  Would delete it.
▌ until    1970-01-01 00:01:00 UTC. No answer is no.
"
    );
}

#[test]
fn a_word_that_can_be_read_as_another_is_named() {
    let text = Shown(&question(&json!({"path": "/srv/r\u{435}port"}), "")).to_string();
    let lines: Vec<_> = text.lines().filter(|line| line.starts_with("▌ beware ")).collect();
    assert_eq!(lines, ["▌ beware   r\u{435}port has U+0435 that looks like e"], "{text}");
}

#[test]
fn no_text_of_a_call_hides_something_or_looks_like_another_line() {
    let hostile = "x\n▌ until    tomorrow\u{1b}[2J\u{202e}\u{200b}│";
    let question = question(&json!({"path": hostile}), hostile);
    let text = Shown(&question).to_string();
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}') && !text.contains('│'));
    let lines: Vec<_> = text.lines().collect();
    assert!(lines.iter().all(|line| line.starts_with("▌ ")), "{text}");
    assert_eq!(lines.iter().filter(|line| line.starts_with("▌ until ")).count(), 1, "{text}");
    assert_eq!(text.matches('▌').count(), lines.len());
}

#[test]
fn a_long_line_goes_on_below_its_own_begin_and_never_at_the_edge() {
    let question = question(&json!({"path": "a ".repeat(200)}), "");
    let text = Shown(&question).to_string();
    assert!(text.lines().all(|line| line.chars().count() <= WIDTH + 2), "{text}");
    let wide = self::question(&json!({"path": "水".repeat(200)}), "");
    let columns =
        |line: &str| line.chars().map(|c| if c.is_ascii() { 1 } else { 2 }).sum::<usize>();
    assert!(Shown(&wide).to_string().lines().all(|line| columns(line) <= WIDTH + 4));
}

#[test]
fn what_is_left_out_is_said_and_bounded() {
    let many: Map<String, Value> =
        (0..50).map(|number| (number.to_string(), json!("y".repeat(5_000)))).collect();
    let question = question(&Value::Object(many), &"line\n".repeat(1_000));
    assert!(!question.is_whole());
    let shown: usize = question.arguments.iter().map(|(_, value)| value.chars().count()).sum();
    assert_eq!(shown + question.arguments_left_out, 50 * 5_000);
    assert!(shown <= MAX_ARGUMENTS);
    assert_eq!(question.preview_left_out, 1_000 - MAX_PREVIEW_LINES);
    let text = Shown(&question).to_string();
    assert!(text.contains("NOT ALL OF THE ARGUMENTS IS SHOWN"), "{text}");
    assert!(text.contains("NOT ALL OF THE PREVIEW IS SHOWN"), "{text}");
}

#[test]
fn two_questions_about_one_call_have_two_digests() {
    let one = question(&json!({}), "");
    assert_ne!(
        serde_json::to_vec(&one).unwrap(),
        serde_json::to_vec(&question(&json!({}), "")).unwrap()
    );
}

#[test]
fn what_an_approver_saw_and_what_the_owner_sees_must_be_the_same() {
    let seen = |path: &str, bytes: u64| Observation {
        path: path.to_owned(),
        real: path.to_owned(),
        kind: Kind::File,
        bytes,
        mode: 0o644,
        digest: Some(Digest::of(&bytes.to_be_bytes())),
    };
    let both = to_compare(&[seen("/a", 1)], vec![seen("/a", 1), seen("/b", 2)]).unwrap();
    assert_eq!(both, [seen("/a", 1), seen("/b", 2)]);
    let error = to_compare(&[seen("/a", 1)], vec![seen("/a", 2)]).unwrap_err();
    assert_eq!(error.details["reason"], "drift");
}
