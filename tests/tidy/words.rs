//! Words that the code had for itself and that nobody else knows. The field's words took their place; these do
//! not come back as names.

use crate::tree::{code_lines, files_ending};

/// Names that are gone, with what to use.
const GONE: &[(&str, &str)] = &[
    ("Lent", "GrantedPaths"),
    ("Told", "a report, by what it reports"),
    ("Heard", "TaintTracker, or what was received"),
    ("Leash", "RevocationGuard"),
    ("Leashed", "GuardedBody"),
    ("Judged", "EvaluatedCall"),
    ("OfPlan", "PartOfPlan"),
    ("Journey", "InFlightCall"),
    ("NoWay", "RouteError"),
    ("Unanswered", "AnswerError"),
    ("Unplanned", "PlanError"),
    ("Unsent", "SendError"),
    ("NotWelcome", "ConnectError"),
    ("Tries", "LoginThrottle"),
    ("HeldTo", "TrustAnchor"),
    ("Lasting", "ApprovalScope"),
    ("Closer", "ClosedBy"),
    ("Hastened", "RequestedRenewal"),
    ("Surroundings", "Environment"),
    ("surroundings", "environment"),
    ("Spot", "Location or Position"),
    ("Swept", "SweepResult"),
    ("sign_anew", "reset_signing"),
    ("told_late", "record_late_result"),
    ("fall_behind", "mark_stale"),
    ("caught_up", "mark_fresh"),
    ("farewell", "disconnected"),
    ("lend", "grant"),
    ("lent", "granted"),
    ("will_be_tampered_with", "expect_broken_audit_log"),
];

#[test]
fn names_that_are_gone_do_not_come_back() {
    let mut found = Vec::new();
    for file in files_ending(".rs") {
        if ["tests/tidy/words.rs", "tests/tidy/messages.rs"].contains(&&*file.path) {
            continue;
        }
        for (number, line) in code_lines(&file.text) {
            let names = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            for name in names {
                if name.starts_with("MOST_") || name.starts_with("LONGEST_") {
                    found.push(format!("{}:{number}: {name}, use MAX_…", file.path));
                }
                if let Some((_, better)) = GONE.iter().find(|(gone, _)| *gone == name) {
                    found.push(format!("{}:{number}: {name}, use {better}", file.path));
                }
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}
