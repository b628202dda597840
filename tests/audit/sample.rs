//! A backend's export of some 60 rows and the exports of two devices, as real ones write them.

use orion_audit::device::{ChainHeader, DeviceChain, DeviceEntry, DeviceSigner, Happened};
use orion_audit::merkle::{Tree, leaf};
use orion_audit::{Checkpoint, Exporter, Signer, VerifierKey};
use orion_domain::audit::{AuditHead, AuditRow};
use orion_domain::{CallState, Digest};
use orion_mtls::DeviceKey;
use serde_json::{Value, json};

/// After how many rows there is a checkpoint.
const EVERY: i64 = 16;

pub(crate) struct Sample {
    pub(crate) key: VerifierKey,
    pub(crate) export: String,
    devices: Vec<Vec<u8>>,
}

/// A device's key, as one is made.
pub(crate) fn device_key() -> DeviceSigner {
    let key = DeviceKey::generate().unwrap();
    let signer = DeviceSigner::from_pkcs8(key.to_pkcs8().expose()).unwrap();
    assert_eq!(signer.fingerprint().to_string(), key.fingerprint().to_string());
    signer
}

/// Both sides while they go on.
struct Both {
    rows: Vec<AuditRow>,
    head: AuditHead,
    chains: Vec<DeviceChain>,
    at: i64,
    calls: u32,
}

impl Both {
    fn row(&mut self, kind: &str, call: &str, body: &Value) {
        self.at += 7;
        let row = AuditRow::link(self.head, self.at, kind, call, body.to_string());
        self.head = row.head();
        self.rows.push(row);
    }

    fn open(&mut self, device: usize, tool: &str, has_effects: bool) -> (String, Digest) {
        self.calls += 1;
        let call = format!("0199b2c4-7f3e-7c11-9a52-{:012x}", self.calls);
        let arguments =
            json!({"path": format!("/home/ann/{}", self.calls), "text": "héllo\n\"x\""});
        let digest = Digest::of(arguments.to_string().as_bytes());
        let id = self.chains[device].header.device.clone();
        let body = json!({
            "user": "ann", "role": "operator", "device_id": id, "tool": tool,
            "arguments": arguments, "arguments_digest": digest, "decision": "allow",
            "has_effects": has_effects, "dry_run": false,
        });
        self.row("call.opened", &call, &body);
        (call, digest)
    }

    /// The device notes an end; gives what it tells of it.
    fn note(&mut self, device: usize, call: &str, arguments: Digest, state: CallState) -> Value {
        let chain = &mut self.chains[device];
        let what = Happened {
            at: self.at,
            call_id: call.to_owned(),
            tool: "write_file".to_owned(),
            arguments: Some(arguments),
            state,
            code: if state == CallState::Succeeded { String::new() } else { "X".to_owned() },
            result: Digest::of(format!("{call} {state}").as_bytes()),
        };
        let entry = DeviceEntry::link(&chain.header.device, chain.head(), self.head, what);
        let told = json!({"entry": entry.seq, "seq": entry.seq, "hash": entry.hash});
        chain.push(entry).unwrap();
        told
    }

    fn close(&mut self, kind: &str, call: &str, state: CallState, witness: Option<&Value>) {
        let mut body = json!({
            "state": state, "code": null, "duration_us": 250,
            "result_digest": Digest::of(format!("{call} {state}").as_bytes()),
        });
        if let Some(witness) = witness {
            body["witness"] = witness.clone();
        }
        self.row(kind, call, &body);
    }

    fn call(&mut self, device: usize, state: CallState) {
        let (call, arguments) = self.open(device, "write_file", true);
        let told = self.note(device, &call, arguments, state);
        self.close("call.closed", &call, state, Some(&told));
    }
}

impl Sample {
    pub(crate) fn new() -> Self {
        let chain = |id: &str| DeviceChain {
            header: ChainHeader::new(id, AuditHead::EMPTY),
            entries: Vec::new(),
        };
        let chains = vec![
            chain("0198aaaa-7f3e-7c11-9a52-0d3f1c2b4a5e"),
            chain("0198bbbb-7f3e-7c11-9a52-0d3f1c2b4a5e"),
        ];
        let (rows, head) = (Vec::new(), AuditHead::EMPTY);
        let mut both = Both { rows, head, chains, at: 1_700_000_000_000, calls: 0 };
        both.row("user.created", "", &json!({"user": "admin"}));
        let keys = [device_key(), device_key()];
        for (device, key) in keys.iter().enumerate() {
            let body = json!({
                "device_id": both.chains[device].header.device, "name": format!("device-{device}"),
                "state": "approved", "public_key_fingerprint": key.fingerprint(), "grants": null,
            });
            both.row("device.enrolled", "", &body);
        }
        for turn in 0..5 {
            both.call(0, CallState::Succeeded);
            both.call(1, if turn == 2 { CallState::Failed } else { CallState::Succeeded });
            // A read, which no device notes.
            let (call, _) = both.open(turn % 2, "read_file", false);
            let head = both.chains[turn % 2].head();
            let witness = json!({"entry": 0, "seq": head.seq, "hash": head.hash});
            both.close("call.closed", &call, CallState::Succeeded, Some(&witness));
            both.call(turn % 2, CallState::Refused);
        }
        // The device died under a call, and said later what became of it.
        let (call, arguments) = both.open(0, "delete_file", true);
        both.close("call.closed", &call, CallState::Unknown, None);
        both.note(0, &call, arguments, CallState::Unknown);
        let told = both.note(0, &call, arguments, CallState::Succeeded);
        both.close("call.reconciled", &call, CallState::Succeeded, Some(&told));
        // The backend gave up on a call before its device told.
        let (call, arguments) = both.open(1, "write_file", true);
        both.close("call.closed", &call, CallState::TimedOut, None);
        let told = both.note(1, &call, arguments, CallState::Succeeded);
        both.close("call.late_result", &call, CallState::Succeeded, Some(&told));
        for turn in 0..6 {
            both.row("session.began", "", &json!({"user": "ann", "turn": turn}));
            both.call(turn % 2, CallState::Succeeded);
        }
        Self::signed(both, &keys)
    }

    fn signed(both: Both, keys: &[DeviceSigner]) -> Self {
        let signer = Signer::from_pkcs8(&Signer::generate().unwrap()).unwrap();
        let (mut exporter, mut export) = Exporter::begin(&signer, both.head, both.at + 1_000);
        let mut tree = Tree::default();
        for row in &both.rows {
            tree.push(leaf(&row.canonical()));
            export.push_str(&exporter.row(row));
            if row.seq % EVERY == 0 {
                let note = Checkpoint::sign(&signer, &tree, Vec::new());
                export.push_str(&exporter.checkpoint(note));
            }
        }
        export.push_str(&exporter.end(&signer, Some(tree.root())));
        let made = |(chain, key): (&DeviceChain, &DeviceSigner)| key.export(chain, both.at + 2_000);
        let devices = both.chains.iter().zip(keys).map(made);
        let devices = devices.map(|text| text.unwrap().into_bytes()).collect();
        Self { key: signer.key().clone(), export, devices }
    }

    /// The export and those of the devices.
    pub(crate) fn files(&self) -> Vec<Vec<u8>> {
        let mut files = vec![self.export.clone().into_bytes()];
        files.extend(self.devices.clone());
        files
    }
}
