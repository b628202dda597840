//! Formats enrolment tokens that devices can still use.

use std::collections::BTreeMap;

use orion_wire::v1;
use serde::Serialize;
use serde_json::Value;

use crate::json;
use crate::output::{Output, table};
use crate::text;

/// A token for programs; the comments in `proto/` describe the fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct InviteView {
    pub(crate) invite_id: String,
    pub(crate) name: String,
    pub(crate) uses_left: u32,
    pub(crate) preapproved: bool,
    pub(crate) grants: Value,
    pub(crate) platforms: Vec<String>,
    pub(crate) networks: Vec<String>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) confirmed_by_code: bool,
    pub(crate) created_by: String,
    pub(crate) created_at: i64,
    pub(crate) expires_at: i64,
}

impl From<v1::Invite> for InviteView {
    fn from(invite: v1::Invite) -> Self {
        let v1::Invite {
            invite_id,
            name,
            uses_left,
            preapproved,
            grants,
            platforms,
            networks,
            labels,
            confirmed_by_code,
            created_by,
            created_at,
            expires_at,
        } = invite;
        Self {
            invite_id,
            name,
            uses_left,
            preapproved,
            grants: json::embedded(&grants),
            platforms,
            networks,
            labels: labels.into_iter().collect(),
            confirmed_by_code,
            created_by,
            created_at,
            expires_at,
        }
    }
}

impl InviteView {
    /// Returns who may use it, where that is limited.
    fn limits(&self) -> String {
        let code = self.confirmed_by_code.then_some("the device that showed a code");
        let platforms = self.platforms.iter().map(String::as_str);
        let networks = self.networks.iter().map(String::as_str);
        let limits: Vec<_> = code.into_iter().chain(platforms).chain(networks).collect();
        if limits.is_empty() { "anyone who has it".to_owned() } else { limits.join(", ") }
    }
}

/// Formats tokens for people.
pub(crate) fn invites_table(out: &Output, invites: &[InviteView]) -> String {
    let mut header = vec!["ID", "DEVICE", "USES LEFT", "LETS IN", "FOR", "MADE BY", "UNTIL"];
    if out.is_wide() {
        header.extend(["MADE", "LABELS", "GRANTS"]);
    }
    let ids: Vec<_> = invites.iter().map(|invite| invite.invite_id.as_str()).collect();
    let rows = invites.iter().zip(text::listed_ids(&ids, out.is_wide())).map(|(invite, id)| {
        let its_own = || "as it suggests".to_owned();
        let name = Some(invite.name.clone()).filter(|name| !name.is_empty());
        let mut row = vec![
            id.to_owned(),
            name.unwrap_or_else(its_own),
            invite.uses_left.to_string(),
            if invite.preapproved { "at once" } else { "after approval" }.to_owned(),
            invite.limits(),
            invite.created_by.clone(),
            text::when(&out.zone, invite.expires_at),
        ];
        if out.is_wide() {
            let label = |(key, value): (&String, &String)| format!("{key}={value}");
            row.extend([
                text::when(&out.zone, invite.created_at),
                invite.labels.iter().map(label).collect::<Vec<_>>().join(", "),
                invite.grants.to_string(),
            ]);
        }
        row
    });
    table(&header, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global::Format;

    fn invite() -> v1::Invite {
        v1::Invite {
            invite_id: "01a1fc13-f72a-727b-a838-c743fc081867".to_owned(),
            uses_left: 3,
            grants: "{\"profile\":\"reader\"}".to_owned(),
            created_by: "admin\u{1b}[2J".to_owned(),
            ..v1::Invite::default()
        }
    }

    #[test]
    fn a_token_says_who_may_use_it_and_how_it_lets_in() {
        let out = Output::in_a_test(Format::Table);
        let limited = v1::Invite {
            name: "kiosk".to_owned(),
            preapproved: true,
            platforms: vec!["linux-x86_64".to_owned()],
            networks: vec!["10.0.0.0/8".to_owned()],
            invite_id: "01a1fc14-0000-727b-a838-c743fc081867".to_owned(),
            ..invite()
        };
        let of_code = v1::Invite { confirmed_by_code: true, ..limited.clone() };
        let shown = invites_table(&out, &[invite().into(), limited.into()]);
        let cells = super::super::cells(&shown);
        assert_eq!(
            cells[1][..5],
            ["01a1fc13-f72a-727b", "as it suggests", "3", "after approval", "anyone who has it"]
        );
        assert_eq!(cells[2][1..5], ["kiosk", "3", "at once", "linux-x86_64, 10.0.0.0/8"]);
        assert!(!shown.contains('\u{1b}'));
        assert!(InviteView::from(of_code).limits().starts_with("the device that showed a code, "));
    }
}
