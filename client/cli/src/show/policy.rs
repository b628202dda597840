//! Formats the policy file: its versions, its findings, and its changes.

use orion_wire::v1;
use serde::Serialize;

use crate::output::{ASKS, BAD, DIM, Output, table};
use crate::text;

/// A version for programs; the comments in `proto/` describe the fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct VersionView {
    pub(crate) version: i64,
    pub(crate) sha256: String,
    pub(crate) applied_by: String,
    pub(crate) applied_at: i64,
    pub(crate) note: String,
    pub(crate) restores: i64,
    pub(crate) active: bool,
}

impl From<v1::PolicyVersion> for VersionView {
    fn from(version: v1::PolicyVersion) -> Self {
        let v1::PolicyVersion { version, sha256, applied_by, applied_at, note, restores, active } =
            version;
        Self { version, sha256, applied_by, applied_at, note, restores, active }
    }
}

impl VersionView {
    /// Formats the version in a line for people.
    pub(crate) fn line(&self, out: &Output) -> String {
        let Self { version, sha256, applied_by, applied_at, note, restores, active: _ } = self;
        if *version == 0 {
            return "no policy was ever applied: each device has the grants of its own".to_owned();
        }
        let sha256 = text::one_line(sha256, 13);
        let at = text::when(&out.zone, *applied_at);
        let by = text::one_line(applied_by, 80);
        let back =
            if *restores > 0 { format!(", the text of version {restores}") } else { String::new() };
        let note = text::one_line(note, 200);
        let note = if note.is_empty() { note } else { format!(": {note}") };
        format!("version {version} ({sha256}), by {by} at {at}{back}{note}")
    }
}

/// One problem, or one entry to review.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct FindingView {
    pub(crate) severity: &'static str,
    pub(crate) code: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl From<v1::Finding> for FindingView {
    fn from(finding: v1::Finding) -> Self {
        let v1::Finding { is_error, code, line, column, message, hint } = finding;
        let severity = if is_error { "error" } else { "warning" };
        Self { severity, code, line, column, message, hint }
    }
}

impl From<&orion_policy::Finding> for FindingView {
    fn from(finding: &orion_policy::Finding) -> Self {
        let orion_policy::Finding { severity, file: _, line, column, code, message, hint } =
            finding;
        Self {
            severity: match severity {
                orion_policy::Severity::Error => "error",
                orion_policy::Severity::Warning => "warning",
            },
            code: code.as_str().to_owned(),
            line: *line,
            column: *column,
            message: message.clone(),
            hint: hint.clone(),
        }
    }
}

