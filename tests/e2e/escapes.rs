//! Ways out of a granted folder, tried with every file tool through the real agent: behind the real
//! backend, where both check, and behind one that lies, where the agent is alone. Whatever is outside
//! must be neither told nor touched.
//!
//! The attack lists are read where they are present, and a part of them is tried; with
//! `ORION_ESCAPES=all`, which is `make test-escapes`, each line is tried with each tool, and with
//! `ORION_ESCAPES=copy_path,move_path` with these.

mod alike;
mod classic;
mod ground;
mod lists;
mod tally;

use orion_tests::FileCall;

use ground::{Ground, Way};
use lists::List;
pub(super) use lists::{list_of, say};
use tally::Tallies;

/// The lists against every tool, each with new ground where everything is tried: a device remembers
/// what it ran, up to a bound.
async fn no_line_leads_out(way: Way) {
    let lists = [List::read("escapes-posix.txt"), List::read("payloads.txt")];
    let [Some(escapes), Some(payloads)] = lists else { return };
    let planted = || escapes.lines.iter().chain(&payloads.lines).map(String::as_str);
    let mut ground = Ground::new(way, planted()).await;
    let mut tallies = Tallies::default();
    for call in FileCall::all() {
        if lists::all(call.spec.name) {
            ground = Ground::new(way, planted()).await;
        }
        for list in [&escapes, &payloads] {
            let tally = ground.attack(&call, &list.part_for(call.spec.name)).await;
            let counted = tallies.add(list.name, &call.name(), tally);
            if lists::all(call.spec.name) {
                say(&format!("{way:?}: {counted}"));
                counted.first_escapes().for_each(say);
            }
        }
    }
    say(&format!("{}{tallies}", ground.says()));
    assert_eq!(tallies.escapes(), Vec::<String>::new());
    assert!(!FileCall::all().is_empty(), "no tool was tried");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_line_of_the_lists_leads_out_through_backend_and_agent() {
    no_line_leads_out(Way::BackendAndAgent).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_line_of_the_lists_leads_out_where_the_agent_is_alone() {
    no_line_leads_out(Way::AgentAlone).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_classic_escape_leads_out_through_backend_and_agent() {
    classic::none_leads_out(Way::BackendAndAgent).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_classic_escape_leads_out_where_the_agent_is_alone() {
    classic::none_leads_out(Way::AgentAlone).await;
}
