//! Becoming a device: a token is good for what it says and for nothing more.

use orion_agent::state::{EnrollmentStage, Pending, State};
use orion_domain::{Digest, Secret};
use orion_mtls::{DeviceKey, Fingerprint, PinSet, pinned};
use orion_tests::{LyingServer, World, channel, eventually, now_ms};
use orion_wire::v1::enrollment_service_client::EnrollmentServiceClient;
use orion_wire::{EnrollmentToken, v1};
use tonic::transport::Channel;

/// The enrolment service as a device reaches it: over a connection that checks the token's pins.
async fn enrolling(token: &EnrollmentToken) -> EnrollmentServiceClient<Channel> {
    let pins = token.pins.iter().map(|pin| Fingerprint(*pin.as_bytes()));
    let tls = pinned(PinSet::new(pins).unwrap()).unwrap();
    EnrollmentServiceClient::new(channel(&token.addresses[0], tls).await.unwrap())
}

fn request(token: &EnrollmentToken, name: &str) -> v1::EnrollRequest {
    v1::EnrollRequest {
        invite_id: token.invite_id.to_string(),
        secret: token.secret.expose().to_owned(),
        certificate_request: DeviceKey::generate().unwrap().csr().unwrap(),
        suggested_name: name.to_owned(),
        hostname: name.to_owned(),
        os: "linux".to_owned(),
        ticket: String::new(),
        arch: "x86_64".to_owned(),
    }
}

