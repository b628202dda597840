//! Formats devices.

use std::collections::BTreeMap;

use orion_wire::v1;
use serde::Serialize;
use serde_json::Value;

use crate::json;
use crate::output::{Output, facts, table};
use crate::text;

/// A device for programs; the comments in `proto/` describe the fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct DeviceView {
    pub(crate) device_id: String,
    pub(crate) name: String,
    pub(crate) state: &'static str,
    /// Why the device waits although its token approves devices; empty otherwise.
    pub(crate) pending_reason: String,
    pub(crate) online: bool,
    pub(crate) os: String,
    pub(crate) hostname: String,
    pub(crate) agent_version: String,
    pub(crate) fingerprint_words: String,
    pub(crate) sandbox: String,
    pub(crate) enrolled_at: i64,
    pub(crate) last_seen_at: i64,
    pub(crate) certificate_not_after: i64,
    pub(crate) policy_version: String,
    pub(crate) acknowledged_policy_version: String,
    pub(crate) grants: Value,
    pub(crate) ceiling: Value,
    /// The place in the policy file that grants; empty where the device has its own grants.
    pub(crate) policy_source: String,
    /// Names in the policy that the device does not have as named.
    pub(crate) policy_warnings: Vec<String>,
    /// The labels by which rules select the device.
    pub(crate) labels: BTreeMap<String, String>,
    /// The dangerous mode. `None` while the grants are enforced in full.
    pub(crate) dangerous: Option<DangerousView>,
    /// The pause of the device's owner. `None` where the device is not paused, or not connected.
    pub(crate) paused: Option<PauseView>,
    /// The last position of the device's own audit that the backend has received.
    pub(crate) chain_seq: i64,
    pub(crate) chain_hash: String,
    /// The contradiction with earlier reports of the device's audit; empty where there is none.
    pub(crate) chain_problem: String,
    pub(crate) chain_problem_at: i64,
}

/// A pause that only the device's owner can end.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct PauseView {
    pub(crate) by: String,
    pub(crate) since: i64,
    /// 0 for never.
    pub(crate) until: i64,
    pub(crate) fault: String,
}

impl From<v1::OwnerPause> for PauseView {
    fn from(pause: v1::OwnerPause) -> Self {
        let v1::OwnerPause { by, since, until, fault } = pause;
        Self { by, since, until, fault }
    }
}

impl PauseView {
    fn sentence(&self, out: &Output) -> String {
        let Self { by, since, until, fault } = self;
        if !fault.is_empty() {
            return format!("counts as paused: {}", text::one_line(fault, 200));
        }
        let end = match until {
            0 => "until `orion-agent resume` on the device".to_owned(),
            until => format!("until {}", text::when(&out.zone, *until)),
        };
        format!("since {}, by {}, {end}", text::when(&out.zone, *since), text::one_line(by, 64))
    }
}

/// The mode in which a device's tool list and capabilities are lifted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct DangerousView {
    pub(crate) until: i64,
    pub(crate) set_by: String,
    pub(crate) set_at: i64,
    pub(crate) reason: String,
}

impl From<v1::DangerousMode> for DangerousView {
    fn from(mode: v1::DangerousMode) -> Self {
        let v1::DangerousMode { until, set_by, set_at, reason } = mode;
        Self { until, set_by, set_at, reason }
    }
}

