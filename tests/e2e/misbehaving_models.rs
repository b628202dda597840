//! Models that misbehave in every way that a server can: each answer ends well, in bounded time and memory, with a
//! clear end, and with a closed audit row for each call. Only the model is scripted; the rest is real.

mod table;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use orion_tests::{Reply, STREAM, ScriptedModel, World};
use orion_wire::v1;

use table::{Case, End, cases, text};

/// How long one answer may take, its repeated requests included. The model's own timeout is 3 seconds.
const LONGEST: Duration = Duration::from_secs(20);
/// How much memory the backend may have gained after all of them.
const MAX_KIB: u64 = 200 * 1024;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_misbehaviour_of_a_model_ends_well() {
    let cases = cases();
    assert!(cases.len() >= 40, "{}", cases.len());
    let scripts: HashMap<String, Vec<Reply>> =
        cases.iter().map(|case| (case.name.to_owned(), case.replies.clone())).collect();
    assert_eq!(scripts.len(), cases.len(), "each name once");
    let done = Reply::raw([STREAM.as_bytes(), text("Done.").as_bytes()].concat());
    let model = ScriptedModel::start(scripts, done).await;
    let mut config = "[chat]\nmax_tool_rounds = 3\n".to_owned();
    for Case { name, kind, .. } in &cases {
        let url = model.url(name);
        config += &format!(
            "[[models]]\nname = \"{name}\"\n{kind}\nurl = \"{url}\"\nmodel = \"m\"\ntimeout_seconds = 3\n"
        );
    }
    let world = World::configured(&config).await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("kept.txt", "kept");
    let before = world.server().usage().resident / 1024;

    let mut wrong = Vec::new();
    for Case { name, end, .. } in &cases {
        let began = Instant::now();
        let request = v1::SendMessageRequest {
            text: "Do what you like".to_owned(),
            model: (*name).to_owned(),
            ..Default::default()
        };
        let answer = tokio::time::timeout(LONGEST, world.admin().send(request)).await;
        let Ok(answer) = answer else {
            wrong.push(format!("{name}: no end after {:?}", began.elapsed()));
            continue;
        };
        let failure = answer.failure.as_ref().map(|status| status.message().to_owned());
        let codes: Vec<String> = answer
            .calls
            .iter()
            .map(|call| call.end().1.map_or("ok".to_owned(), |code| code.as_str().to_owned()))
            .collect();
        let is_as_said = match end {
            End::Error(part) => failure.as_ref().is_some_and(|said| said.contains(part)),
            End::Text(expected) => {
                failure.is_none() && answer.text == *expected && codes.is_empty()
            }
            End::Calls(expected) => failure.is_none() && codes == *expected,
            End::Note(part, count) => {
                failure.is_none()
                    && codes.len() == *count
                    && answer.notes.iter().any(|note| note.contains(part))
            }
        };
        if !is_as_said {
            wrong.push(format!(
                "{name}: expected {end:?}, got {failure:?}, text {:.80?}, calls {codes:?}, notes {:.200?}",
                answer.text, answer.notes
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));

    assert_eq!(kiosk.tree().get("kept.txt"), Some(&Some("kept".to_owned())));
    let mut tools = world.admin().tools();
    let open = v1::ListCallsRequest { open: true, ..Default::default() };
    assert_eq!(tools.list_calls(open).await.unwrap().into_inner().calls, []);
    let after = world.server().usage().resident / 1024;
    assert!(after.saturating_sub(before) < MAX_KIB, "{before} KiB before, {after} KiB after");
    let verified = world.cli().run(&["audit", "verify"]).await;
    assert_eq!(verified.code, 0, "{verified:?}");
    // What a person reads of the worst text holds nothing that moves their terminal.
    let shown = world.cli().run(&["ask", "--model", "ansi_and_nul", "hello"]).await;
    assert!(!shown.stdout.contains(['\u{1b}', '\0', '\u{202e}']), "{shown:?}");
    assert_eq!(world.admin().say("Are you there?").await.text, "Done.");
}
