//! A person's yes is to exactly one call: whatever else is made of it is refused by the device.

use std::collections::BTreeSet;
use std::time::Duration;

use orion_agent::guard::Guard;
use orion_catalog::find;
use orion_domain::observation::Kind;
use orion_domain::{
    ApprovalBasis, ApprovalId, CallBinding, CallId, CanonicalArguments, ConversationId, DeviceId,
    Digest, Grants, Observation, PathStyle, Places, Role,
};
use orion_tests::{Deceived, Link, LyingServer};
use orion_wire::{DevicePolicy, Dispatched, v1};
use serde_json::{Value, json};
use tonic_prost::prost::Message as _;
use uuid::Uuid;

/// How many calls are made of approved ones.
const MUTATIONS: u64 = 100_000;

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 += 1;
        let digest = Digest::of(&self.0.to_be_bytes());
        let number = u64::from_be_bytes(digest.as_bytes()[..8].try_into().unwrap());
        usize::try_from(number % u64::try_from(sides).unwrap()).unwrap()
    }

    fn uuid(&mut self) -> Uuid {
        self.0 += 1;
        let bytes: [u8; 16] =
            Digest::of(&self.0.to_be_bytes()).as_bytes()[..16].try_into().unwrap();
        Uuid::from_bytes(bytes)
    }
}

fn places() -> Places {
    Places::parse(PathStyle::Posix, Some("/srv/files"), Some("/home/ann")).unwrap()
}

fn guard(device: DeviceId) -> Guard {
    let grants: Grants =
        serde_json::from_value(json!({"profile": "operator", "paths": ["/srv/files"]})).unwrap();
    let (ceiling, _) = grants.compile(&places());
    let mut guard = Guard::new(device, "kiosk".parse().unwrap(), places(), ceiling);
    let bytes = DevicePolicy { grants, ..DevicePolicy::default() }.to_bytes();
    guard.update(&DevicePolicy::version_of(&bytes), &bytes).unwrap();
    guard
}

/// A dangerous call with a person's yes, as an honest backend sends it.
fn approved(guard: &Guard, device: DeviceId, dice: &mut Dice) -> v1::Dispatch {
    let (tool, arguments) = match dice.roll(2) {
        0 => (
            "delete_file",
            json!({"path": format!("/srv/files/{}", dice.roll(50)), "confirm": true}),
        ),
        _ => (
            "delete_directory",
            json!({"path": format!("/srv/files/{}", dice.roll(50)), "recursive": true, "confirm": true}),
        ),
    };
    let (spec, _) = find(tool).unwrap();
    let parsed = spec.parse(arguments.as_object().unwrap().clone(), &places()).unwrap();
    let caller = orion_domain::Caller {
        user: "ann".parse().unwrap(),
        role: Role::Operator,
        conversation: (dice.roll(2) == 0).then(|| ConversationId::new(dice.uuid())),
    };
    let call = CallId::new(dice.uuid());
    let expires_at = orion_agent::clock::now_ms() + 60_000;
    let seen = |touch: &orion_domain::touches::PathTouch| Observation {
        path: touch.path.to_string(),
        real: touch.path.to_string(),
        kind: Kind::File,
        bytes: 5,
        mode: 0o644,
        digest: Some(Digest::of(b"12345")),
    };
    let observed: Vec<_> = parsed.touches.paths.iter().map(seen).collect();
    let binding = CallBinding {
        call,
        device,
        tool,
        arguments: &parsed.arguments,
        caller: &caller,
        touches: &parsed.touches,
        basis: ApprovalBasis::Preview,
        observed: &observed,
        policy_version: &guard.policy().version,
        raises: &[],
        expires_at,
    };
    v1::Dispatch {
        call_id: call.to_string(),
        tool: tool.to_owned(),
        arguments: parsed.arguments.as_bytes().to_vec().into(),
        dry_run: false,
        time_left_ms: 30_000,
        risk: orion_wire::risk(spec.risk).into(),
        policy_version: guard.policy().version.clone(),
        user: caller.user.to_string(),
        role: caller.role.to_string(),
        conversation_id: caller.conversation.map(|id| id.to_string()).unwrap_or_default(),
        approval: Some(v1::ApprovalProof {
            approval_id: ApprovalId::new(dice.uuid()).to_string(),
            binding: binding.digest().as_bytes().to_vec().into(),
            approved_by: "bob".to_owned(),
            expires_at,
            raises: Vec::new(),
            basis: v1::ApprovalBasis::Preview.into(),
        }),
        traceparent: String::new(),
        device_id: device.to_string(),
        observe: false,
        observed: orion_wire::observed_bytes(&observed).into(),
        definition: Vec::new().into(),
    }
}