impl From<v1::Device> for DeviceView {
    fn from(device: v1::Device) -> Self {
        let v1::Device {
            device_id,
            name,
            state,
            online,
            os,
            hostname,
            agent_version,
            fingerprint_words,
            enrolled_at,
            last_seen_at,
            policy_version,
            acknowledged_policy_version,
            certificate_not_after,
            grants,
            ceiling,
            sandbox,
            dangerous,
            policy_source,
            chain_seq,
            chain_hash,
            chain_problem,
            chain_problem_at,
            policy_warnings,
            pause,
            labels,
            pending_reason,
        } = device;
        Self {
            device_id,
            name,
            state: match v1::DeviceState::try_from(state) {
                Ok(v1::DeviceState::Pending) => "pending",
                Ok(v1::DeviceState::Approved) => "approved",
                Ok(v1::DeviceState::Rejected) => "rejected",
                Ok(v1::DeviceState::Quarantined) => "quarantined",
                Ok(v1::DeviceState::Revoked) => "revoked",
                Ok(v1::DeviceState::Unspecified) | Err(_) => "unknown",
            },
            pending_reason,
            online,
            os,
            hostname,
            agent_version,
            fingerprint_words,
            sandbox,
            enrolled_at,
            last_seen_at,
            certificate_not_after,
            policy_version,
            acknowledged_policy_version,
            grants: json::embedded(&grants),
            ceiling: json::embedded(&ceiling),
            policy_source,
            policy_warnings,
            labels: labels.into_iter().collect(),
            dangerous: dangerous.map(DangerousView::from),
            paused: pause.map(PauseView::from),
            chain_seq,
            chain_hash: text::hex(&chain_hash),
            chain_problem,
            chain_problem_at,
        }
    }
}

impl DeviceView {
    /// Returns when the device was last connected.
    fn last_seen(&self, out: &Output) -> String {
        if self.online { "now".to_owned() } else { text::when(&out.zone, self.last_seen_at) }
    }

    /// Returns whether the backend's policy is active on the device.
    fn policy(&self) -> String {
        let version = text::one_line(&self.policy_version, 12);
        match () {
            () if self.policy_version.is_empty() => "none".to_owned(),
            () if self.policy_version == self.acknowledged_policy_version => {
                format!("{version} active")
            }
            () => format!("{version} not yet on the device"),
        }
    }

    /// Formats the labels on one line; empty without any.
    pub(crate) fn labels_text(&self) -> String {
        let label = |(key, value): (&String, &String)| format!("{key}={value}");
        text::one_line(&self.labels.iter().map(label).collect::<Vec<_>>().join(", "), 4_000)
    }

    /// Returns whether the certificate has expired. A device that is connected has a newer one than it reported.
    fn has_expired(&self) -> bool {
        let now = jiff::Timestamp::now().as_millisecond();
        !self.online && self.state == "approved" && (1..now).contains(&self.certificate_not_after)
    }

    fn certificate(&self, out: &Output) -> String {
        let at = text::when(&out.zone, self.certificate_not_after);
        if self.has_expired() {
            return format!("expired on {at}; the device renews it when it connects");
        }
        format!("until {at}")
    }

    /// Formats the dangerous mode, and its end.
    fn mode(&self, out: &Output) -> String {
        let Some(DangerousView { until, set_by, set_at: _, reason }) = &self.dangerous else {
            return String::new();
        };
        format!("dangerous until {}, by {set_by}: {reason}", text::when(&out.zone, *until))
    }

    /// Formats the state of the device's own audit, as far as the backend has received it.
    fn audit(&self, out: &Output) -> String {
        let head = self.chain_hash.get(..12).unwrap_or_default();
        let seen = match self.chain_seq {
            0 => String::new(),
            seq => format!("{} seen, head {head}", text::counted(seq, "entry", "entries")),
        };
        if self.chain_problem.is_empty() {
            return seen;
        }
        let at = text::when(&out.zone, self.chain_problem_at);
        format!("{seen}; BROKEN at {at}: {}", text::plain(&self.chain_problem))
    }

