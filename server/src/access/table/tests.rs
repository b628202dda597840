//! Tests of the whole access table.

use super::*;

#[test]
fn whatever_anyone_may_call_is_limited() {
    for Operation { path, access, per_minute } in TABLE {
        assert!(*access != Access::Anyone || per_minute.is_some(), "{path}");
    }
}

#[test]
fn no_row_asks_for_a_scope_that_its_role_cannot_have_or_for_none_of_several() {
    for Operation { path, access, .. } in TABLE {
        let Access::Person(role, RequiredScope::OneOf(scopes)) = access else { continue };
        assert!(!scopes.is_empty(), "{path} asks for one of no scopes");
        let of_use = scopes.iter().any(|scope| *role >= scope.least_role());
        // Revoking one's own token needs no role; a token that revokes needs the scope.
        assert!(of_use || path.ends_with("/RevokeToken"), "{path}");
    }
}

#[test]
fn what_only_reads_never_changes_anything() {
    let reading = [
        "List",
        "Get",
        "Watch",
        "Export",
        "Verify",
        "Check",
        "Test",
        "Review",
        "ServerReflectionInfo",
    ];
    for Operation { path, access, .. } in TABLE {
        let name = path.rsplit('/').next().unwrap();
        let reads = matches!(access, Access::Person(_, RequiredScope::OneOf(scopes)) if scopes.contains(&Scope::Read));
        assert!(!reads || reading.iter().any(|word| name.starts_with(word)), "{path}");
    }
}

#[test]
fn whatever_changes_something_is_done_to_its_end() {
    let ending: Vec<_> = TABLE
        .iter()
        .filter(|row| ends_with_its_client(row))
        .map(|row| row.path.rsplit('/').next().unwrap())
        .collect();
    let changing = ["Set", "Create", "Revoke", "Disable", "Decide", "Apply", "Cancel", "Enroll"];
    for name in &ending {
        assert!(!changing.iter().any(|word| name.starts_with(word)), "{name}");
    }
    assert!(ending.contains(&"Login") && ending.contains(&"GetCall"));
    for path in MAY_END {
        assert!(TABLE.iter().any(|row| row.path == *path), "{path} is no RPC");
    }
    assert!(!ending.contains(&"Logout") && !ending.contains(&"CancelCall"));
}

#[test]
fn no_api_token_ever_approves_or_decides_who_gets_in() {
    for name in [
        "ApprovalService/DecideApproval",
        "PlanService/DecidePlan",
        "AuthService/SetPassword",
        "AuthService/SetUserRole",
        "AuthService/EnableUser",
        "AuthService/CreateToken",
    ] {
        let row = TABLE.iter().find(|row| row.path.ends_with(name)).unwrap();
        assert!(matches!(row.access, Access::Person(_, RequiredScope::Session)), "{name}");
    }
}