/// Formats findings as compilers do, each with its hint beneath.
pub(crate) fn findings_text(file: &str, findings: &[FindingView]) -> String {
    let lines = findings.iter().map(|finding| {
        let FindingView { severity, code, line, column, message, hint } = finding;
        let style = if *severity == "error" { BAD } else { ASKS };
        let message = text::one_line(message, 2000);
        let mut shown =
            format!("{file}:{line}:{column}: {style}{severity}[{code}]:{style:#} {message}");
        if !hint.is_empty() {
            shown.push_str(&format!("\n  {DIM}hint:{DIM:#} {}", text::one_line(hint, 2000)));
        }
        shown
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The changes on one device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct DeviceChangeView {
    pub(crate) device: String,
    pub(crate) lines: Vec<String>,
}

impl From<v1::DeviceChange> for DeviceChangeView {
    fn from(change: v1::DeviceChange) -> Self {
        let v1::DeviceChange { device, lines } = change;
        Self { device, lines }
    }
}

/// Formats the changes on each device, for people.
pub(crate) fn changes_text(changes: &[DeviceChangeView]) -> String {
    if changes.is_empty() {
        return "nothing changes on any device".to_owned();
    }
    let blocks = changes.iter().map(|change| {
        let lines = change.lines.iter().map(|line| format!("\n  {}", text::one_line(line, 400)));
        format!("{}:{}", text::one_line(&change.device, 80), lines.collect::<String>())
    });
    blocks.collect::<Vec<_>>().join("\n")
}

/// Formats versions for people.
pub(crate) fn versions_table(out: &Output, versions: &[VersionView]) -> String {
    let row = |version: &VersionView| {
        let sha256 = if out.is_wide() {
            version.sha256.clone()
        } else {
            text::one_line(&version.sha256, 13)
        };
        let note = match version.restores {
            0 => version.note.clone(),
            back if version.note.is_empty() => format!("back to version {back}"),
            back => format!("back to version {back}: {}", version.note),
        };
        vec![
            if version.active { "→" } else { "" }.to_owned(),
            version.version.to_string(),
            text::when(&out.zone, version.applied_at),
            version.applied_by.clone(),
            sha256,
            note,
        ]
    };
    table(&["", "VERSION", "APPLIED", "BY", "SHA-256", "NOTE"], versions.iter().map(row))
}

/// The state of the policy on one device, for programs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct OnDeviceView {
    pub(crate) device: String,
    pub(crate) online: bool,
    pub(crate) version: String,
    pub(crate) acknowledged_version: String,
    pub(crate) is_active: bool,
    pub(crate) line: u32,
    pub(crate) warnings: Vec<String>,
}

impl From<v1::PolicyOnDevice> for OnDeviceView {
    fn from(on: v1::PolicyOnDevice) -> Self {
        let v1::PolicyOnDevice { device, online, version, acknowledged_version, line, warnings } =
            on;
        let is_active = version == acknowledged_version;
        Self { device, online, version, acknowledged_version, is_active, line, warnings }
    }
}

/// Formats on which devices the policy is active, for people.
pub(crate) fn on_devices_table(devices: &[OnDeviceView]) -> String {
    let row = |on: &OnDeviceView| {
        let state = match (on.is_active, on.online) {
            (true, _) => "active",
            (false, true) => "lags",
            (false, false) => "lags, away",
        };
        let grants = if on.line > 0 { format!("line {}", on.line) } else { "its own".to_owned() };
        vec![on.device.clone(), text::one_line(&on.version, 13), state.to_owned(), grants]
    };
    table(&["DEVICE", "POLICY", "THERE", "GRANTS"], devices.iter().map(row))
}

/// Formats what devices report about names in their policy, for people.
pub(crate) fn found_there(devices: &[OnDeviceView]) -> String {
    let lines = devices.iter().flat_map(|on| {
        let line = |it: &String| {
            let device = text::one_line(&on.device, 80);
            format!("{ASKS}warning:{ASKS:#} {device}: {}", text::one_line(it, 1_000))
        };
        on.warnings.iter().map(line)
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global::Format;

    fn version(version: i64, restores: i64, note: &str) -> VersionView {
        VersionView {
            version,
            sha256: "0123456789abcdef".repeat(4),
            applied_by: "admin".to_owned(),
            applied_at: 1_700_000_000_000,
            note: note.to_owned(),
            restores,
            active: version == 3,
        }
    }

    #[test]
    fn versions_stand_in_a_table_the_one_that_holds_marked() {
        let out = Output::in_a_test(Format::Table);
        let versions = [version(3, 1, "too narrow"), version(2, 0, "narrower"), version(1, 0, "")];
        insta::assert_snapshot!(versions_table(&out, &versions), @"
           VERSION  APPLIED              BY     SHA-256        NOTE
        →  3        2023-11-14 22:13:20  admin  0123456789ab…  back to version 1: too narrow
           2        2023-11-14 22:13:20  admin  0123456789ab…  narrower
           1        2023-11-14 22:13:20  admin  0123456789ab…
        ");
        insta::assert_snapshot!(versions[0].line(&out), @"version 3 (0123456789ab…), by admin at 2023-11-14 22:13:20, the text of version 1: too narrow");
    }

    #[test]
    fn a_finding_names_its_place_and_has_its_hint_beneath() {
        let finding = FindingView {
            severity: "error",
            code: "unknown-tool".to_owned(),
            line: 4,
            column: 13,
            message: "There is no tool `read_fil`.".to_owned(),
            hint: "Did you mean `read_file`?".to_owned(),
        };
        let shown =
            anstream::adapter::strip_str(&findings_text("policy.yaml", &[finding])).to_string();
        insta::assert_snapshot!(shown, @"
        policy.yaml:4:13: error[unknown-tool]: There is no tool `read_fil`.
          hint: Did you mean `read_file`?
        ");
    }

    #[test]
    fn a_device_that_lags_is_told_from_one_that_is_away() {
        let on = |device: &str, online, acknowledged: &str, line| v1::PolicyOnDevice {
            device: device.to_owned(),
            online,
            version: "0123456789abcdef".to_owned(),
            acknowledged_version: acknowledged.to_owned(),
            line,
            warnings: Vec::new(),
        };
        let devices = [
            on("laptop-123", true, "0123456789abcdef", 12),
            on("kiosk", true, "", 0),
            on("web-1", false, "fedcba9876543210", 0),
        ];
        let devices: Vec<_> = devices.into_iter().map(OnDeviceView::from).collect();
        insta::assert_snapshot!(on_devices_table(&devices), @"
        DEVICE      POLICY         THERE       GRANTS
        laptop-123  0123456789ab…  active      line 12
        kiosk       0123456789ab…  lags        its own
        web-1       0123456789ab…  lags, away  its own
        ");
    }
}