    /// Formats one device for people.
    pub(crate) fn page(&self, out: &Output) -> String {
        let grants = |grants: &Value| {
            if grants.is_null() {
                String::new()
            } else {
                serde_yaml_ng::to_string(grants).unwrap_or_default().trim_end().to_owned()
            }
        };
        let at = |ms| text::when(&out.zone, ms);
        let warnings = self.policy_warnings.iter().map(|it| text::one_line(it, 1_000));
        let warnings = warnings.collect::<Vec<_>>().join("\n");
        facts([
            ("name", self.name.clone()),
            ("id", self.device_id.clone()),
            ("state", self.state.to_owned()),
            ("waits because", text::one_line(&self.pending_reason, 400)),
            ("online", if self.online { "yes" } else { "no" }.to_owned()),
            ("system", self.os.clone()),
            ("hostname", self.hostname.clone()),
            ("agent", self.agent_version.clone()),
            ("fingerprint", self.fingerprint_words.clone()),
            ("sandbox", self.sandbox.clone()),
            ("enrolled", at(self.enrolled_at)),
            ("last seen", self.last_seen(out)),
            ("certificate", self.certificate(out)),
            ("mode", self.mode(out)),
            ("paused", self.paused.as_ref().map(|it| it.sentence(out)).unwrap_or_default()),
            ("policy", self.policy()),
            ("audit", self.audit(out)),
            ("labels", self.labels_text()),
            ("found there", warnings),
            ("grants from", self.policy_source.clone()),
            ("grants", grants(&self.grants)),
            ("ceiling", grants(&self.ceiling)),
        ])
    }
}

/// Formats devices for people, with what is to be known of some of them.
pub(crate) fn devices_table(out: &Output, devices: &[DeviceView]) -> String {
    let expired = devices.iter().filter(|device| device.has_expired());
    let expired =
        expired.map(|device| format!("\n{}: certificate {}", device.name, device.certificate(out)));
    let table = std::iter::once(table_of(out, devices));
    table.chain(expired).chain(pending_reasons(devices)).collect()
}

/// Says why devices wait although their token approves devices.
fn pending_reasons(devices: &[DeviceView]) -> impl Iterator<Item = String> {
    let waiting = devices.iter().filter(|device| !device.pending_reason.is_empty());
    waiting.map(|device| {
        format!("\n{} waits because {}", device.name, text::one_line(&device.pending_reason, 400))
    })
}

fn table_of(out: &Output, devices: &[DeviceView]) -> String {
    let mut header = vec!["NAME", "STATE", "ONLINE", "OS", "POLICY", "LAST SEEN"];
    if out.is_wide() {
        header.extend([
            "LABELS",
            "HOSTNAME",
            "AGENT",
            "SANDBOX",
            "CERTIFICATE UNTIL",
            "FINGERPRINT",
            "ID",
        ]);
    }
    let row = |device: &DeviceView| {
        let mut row = vec![
            device.name.clone(),
            {
                let dangerous = if device.dangerous.is_some() { ", DANGEROUS" } else { "" };
                let paused = if device.paused.is_some() { ", paused" } else { "" };
                format!("{}{dangerous}{paused}", device.state)
            },
            if device.online { "yes" } else { "no" }.to_owned(),
            device.os.clone(),
            device.policy(),
            device.last_seen(out),
        ];
        if out.is_wide() {
            row.extend([
                device.labels_text(),
                device.hostname.clone(),
                device.agent_version.clone(),
                device.sandbox.clone(),
                text::when(&out.zone, device.certificate_not_after),
                device.fingerprint_words.clone(),
                device.device_id.clone(),
            ]);
        }
        row
    };
    table(&header, devices.iter().map(row))
}

/// Formats devices that wait for approval, with the words to compare on the device itself.
pub(crate) fn pending_table(out: &Output, devices: &[DeviceView]) -> String {
    let row = |device: &DeviceView| {
        vec![
            device.name.clone(),
            device.os.clone(),
            device.fingerprint_words.clone(),
            text::when(&out.zone, device.enrolled_at),
        ]
    };
    let table = table(&["NAME", "OS", "FINGERPRINT", "ENROLLED"], devices.iter().map(row));
    std::iter::once(table).chain(pending_reasons(devices)).collect()
}

#[cfg(test)]
mod tests;
