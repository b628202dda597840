//! `orion devices review`: which of a device's grants are used, and what could be narrower.

use orion_wire::v1;
use serde::Serialize;

use crate::app::App;
use crate::client::Client;
use crate::failure::Failure;
use crate::output::{Output, table};
use crate::text;

/// A review for programs; the comments in `proto/` describe the fields.
#[derive(Debug, Serialize)]
struct ReviewView {
    device: String,
    days: u32,
    calls: u64,
    looked_since: i64,
    grants: Vec<GrantView>,
}

#[derive(Debug, Serialize)]
struct GrantView {
    kind: String,
    entry: String,
    server: bool,
    ceiling: bool,
    effective: bool,
    uses: u64,
    last_used_at: i64,
    lint: Vec<String>,
    proposal: String,
    call_ids: Vec<String>,
}

impl From<v1::GrantReview> for GrantView {
    fn from(grant: v1::GrantReview) -> Self {
        let v1::GrantReview {
            kind,
            entry,
            server,
            ceiling,
            effective,
            uses,
            last_used_at,
            lint,
            proposal,
            call_ids,
        } = grant;
        Self {
            kind,
            entry,
            server,
            ceiling,
            effective,
            uses,
            last_used_at,
            lint,
            proposal,
            call_ids,
        }
    }
}

/// Runs `orion devices review DEVICE`.
pub(super) async fn run(app: &App<'_>, client: &Client, device: String) -> Result<u8, Failure> {
    let request = v1::ReviewDeviceRequest { device };
    let v1::ReviewDeviceResponse { device, days, calls, looked_since, grants } =
        client.ask(client.devices().review_device(request)).await?;
    let grants = grants.into_iter().map(GrantView::from).collect();
    let review = ReviewView { device, days, calls, looked_since, grants };
    app.out.note(&looked_at(app.out, &review));
    app.out.show(&review, || people(app.out, &review))?;
    Ok(0)
}

/// Formats which calls were reviewed, and since when if not all of them.
fn looked_at(out: &Output, review: &ReviewView) -> String {
    let calls = if review.calls == 1 { "call" } else { "calls" };
    let cut = match review.looked_since {
        0 => String::new(),
        at => format!("; those before {} were not looked at", text::when(&out.zone, at)),
    };
    let device = text::one_line(&review.device, 80);
    format!("{device}: {} {calls} in {} days{cut}", review.calls, review.days)
}

fn people(out: &Output, review: &ReviewView) -> String {
    let says = |flag: bool| if flag { "yes" } else { "no" }.to_owned();
    let row = |grant: &GrantView| {
        let mut row = vec![
            grant.kind.clone(),
            grant.entry.clone(),
            says(grant.server),
            says(grant.ceiling),
            says(grant.effective),
            grant.uses.to_string(),
            text::when(&out.zone, grant.last_used_at),
            grant.proposal.clone(),
        ];
        if out.is_wide() {
            let ids: Vec<_> = grant.call_ids.iter().map(|id| text::short_id(id)).collect();
            row.push(ids.join(" "));
        }
        row
    };
    let mut header =
        vec!["KIND", "ENTRY", "SERVER", "CEILING", "EFFECTIVE", "USES", "LAST USED", "PROPOSAL"];
    if out.is_wide() {
        header.push("CALLS");
    }
    let shown = table(&header, review.grants.iter().map(row));
    let lint = review.grants.iter().flat_map(|grant| {
        let entry = text::one_line(&grant.entry, 200);
        grant.lint.iter().map(move |line| format!("{entry}: {}", text::one_line(line, 400)))
    });
    let lint: Vec<_> = lint.collect();
    if lint.is_empty() { shown } else { format!("{shown}\n\n{}", lint.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global::Format;

    #[test]
    fn what_is_unused_stands_with_what_to_do() {
        let grant = |kind: &str, entry: &str, ceiling, uses, proposal: &str| GrantView {
            kind: kind.to_owned(),
            entry: entry.to_owned(),
            server: true,
            ceiling,
            effective: ceiling,
            uses,
            last_used_at: if uses > 0 { 1_700_000_000_000 } else { 0 },
            lint: Vec::new(),
            proposal: proposal.to_owned(),
            call_ids: Vec::new(),
        };
        let mut wide = grant(
            "path",
            "/home/ann (read, write)",
            true,
            12,
            "{ path: \"/home/ann/Projects\", access: [read] }",
        );
        wide.lint = vec!["`/home/ann` lends the whole home folder.".to_owned()];
        let review = ReviewView {
            device: "laptop-123".to_owned(),
            days: 30,
            calls: 12,
            looked_since: 1_700_000_000_000,
            grants: vec![
                grant("tool", "read_file", true, 12, ""),
                grant("tool", "open_app", false, 0, "remove it"),
                wide,
            ],
        };
        let out = Output::in_a_test(Format::Table);
        assert_eq!(
            looked_at(&out, &review),
            "laptop-123: 12 calls in 30 days; those before 2023-11-14 22:13:20 were not looked at"
        );
        insta::assert_snapshot!(people(&out, &review), @r#"
        KIND  ENTRY                    SERVER  CEILING  EFFECTIVE  USES  LAST USED            PROPOSAL
        tool  read_file                yes     yes      yes        12    2023-11-14 22:13:20
        tool  open_app                 yes     no       no         0     -                    remove it
        path  /home/ann (read, write)  yes     yes      yes        12    2023-11-14 22:13:20  { path: "/home/ann/Projects", access: [read] }

        /home/ann (read, write): `/home/ann` lends the whole home folder.
        "#);
    }
}