/// The same with one thing changed that a yes is bound to.
fn mutated(call: &v1::Dispatch, other: &v1::Dispatch, dice: &mut Dice) -> v1::Dispatch {
    let mut call = call.clone();
    let mut arguments: Value = serde_json::from_slice(&call.arguments).unwrap();
    match dice.roll(17) {
        0 => call.call_id = dice.uuid().to_string(),
        1 => call.device_id = dice.uuid().to_string(),
        2 => {
            call.tool = if call.tool == "delete_file" { "delete_directory" } else { "delete_file" }
                .to_owned();
        }
        3 => arguments["path"] = format!("/srv/files/elsewhere-{}", dice.roll(1000)).into(),
        4 => arguments["confirm"] = false.into(),
        5 => arguments["recursive"] = (arguments["recursive"] != json!(true)).into(),
        6 => call.user = format!("user-{}", dice.roll(1000)),
        7 => call.role = "admin".to_owned(),
        8 => call.conversation_id = dice.uuid().to_string(),
        9 => call.approval = None,
        10 => call.approval.clone_from(&other.approval),
        11 => {
            let proof = call.approval.as_mut().unwrap();
            let mut binding = proof.binding.to_vec();
            binding[dice.roll(32)] ^= 1 << dice.roll(8);
            proof.binding = binding.into();
        }
        13 => call.observed = Vec::new().into(),
        14 => call.observed.clone_from(&other.observed),
        15 => {
            let basis = if dice.roll(2) == 0 {
                v1::ApprovalBasis::Standing
            } else {
                v1::ApprovalBasis::Plan
            };
            call.approval.as_mut().unwrap().basis = basis.into();
        }
        12 => call.approval.as_mut().unwrap().expires_at += 1 + i64::from(dice.roll(2) == 0),
        _ => {
            let mut bytes = call.arguments.to_vec();
            let at = dice.roll(bytes.len());
            bytes[at] ^= 1 << dice.roll(8);
            call.arguments = bytes.into();
            return call;
        }
    }
    call.arguments = CanonicalArguments::from_value(&arguments).as_bytes().to_vec().into();
    call
}

/// Whether two messages are the same call to the one who gets them: identifiers can be spelled in
/// several ways.
fn is_same_call(one: &v1::Dispatch, other: &v1::Dispatch) -> bool {
    let (Ok(one), Ok(other)) =
        (Dispatched::try_from(one.clone()), Dispatched::try_from(other.clone()))
    else {
        return false;
    };
    one.call == other.call
        && one.device == other.device
        && one.tool == other.tool
        && one.arguments == other.arguments
        && one.caller == other.caller
        && one.observed == other.observed
}

/// Whether the device would run it.
fn runs(guard: &Guard, call: &v1::Dispatch, spent: &BTreeSet<ApprovalId>) -> bool {
    let Ok(call) = Dispatched::try_from(call.clone()) else { return false };
    !call.dry_run && guard.admit(&call, |id| spent.contains(&id)).is_ok()
}

#[test]
fn of_a_hundred_thousand_mutations_of_approved_calls_none_is_accepted_and_no_replay_is() {
    let device = DeviceId::new(Uuid::from_u128(1));
    let (guard, mut dice) = (guard(device), Dice(0));
    let (mut fields, mut bits, mut undecodable, mut accepted, mut replays) = (0, 0, 0, 0, 0);
    let none = BTreeSet::new();
    while fields + bits + undecodable < MUTATIONS {
        let call = approved(&guard, device, &mut dice);
        let other = approved(&guard, device, &mut dice);
        assert!(runs(&guard, &call, &none), "the call itself is approved: {call:?}");
        // Sent again, and its yes under another call's name.
        let id = call.approval.as_ref().unwrap().approval_id.parse().unwrap();
        replays += u64::from(runs(&guard, &call, &BTreeSet::from([id])));
        for _ in 0..60 {
            let changed = mutated(&call, &other, &mut dice);
            if changed == call {
                continue;
            }
            fields += 1;
            accepted += u64::from(runs(&guard, &changed, &none));
        }
        // Any bit of the message as it is on the wire. What a yes says nothing of may differ (how
        // long is left, who is named as the approver); then it is the call that was approved.
        let bytes = call.encode_to_vec();
        for _ in 0..40 {
            let mut flipped = bytes.clone();
            let at = dice.roll(flipped.len());
            flipped[at] ^= 1 << dice.roll(8);
            let Ok(changed) = v1::Dispatch::decode(&flipped[..]) else {
                undecodable += 1;
                continue;
            };
            bits += 1;
            let same = is_same_call(&changed, &call);
            accepted += u64::from(!same && runs(&guard, &changed, &none));
        }
    }
    println!(
        "{fields} changed fields, {bits} flipped bits, {undecodable} unreadable: {accepted} accepted; {replays} replays accepted"
    );
    assert_eq!((accepted, replays), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_the_wire_none_of_a_sample_is_run_either() {
    let server = LyingServer::start().await;
    let config = "[ceiling]\nprofile = \"operator\"\npaths = [\"{files}\"]\n";
    let device = Deceived::start(&server, config).await;
    let mut link: Link = server.link().await;
    let ack = link.grant(json!({"profile": "operator", "paths": ["/"]})).await;
    assert_eq!(ack.error, "");
    let folders = 40;
    for n in 0..folders {
        std::fs::create_dir(device.files().join(n.to_string())).unwrap();
    }
    let untouched = device.tree();
    let mut dice = Dice(7);
    let order = |link: &Link, n: usize| {
        let path = device.path(&n.to_string());
        let arguments = json!({"path": path, "recursive": true, "confirm": true});
        let order = link.order("delete_directory", &arguments);
        v1::Dispatch { approval: Some(link.approval_of(&order)), ..order }
    };
    let mut sent = 0;
    for n in 0..folders {
        for _ in 0..5 {
            let (call, other) = (order(&link, n), order(&link, (n + 1) % folders));
            let changed = mutated(&call, &other, &mut dice);
            if changed == call {
                continue;
            }
            let call_id = changed.call_id.clone();
            link.send(v1::link_response::Message::Dispatch(changed.clone())).await;
            if Dispatched::try_from(changed).is_ok() {
                let (state, code, _) = link.answer_to(&call_id).await;
                assert_eq!(state, "refused", "{code}");
            }
            sent += 1;
        }
    }
    // Whatever came before was dealt with once this is answered.
    let last = link.order("list_directory", &json!({"path": device.files()}));
    let done = tokio::time::timeout(Duration::from_secs(30), link.dispatch(last)).await.unwrap();
    assert_eq!(done.0, "succeeded");
    assert!(sent > 150, "{sent}");
    assert_eq!(device.tree(), untouched);
}