/// How often each of these stands in the audit.
async fn audited<const N: usize>(world: &World, kinds: [&str; N]) -> [usize; N] {
    let request = v1::ListAuditRequest { limit: 500, ..Default::default() };
    let rows = world.admin().audit().list_audit(request).await.unwrap().into_inner().rows;
    kinds.map(|kind| rows.iter().filter(|row| row.kind == kind).count())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_good_once() {
    let world = World::new().await;
    let (kiosk, token) = world.device("kiosk").invite().await;
    let (other, _) = world.device("other").invite().await;
    assert_eq!(kiosk.enroll(&token).exit_code().await, 0);

    let again = other.enroll(&token);
    assert_eq!(again.exit_code().await, 4);
    insta::assert_snapshot!(world.seen().in_text(&again.log()));
    assert!(!other.state_dir().join("identity.toml").exists());
    let twice = kiosk.enroll(&token);
    assert_eq!(twice.exit_code().await, 4);
    assert!(twice.log().contains("enrolled already"), "{}", twice.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_whose_answer_was_lost_goes_on_where_it_was() {
    let world = World::new().await;
    let (kiosk, text) = world.device("kiosk").invite().await;
    let token: EnrollmentToken = text.parse().unwrap();
    // What an agent keeps before it asks; the answer comes to nobody.
    let pending = Pending {
        stage: EnrollmentStage::Asked {
            invite: token.invite_id,
            secret: token.secret.clone(),
            name: None,
        },
        ticket: Secret::new("a-ticket-that-nobody-can-guess-at-all"),
        addresses: token.addresses.clone(),
        pins: PinSet::new(token.pins.iter().map(|pin| Fingerprint(*pin.as_bytes())))
            .unwrap()
            .to_string(),
        key: DeviceKey::generate().unwrap(),
        first_config: None,
    };
    pending.save(&State::open(&kiosk.state_dir()).unwrap()).unwrap();
    let asked = v1::EnrollRequest {
        certificate_request: pending.key.csr().unwrap(),
        ticket: pending.ticket.expose().to_owned(),
        ..request(&token, "kiosk")
    };
    let mut client = enrolling(&token).await;
    let lost = client.enroll(asked.clone()).await.unwrap().into_inner();
    let status = kiosk.agent_command(&["status"]);
    assert_eq!(status.exit_code().await, 4);
    assert!(status.log().contains("has no answer yet"), "{}", status.log());

    // However often it asks, it is one device with one certificate.
    for _ in 0..5 {
        assert_eq!(client.enroll(asked.clone()).await.unwrap().into_inner(), lost);
        let (device_id, ticket) = (lost.device_id.clone(), asked.ticket.clone());
        let request = v1::GetEnrollmentRequest { device_id, ticket };
        let polled = client.get_enrollment(request).await.unwrap().into_inner();
        assert_eq!(polled.certificate, lost.certificate);
    }
    // Nobody else comes in its place: not without the ticket, nor with another key.
    let guess = v1::EnrollRequest { ticket: "guess".repeat(10), ..asked.clone() };
    client.enroll(guess).await.unwrap_err();
    let other = v1::EnrollRequest { ticket: asked.ticket.clone(), ..request(&token, "kiosk") };
    client.enroll(other).await.unwrap_err();
    let short = v1::EnrollRequest { ticket: "short".to_owned(), ..asked.clone() };
    assert_eq!(client.enroll(short).await.unwrap_err().code(), tonic::Code::InvalidArgument);

    let again = kiosk.enroll(&text);
    assert_eq!(again.exit_code().await, 0, "{}", again.log());
    kiosk.run().await;
    let call = world.admin().call("kiosk", "get_datetime", serde_json::json!({})).await;
    assert_eq!(call.end(), (orion_domain::CallState::Succeeded, None));
    let kinds = ["invite.redeemed", "device.enrolled", "certificate.issued"];
    assert_eq!(audited(&world, kinds).await, [1, 1, 1]);
    // The row of a certificate has the device's id alone; it is found by the name.
    let of_kiosk =
        v1::ListAuditRequest { device: "kiosk".to_owned(), limit: 500, ..Default::default() };
    let rows = world.admin().audit().list_audit(of_kiosk).await.unwrap().into_inner().rows;
    assert!(rows.iter().any(|row| row.kind == "certificate.issued" && row.device == "kiosk"));
    // Once it has connected, asking gives nothing any more.
    client.enroll(asked).await.unwrap_err();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_twenty_at_once_one_gets_the_token() {
    let world = World::new().await;
    let (_, token) = world.device("kiosk").invite().await;
    let token: EnrollmentToken = token.parse().unwrap();
    // Each has a connection of its own: one takes 16 requests at once.
    let mut tries = Vec::new();
    for _ in 0..20 {
        let (mut client, request) = (enrolling(&token).await, request(&token, "kiosk"));
        tries.push(tokio::spawn(async move { client.enroll(request).await.map(drop) }));
    }
    let (mut devices, mut refused) = (0, Vec::new());
    for one in tries {
        match one.await.unwrap() {
            Ok(()) => devices += 1,
            Err(status) => refused.push(status.code()),
        }
    }
    assert_eq!((devices, refused), (1, vec![tonic::Code::Unauthenticated; 19]));
    let list =
        world.admin().devices().list_devices(v1::ListDevicesRequest::default()).await.unwrap();
    assert_eq!(list.into_inner().devices.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_whose_time_is_over_is_refused_on_both_sides() {
    let world = World::new().await;
    let (kiosk, _) = world.device("kiosk").invite().await;
    let request_short = v1::InviteDeviceRequest {
        name: "kiosk".to_owned(),
        valid_seconds: 1,
        preapproved: true,
        ..Default::default()
    };
    let invited = world.admin().devices().invite_device(request_short).await.unwrap().into_inner();
    eventually("the token's end", async || (now_ms() > invited.expires_at).then_some(())).await;

    let late = kiosk.enroll(&invited.token);
    assert_eq!(late.exit_code().await, 4);
    insta::assert_snapshot!(world.seen().in_text(&late.log()));

    // A device whose clock is slow asks all the same.
    let token: EnrollmentToken = invited.token.parse().unwrap();
    let status = enrolling(&token).await.enroll(request(&token, "kiosk")).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::Unauthenticated);
    assert_eq!(
        status.message(),
        "This token has expired; make a new one with `orion devices invite`."
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backend_with_another_fingerprint_is_told_nothing() {
    let world = World::new().await;
    let liar = LyingServer::start().await;
    let (kiosk, token) = world.device("kiosk").invite().await;
    let honest: EnrollmentToken = token.parse().unwrap();
    // Somebody in the middle answers where the backend should.
    let diverted = EnrollmentToken { addresses: vec![liar.address.to_string()], ..honest };
    let enrolling = kiosk.enroll(&diverted.to_string());
    assert_eq!(enrolling.exit_code().await, 4);
    let said = enrolling.log().replace(&liar.address.to_string(), "[address]");
    insta::assert_snapshot!(world.seen().in_text(&said));
    assert_eq!(liar.enrolments(), 0);

    // And the other way round: this backend with somebody else's fingerprint in the token.
    let honest: EnrollmentToken = token.parse().unwrap();
    let forged = EnrollmentToken { pins: vec![Digest::of(b"somebody else")], ..honest };
    assert_eq!(kiosk.enroll(&forged.to_string()).exit_code().await, 4);
    // The token was not spent by any of this.
    assert_eq!(kiosk.enroll(&token).exit_code().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_token_is_refused_as_one() {
    let world = World::new().await;
    let (kiosk, token) = world.device("kiosk").invite().await;
    let cut = &token[..token.len() - 7];
    for text in ["", "hello", "orion2.abc", cut, &format!("{token}{token}"), &"x".repeat(100_000)] {
        let enrolling = kiosk.enroll(text);
        let code = enrolling.exit_code().await;
        assert!(matches!(code, 1 | 2 | 4), "{text}: {code}");
        assert!(!enrolling.log().contains(cut), "a token's secret is in the log");
    }
    assert_eq!(kiosk.enroll(&token).exit_code().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_secret_spends_nothing() {
    let world = World::new().await;
    let (kiosk, token) = world.device("kiosk").invite().await;
    let parsed: EnrollmentToken = token.parse().unwrap();
    let mut client = enrolling(&parsed).await;
    for secret in ["", "wrong", &"x".repeat(10_000)] {
        let wrong = v1::EnrollRequest { secret: secret.to_owned(), ..request(&parsed, "kiosk") };
        client.enroll(wrong).await.unwrap_err();
    }
    let no_request = v1::EnrollRequest {
        certificate_request: "not a request".to_owned(),
        ..request(&parsed, "kiosk")
    };
    client.enroll(no_request).await.unwrap_err();
    assert_eq!(kiosk.enroll(&token).exit_code().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pending_device_waits_for_an_admin_who_compares_its_words() {
    let world = World::new().await;
    let (kiosk, token) = world.device("kiosk").pending().invite().await;
    let waiting = kiosk.enroll(&token);
    let words = eventually("a pending device", async || {
        let request = v1::ListDevicesRequest { pending_only: true };
        let list = world.admin().devices().list_devices(request).await.ok()?.into_inner();
        list.devices.into_iter().next().map(|device| device.fingerprint_words)
    })
    .await;
    eventually("the same words on the device", async || {
        waiting.log().contains(&words).then_some(())
    })
    .await;
    let call = world.admin().call("kiosk", "get_datetime", serde_json::json!({})).await;
    assert_eq!(call.error().code.as_str(), "PERMISSION_DENIED");
    assert!(waiting.is_running());
    // Whoever goes on later compares the words as well.
    waiting.kill9().await;
    let waiting = kiosk.enroll(&token);
    eventually("the words once more", async || waiting.log().contains(&words).then_some(())).await;

    let approved = world.cli().run(&["devices", "approve", "kiosk", "--yes"]).await;
    assert_eq!(approved.code, 0, "{approved:?}");
    assert_eq!(waiting.exit_code().await, 0, "{}", waiting.log());
    kiosk.run().await;
    let call = world.admin().call("kiosk", "get_datetime", serde_json::json!({})).await;
    assert_eq!(call.end(), (orion_domain::CallState::Succeeded, None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rejected_device_is_told_so() {
    let world = World::new().await;
    let (kiosk, token) = world.device("kiosk").pending().invite().await;
    let waiting = kiosk.enroll(&token);
    eventually("a pending device", async || world.admin().device("kiosk").await.ok()).await;
    let rejected = world.cli().run(&["devices", "reject", "kiosk", "--yes"]).await;
    assert_eq!(rejected.code, 0, "{rejected:?}");
    assert_eq!(waiting.exit_code().await, 4);
    assert!(waiting.log().contains("rejected this device"), "{}", waiting.log());
    assert!(!kiosk.state_dir().join("identity.toml").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_key_is_made_on_the_device_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new().await;
    let kiosk = world.device("kiosk").enroll().await;
    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(kiosk.state_dir()), 0o700);
    assert_eq!(mode(kiosk.state_dir().join("key.pem")), 0o600);
    let key = std::fs::read_to_string(kiosk.state_dir().join("key.pem")).unwrap();
    let secret = key.lines().nth(1).unwrap();
    for entry in orion_tests::tree(&world.data_dir()).values().flatten() {
        assert!(!entry.contains(secret), "the backend knows the device's key");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_refused_outside_its_networks_and_platforms_and_that_is_audited() {
    let world = World::new().await;
    let invite = async |words: &[&str]| {
        let words = [&["devices", "invite", "--preapproved", "-o", "json"], words].concat();
        let made = world.cli().run(&words).await;
        assert_eq!(made.code, 0, "{made:?}");
        let made: serde_json::Value = serde_json::from_str(&made.stdout).unwrap();
        made["token"].as_str().unwrap().to_owned()
    };
    let (kiosk, _) = world.device("kiosk").invite().await;
    let refused = async |token: &str, why: &str| {
        let refused = kiosk.enroll(token);
        assert_eq!(refused.exit_code().await, 4, "{}", refused.log());
        assert!(refused.log().contains(why), "{}", refused.log());
        assert!(!kiosk.state_dir().join("identity.toml").exists());
    };
    let elsewhere = invite(&["--name", "kiosk", "--from", "10.0.0.0/8", "--from", "::1"]).await;
    refused(&elsewhere, "This token may not be used from 127.0.0.1").await;
    let windows = invite(&["--name", "kiosk", "--platform", "windows-x86_64"]).await;
    refused(&windows, "This token is for windows-x86_64, and this device says that it is `linux-")
        .await;
    let [refusals, redeemed] = audited(&world, ["invite.refused", "invite.redeemed"]).await;
    assert_eq!((refusals, redeemed), (2, 0));

    // The address is that of the connection, whatever a device states.
    let here = invite(&["--name", "kiosk", "--from", "127.0.0.1"]).await;
    let token: EnrollmentToken = here.parse().unwrap();
    let mut other = orion_tests::enrolling_from([127, 0, 0, 2].into(), &token).await;
    let status = other.enroll(request(&token, "kiosk")).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::PermissionDenied, "{status}");
    let platform = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
    let fits = invite(&["--name", "kiosk", "--from", "127.0.0.0/8", "--platform", &platform]).await;
    let enrolling = kiosk.enroll(&fits);
    assert_eq!(enrolling.exit_code().await, 0, "{}", enrolling.log());

    for wrong in [["--from", "10.0.0.1/8"], ["--from", "lab"], ["--platform", "linux"]] {
        let refused = world.cli().run(&[&["devices", "invite"], &wrong[..]].concat()).await;
        assert_eq!(refused.code, 2, "{refused:?}");
    }
}
