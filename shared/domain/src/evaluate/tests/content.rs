//! What untrusted content in the chat does to a decision.

use super::rules::{granted, preapproval, with};
use super::*;
use crate::rule::Approvers;

#[test]
fn strangers_content_pauses_a_pre_approval_unless_it_says_otherwise() {
    let tainted = || Ask { tainted: true, ..Ask::delete("D:/x") };
    assert_eq!(tainted().of(&with(vec![preapproval()])).0, Decision::Ask);
    let firm = || Rule { ignore_provenance: true, id: "r2".to_owned(), ..preapproval() };
    assert_eq!(tainted().of(&with(vec![firm()])).0, Decision::Allow);
    let both = with(vec![preapproval(), firm()]);
    assert_eq!(tainted().of(&both).2, Ok("rule r2".to_owned()));
    assert_eq!(Ask::delete("D:/x").of(&with(vec![firm()])).0, Decision::Allow);
}

#[test]
fn a_refusal_that_strangers_content_leads_to_is_not_pre_approved() {
    let firm = Rule {
        ignore_provenance: true,
        tools: vec!["create_directory".to_owned()],
        ..preapproval()
    };
    let forbids =
        Policy { risk: RiskDefaults::new(Decision::Allow, Decision::Deny), ..with(vec![firm]) };
    let make = |tainted| Ask { tainted, ..Ask::make("D:/x") }.of(&forbids).0;
    assert_eq!((make(false), make(true)), (Decision::Allow, Decision::Deny));
}

#[rstest]
#[case(Risk::Low, Decision::Allow, Role::Operator, false)]
#[case(Risk::Medium, Decision::Ask, Role::Operator, false)]
#[case(Risk::High, Decision::Ask, Role::Admin, true)]
#[case(Risk::Critical, Decision::Ask, Role::Admin, true)]
fn strangers_content_raises_what_changes_something_by_one(
    #[case] risk: Risk,
    #[case] decision: Decision,
    #[case] role: Role,
    #[case] second_if_any: bool,
) {
    let ask = Ask { risk, confirmed: true, tainted: true, ..Ask::make("D:/x") };
    ask.asked(&granted(), |_, evaluation| {
        let expected = Approvers { role, second_if_any, ..Approvers::default() };
        assert_eq!((evaluation.decision(), evaluation.approvers()), (decision, expected));
    });
    let read =
        Ask { tainted: true, ..Ask::path("list_directory", Risk::Medium, "D:/", Access::Read) };
    assert_eq!(read.of(&granted()).0, Decision::Allow, "what only reads stays as it is");
    let preview = Ask { dry_run: true, tainted: true, ..Ask::delete("D:/x") };
    assert_eq!(preview.of(&granted()).0, Decision::Allow);
}

#[test]
fn strangers_content_leaves_a_change_alone_that_can_be_undone_and_stays_where_it_is() {
    let make =
        || Ask { risk: Risk::Medium, can_undo: true, tainted: true, ..Ask::make("D:/Projects/x") };
    let raised = |ask: Ask| {
        ask.asked(&granted(), |_, found| (found.content_raises().to_vec(), found.decision()))
    };
    assert_eq!(raised(make()), (vec![], Decision::Allow));
    for content in [&[ContentRaise::Copied][..], &[ContentRaise::CrossesDevices]] {
        assert_eq!(raised(Ask { content, ..make() }), (content.to_vec(), Decision::Ask));
        assert_eq!(raised(Ask { content, tainted: false, ..make() }), (vec![], Decision::Allow));
    }
    let crosses = &[ContentRaise::CrossesDevices][..];
    let small = Ask { risk: Risk::Low, content: crosses, ..make() };
    assert_eq!(raised(small), (crosses.to_vec(), Decision::Ask), "a low risk counts as high");
    let lost = Ask { raises: &[RiskRaise::CannotBeUndone], ..make() };
    assert_eq!(raised(lost), (vec![ContentRaise::CannotBeUndone], Decision::Ask));
    let starts = Ask::path("write_file", Risk::Medium, "D:/Projects/.x", Access::Write);
    let starts = Ask { can_undo: true, tainted: true, ..starts };
    assert_eq!(raised(starts), (vec![ContentRaise::StartsPrograms], Decision::Ask));
    let app = Ask {
        touches: Touches { apps: vec!["chrome".to_owned()], ..Touches::nothing() },
        ..make()
    };
    assert_eq!(raised(app), (vec![ContentRaise::StartsPrograms], Decision::Ask));
    let url = || Touches { urls: vec!["https://example.com/".to_owned()], ..Touches::nothing() };
    let sends = |tool| Ask { touches: url(), tool, ..make() };
    assert_eq!(raised(sends("open_app")).0, [ContentRaise::SendsOut]);
    assert_eq!(raised(sends("list_directory")).0, [ContentRaise::SendsOut], "it tells the host");
}

#[test]
fn an_address_that_the_person_has_not_written_is_asked_about_unless_its_host_is_granted() {
    let read = |content: &'static [ContentRaise]| Ask {
        touches: Touches { urls: vec!["https://example.com/".to_owned()], ..Touches::nothing() },
        content,
        tainted: true,
        ..Ask::path("list_directory", Risk::Low, "D:/", Access::Read)
    };
    let decided = |content, policy: &Policy| {
        read(content).asked(policy, |_, found| (found.risk(), found.decision()))
    };
    assert_eq!(decided(&[], &granted()), (Risk::Medium, Decision::Allow), "the person wrote it");
    let unnamed = &[ContentRaise::SendsOut][..];
    assert_eq!(decided(unnamed, &granted()), (Risk::High, Decision::Ask));
    let mut listing = granted();
    listing.grants.hosts.insert("example.com:443".to_owned());
    assert_eq!(decided(unnamed, &listing), (Risk::Medium, Decision::Allow), "an admin named it");
    let clean = Ask { tainted: false, ..read(unnamed) };
    assert_eq!(clean.of(&granted()).0, Decision::Allow);
}
