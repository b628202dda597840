//! What is counted and suggested.

use orion_domain::{CallId, CallState, Caller, DeviceId, Digest, ErrorCode, Role};
use uuid::Uuid;

use super::*;
use crate::store::CallRow;

/// A call of ann at this minute, with arguments that differ by `arguments`.
fn call(minute: u32, tool: &str, arguments: &str) -> CallRow {
    let at = i64::from(minute) * 60_000;
    CallRow {
        id: CallId::new(Uuid::from_u128(u128::from(minute) + 1)),
        caller: Caller { user: "ann".parse().unwrap(), role: Role::Operator, conversation: None },
        device: Some((DeviceId::new(Uuid::from_u128(9)), "kiosk".parse().unwrap())),
        tool: tool.to_owned(),
        arguments: Vec::new(),
        secrets: None,
        arguments_digest: Digest::of(arguments.as_bytes()),
        dry_run: false,
        recovered: false,
        tainted: false,
        quoted: false,
        content_raises: Vec::new(),
        turn: None,
        touches: Vec::new(),
        decision: "allow".to_owned(),
        rule: String::new(),
        policy_version: String::new(),
        risk: None,
        undo: None,
        has_effects: false,
        state: CallState::Succeeded,
        history: Vec::new(),
        idempotency_key: None,
        plan: None,
        deadline_at: at,
        queued_until: None,
        created_at: at,
        approval: None,
        code: None,
        result: None,
        duration_us: 2_000 * (u64::from(minute) + 1),
        closed_at: Some(at),
        token: None,
    }
}

/// What calls that are given oldest first suggest.
fn suggested(mut rows: Vec<CallRow>) -> Vec<(SuggestionKind, usize, String)> {
    rows.reverse();
    let found = of_calls(&rows, 0).suggestions;
    found.into_iter().map(|it| (it.kind, it.count, it.reason)).collect()
}

#[test]
fn calls_are_counted_by_tool_device_and_person() {
    let denied = CallRow {
        state: CallState::Denied,
        code: Some(ErrorCode::PermissionDenied),
        ..call(3, "read_file", "c")
    };
    let unclear = CallRow { code: Some(ErrorCode::DeviceRequired), ..denied.clone() };
    let unclear = CallRow { tool: "write_file".to_owned(), ..unclear };
    let rows = [
        denied,
        unclear,
        call(2, "read_file", "b"),
        call(1, "write_file", "a"),
        call(0, "read_file", "a"),
    ];
    let insights = of_calls(&rows, 0);
    let shown: Vec<_> = insights
        .tools
        .iter()
        .map(|it| (it.name.as_str(), it.calls, it.succeeded, it.denied, it.median_ms))
        .collect();
    assert_eq!(shown, [("read_file", 3, 2, 1, 4), ("write_file", 2, 1, 0, 4)]);
    assert_eq!((insights.devices[0].calls, insights.persons[0].name.as_str()), (5, "ann"));
    assert_eq!(insights.suggestions, []);
}

#[test]
fn a_call_that_is_made_again_and_again_suggests_an_alias() {
    let often = |count: u32| (0..count).map(|minute| call(minute, "list_directory", "a")).collect();
    assert_eq!(suggested(often(4)), []);
    let reason = "ann made the same call of list_directory on kiosk 5 times.".to_owned();
    assert_eq!(suggested(often(5)), [(SuggestionKind::Alias, 5, reason)]);
}

#[test]
fn calls_that_follow_one_another_suggest_one_macro_and_not_its_parts() {
    let mut rows = Vec::new();
    for round in 0..3 {
        for (step, tool) in ["git_status", "run_tests", "git_diff"].into_iter().enumerate() {
            let minute = round * 30 + u32::try_from(step).unwrap();
            rows.push(call(minute, tool, "a"));
        }
    }
    let reason = "ann made these calls after one another 3 times: git_status on kiosk, run_tests on kiosk, git_diff on kiosk.";
    assert_eq!(suggested(rows.clone()), [(SuggestionKind::Macro, 3, reason.to_owned())]);
    // With an hour between them they are no sequence.
    for (number, row) in rows.iter_mut().enumerate() {
        row.created_at = i64::try_from(number).unwrap() * 3_600_000;
    }
    assert_eq!(suggested(rows), []);
}

#[test]
fn calls_that_are_always_approved_suggest_a_rule_and_one_denial_suggests_none() {
    let approval = Some(orion_domain::ApprovalId::new(Uuid::from_u128(1)));
    let asked = |minute: u32, code: Option<ErrorCode>| CallRow {
        approval,
        code,
        ..call(minute, "restart_service", &minute.to_string())
    };
    let rows: Vec<_> = (0..5).map(|minute| asked(minute, None)).collect();
    let found = suggested(rows.clone());
    assert_eq!((found.len(), found[0].0, found[0].1), (1, SuggestionKind::Rule, 5));
    let mut rows = rows;
    rows.push(asked(9, Some(ErrorCode::ApprovalRejected)));
    assert_eq!(suggested(rows), []);
}
