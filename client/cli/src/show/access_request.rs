//! Formats requests for access.

use orion_domain::ToolError;
use orion_wire::v1;
use serde::Serialize;

use crate::output::{Output, facts, table};
use crate::text;

/// A request for access for programs; the comments in `proto/` describe the fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct AccessRequestView {
    pub(crate) request_id: String,
    pub(crate) state: &'static str,
    pub(crate) requester: String,
    pub(crate) call_id: String,
    pub(crate) device: String,
    pub(crate) tool: String,
    pub(crate) grants: Vec<String>,
    pub(crate) digest: String,
    pub(crate) reason: String,
    pub(crate) seconds: u64,
    pub(crate) created_at: i64,
    pub(crate) expires_at: i64,
    pub(crate) decided_by: String,
    pub(crate) decided_at: i64,
    pub(crate) decision_reason: String,
    pub(crate) granted_until: i64,
}

impl From<v1::AccessRequest> for AccessRequestView {
    fn from(request: v1::AccessRequest) -> Self {
        let state = match request.state() {
            v1::AccessRequestState::Open => "open",
            v1::AccessRequestState::Granted => "granted",
            v1::AccessRequestState::Refused => "refused",
            v1::AccessRequestState::Withdrawn => "withdrawn",
            v1::AccessRequestState::Expired => "expired",
            v1::AccessRequestState::Ended => "ended",
            v1::AccessRequestState::Unspecified => "unknown",
        };
        let v1::AccessRequest {
            request_id,
            state: _,
            requester,
            call_id,
            device,
            tool,
            grants,
            digest,
            reason,
            seconds,
            created_at,
            expires_at,
            decided_by,
            decided_at,
            decision_reason,
            granted_until,
        } = request;
        Self {
            request_id,
            state,
            requester,
            call_id,
            device,
            tool,
            grants,
            digest: text::hex(&digest),
            reason,
            seconds,
            created_at,
            expires_at,
            decided_by,
            decided_at,
            decision_reason,
            granted_until,
        }
    }
}

/// Formats requests.
pub(crate) fn access_requests_table(out: &Output, requests: &[AccessRequestView]) -> String {
    let row = |request: &AccessRequestView| {
        let until = match request.granted_until {
            0 => "-".to_owned(),
            until => text::when(&out.zone, until),
        };
        let id = if out.is_wide() {
            request.request_id.clone()
        } else {
            text::short_id(&request.request_id).to_owned()
        };
        vec![
            id,
            request.state.to_owned(),
            text::one_line(&request.requester, 40),
            text::one_line(&request.device, 40),
            text::one_line(&request.grants.join("; "), if out.is_wide() { 2_000 } else { 60 }),
            until,
        ]
    };
    table(&["REQUEST", "STATE", "BY", "DEVICE", "ASKS FOR", "UNTIL"], requests.iter().map(row))
}

/// Formats one request with everything that an admin decides by. `obstacle` is why it cannot be granted.
pub(crate) fn access_request_card(
    out: &Output,
    request: &AccessRequestView,
    obstacle: Option<&ToolError>,
) -> String {
    let decided = match request.decided_by.as_str() {
        "" => String::new(),
        by => format!("{by}, {}", text::when(&out.zone, request.decided_at)),
    };
    let until = match request.granted_until {
        0 => String::new(),
        until => text::when(&out.zone, until),
    };
    let obstacle = obstacle.map(|error| {
        let hints = error.hints.iter().map(|hint| format!("\n{hint}"));
        format!("{}{}", error.message.trim_end(), hints.collect::<String>())
    });
    facts([
        ("request", request.request_id.clone()),
        ("state", request.state.to_owned()),
        ("by", request.requester.clone()),
        ("device", request.device.clone()),
        ("grants", request.grants.join("\n")),
        ("to", format!("{} alone, by the tool {} alone", request.requester, request.tool)),
        (if request.granted_until == 0 { "for" } else { "asked for" }, length(request.seconds)),
        ("reason", text::one_line(&request.reason, 600)),
        ("call", request.call_id.clone()),
        ("asked", text::when(&out.zone, request.created_at)),
        ("decided by", decided),
        ("answer", text::one_line(&request.decision_reason, 600)),
        ("until", until),
        ("not possible", obstacle.unwrap_or_default()),
    ])
}

/// Formats a length of time in its largest whole unit.
pub(crate) fn length(seconds: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(86_400, "day"), (3_600, "hour"), (60, "minute")];
    let whole =
        UNITS.into_iter().find(|(unit, _)| seconds >= *unit && seconds.is_multiple_of(*unit));
    let (unit, name) = whole.unwrap_or((1, "second"));
    text::counted(seconds / unit, name, &format!("{name}s"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global::Format;
    use orion_domain::{ErrorCode, Hint};

    const OUT: Output = Output::in_a_test(Format::Table);

    fn request() -> AccessRequestView {
        AccessRequestView::from(v1::AccessRequest {
            request_id: "0199b2c4-7f3e-7c11-8000-000000000001".to_owned(),
            state: v1::AccessRequestState::Open.into(),
            requester: "bob".to_owned(),
            call_id: "0199b2c4-0000-7000-8000-000000000002".to_owned(),
            device: "web-1".to_owned(),
            tool: "read_file".to_owned(),
            grants: vec!["the tool read_file".to_owned(), "read /srv/a".to_owned()],
            reason: "The\u{1b}[2J site is down".to_owned(),
            seconds: 7_200,
            created_at: 1_700_000_000_000,
            ..v1::AccessRequest::default()
        })
    }

    #[test]
    fn a_card_shows_what_is_granted_to_whom_and_for_how_long() {
        insta::assert_snapshot!(access_request_card(&OUT, &request(), None), @r"
        request  0199b2c4-7f3e-7c11-8000-000000000001
        state    open
        by       bob
        device   web-1
        grants   the tool read_file
                 read /srv/a
        to       bob alone, by the tool read_file alone
        for      2 hours
        reason   The�[2J site is down
        call     0199b2c4-0000-7000-8000-000000000002
        asked    2023-11-14 22:13:20
        ");
        let error = ToolError::new(ErrorCode::PermissionDenied, "A rule denies it.")
            .hint(Hint::new("change the rule"));
        let card = access_request_card(&OUT, &request(), Some(&error));
        assert!(card.contains("not possible  A rule denies it.\n"), "{card}");
        assert!(card.ends_with("change the rule"), "{card}");
    }

    #[test]
    fn requests_stand_in_a_table() {
        insta::assert_snapshot!(access_requests_table(&OUT, &[request()]), @"
        REQUEST             STATE  BY   DEVICE  ASKS FOR                         UNTIL
        0199b2c4-7f3e-7c11  open   bob  web-1   the tool read_file; read /srv/a  -
        ");
    }

    #[test]
    fn a_length_has_its_largest_whole_unit() {
        for (seconds, shown) in
            [(7_200, "2 hours"), (60, "1 minute"), (90, "90 seconds"), (86_400, "1 day")]
        {
            assert_eq!(length(seconds), shown);
        }
    }
}
