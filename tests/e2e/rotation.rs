//! One authority takes over from another: who is awake follows by itself, who sleeps through it is told
//! how to come back, and old tokens and certificates count for as long as the overlap lasts.

use orion_agent::state::Identity;
use orion_domain::CallState;
use orion_mtls::{DeviceIdentity, mutual};
use orion_tests::{Device, Enrolled, Launch, Process, World, eventually, program};
use orion_wire::{EnrollmentToken, v1};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::json;

/// Runs `orion-server ca …` on the world's data folder.
async fn ca(world: &World, words: &[&str]) -> (i32, String) {
    let data_dir = world.data_dir();
    let mut arguments = vec!["ca".as_ref()];
    arguments.extend(words.iter().map(std::ffi::OsStr::new));
    arguments.extend(["--data-dir".as_ref(), data_dir.as_os_str()]);
    let log = tempfile::NamedTempFile::new().unwrap();
    let launch = Launch { arguments: &arguments, ..Launch::default() };
    let process = Process::start(&program("orion-server"), log.path(), &launch);
    let code = process.exit_code().await;
    (code, process.log())
}

/// The kinds and fingerprints of what the audit says of authorities, oldest first.
async fn audited(world: &World) -> Vec<(String, String)> {
    let request = v1::ListAuditRequest { limit: 500, ..Default::default() };
    let rows = world.admin().audit().list_audit(request).await.unwrap().into_inner().rows;
    let mut rows: Vec<_> = rows.into_iter().filter(|r| r.kind.starts_with("authority.")).collect();
    rows.sort_by_key(|row| row.seq);
    let fingerprint = |body: &str| {
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        body["fingerprint"].as_str().unwrap().to_owned()
    };
    rows.into_iter().map(|row| (row.kind, fingerprint(&row.body))).collect()
}

async fn token(world: &World, uses: u32) -> EnrollmentToken {
    let request = v1::InviteDeviceRequest { preapproved: true, uses, ..Default::default() };
    let invited = world.admin().devices().invite_device(request).await.unwrap();
    invited.into_inner().token.parse().unwrap()
}

fn issuer(certificate: &str) -> String {
    let der = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
    DeviceIdentity::from_certificate(&der).unwrap().issuer.to_string()
}

async fn works(world: &World, device: &Device) {
    let call = world.admin().call(&device.name, "get_datetime", json!({})).await;
    assert_eq!(call.end(), (CallState::Succeeded, None), "{call:?}");
}

/// Waits until a device has a certificate of the authority that signed this one.
async fn on_the_authority_of(certificate: &str, device: &Device) -> Identity {
    eventually("a certificate of the new authority", async || {
        let identity = Identity::read(&device.state_dir()).ok()??;
        (issuer(&identity.certificate) == issuer(certificate)).then_some(identity)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_authority_takes_over_without_a_person_at_any_device_that_is_awake() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let attic = world.device("attic").enroll().await;
    let before = Identity::read(&kiosk.state_dir()).unwrap().unwrap();
    let asleep = Identity::read(&attic.state_dir()).unwrap().unwrap();
    let old_token = token(&world, 5).await;
    let [(_, old)] = &audited(&world).await[..] else { panic!("not one authority") };

    // While the backend runs, and with nobody cut off.
    let (code, said) = ca(&world, &["rotate"]).await;
    assert_eq!(code, 0, "{said}");
    let next = format!("`orion-server --data-dir {} ca list`", world.data_dir().display());
    assert!(said.contains(&next), "{said}");
    let rows = eventually("the new authority taken in", async || {
        Some(audited(&world).await).filter(|rows| rows.len() == 2)
    })
    .await;
    let (kind, new) = &rows[1];
    assert_eq!(kind, "authority.trusted");
    works(&world, &kiosk).await;

    // A device that enrols with an old token comes to the new authority and knows both.
    let lamp = Enrolled::with(&old_token, "lamp").await.unwrap();
    assert_eq!(lamp.authorities.len(), 2);
    assert_ne!(issuer(&lamp.certificate), issuer(&before.certificate));
    let _lamp = lamp.link(&world.device_address(), 1).await.unwrap();
    let between = token(&world, 5).await;
    assert_eq!(between.pins.len(), 2);

    // One that is connected is told, and renews onto it by itself, long before its time.
    let after = on_the_authority_of(&lamp.certificate, &kiosk).await;
    assert_eq!(after.authorities.matches("BEGIN CERTIFICATE").count(), 2);
    assert_eq!(after.key.fingerprint(), before.key.fingerprint());
    works(&world, &kiosk).await;

    // The one that sleeps keeps the old one from going unnoticed.
    eventually("the sleeper alone in the way", async || {
        let (code, listed) = ca(&world, &["list"]).await;
        assert_eq!(code, 0, "{listed}");
        listed.contains("1 device stands on it").then_some(())
    })
    .await;
    let (code, said) = ca(&world, &["retire"]).await;
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("attic (until ") && !said.contains("lamp"), "{said}");

    let (code, said) = ca(&world, &["retire", "--force"]).await;
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("to be enrolled again: attic"), "{said}");
    eventually("the old authority gone", async || {
        let last = audited(&world).await.pop();
        (last == Some(("authority.retired".to_owned(), old.clone()))).then_some(())
    })
    .await;
    works(&world, &kiosk).await;
    kiosk.agent().stop().await;
    kiosk.run().await;
    works(&world, &kiosk).await;

    // Certificates of the old one are refused, whatever the device trusts.
    let tls = mutual(&[&after.authorities], &asleep.certificate, &asleep.key).unwrap();
    let refused = orion_tests::connect(&world.device_address(), tls).await;
    let refused = match refused {
        Ok(client) => orion_tests::Linked::greet(client, 1).await.map(drop).is_err(),
        Err(_) => true,
    };
    assert!(refused, "a certificate of a retired authority was let in");
    // So are tokens of before; those of between are good.
    let (desk, _) = world.device("desk").invite().await;
    let late = desk.enroll(&old_token.to_string());
    assert_eq!(late.exit_code().await, 4);
    assert!(late.log().contains("new invitation if the authority was replaced"), "{}", late.log());
    let desk = Enrolled::with(&between, "desk").await.unwrap();
    assert_eq!(desk.authorities.len(), 1);

    // The sleeper is told how to come back, and comes back that way.
    let agent = attic.launch();
    eventually("the sleeper's log says why", async || {
        let log = agent.log();
        let says_why = log.contains("If the backend's authority was replaced, get a new token");
        (says_why
            && log.contains("`orion-agent --state-dir ")
            && log.contains(" enroll TOKEN --force`"))
        .then_some(())
    })
    .await;
    agent.stop().await;
    let again = attic.agent_command(&["enroll", &between.to_string(), "--force"]);
    assert_eq!(again.exit_code().await, 0, "{}", again.log());
    let agent = attic.launch();
    eventually("the sleeper back", async || {
        agent.log().lines().rfind(|line| line.contains("connected to")).map(drop)
    })
    .await;

    // A backend that starts finds the new one alone.
    world.server().stop().await;
    world.restart_server().await;
    kiosk.ready().await;
    works(&world, &kiosk).await;
    let (_, listed) = ca(&world, &["list"]).await;
    // Those that were not there to renew trust the old one still, as far as anybody knows.
    assert!(listed.starts_with(new.as_str()) && listed.lines().count() == 2, "{listed}");
    assert!(listed.contains("2 devices trust it, as far as is known: attic, lamp"), "{listed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_connected_follows_at_once_and_trusts_a_retired_authority_no_longer() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let desk = world.device("desk").start().await;
    let attic = world.device("attic").enroll().await;
    let old = Identity::read(&kiosk.state_dir()).unwrap().unwrap();
    assert_eq!(ca(&world, &["rotate"]).await.0, 0);
    eventually("the new authority taken in", async || {
        (audited(&world).await.len() == 2).then_some(())
    })
    .await;
    // One that was away meanwhile is told as it comes.
    attic.run().await;
    let newest = Enrolled::with(&token(&world, 1).await, "pi").await.unwrap().certificate;
    for device in [&kiosk, &desk, &attic] {
        let identity = on_the_authority_of(&newest, device).await;
        assert_eq!(identity.authorities.matches("BEGIN CERTIFICATE").count(), 2);
    }
    // Nobody has to be cut off.
    let retired = eventually("nobody on the older one", async || {
        let (code, said) = ca(&world, &["retire"]).await;
        (code == 0).then_some(said)
    })
    .await;
    assert!(!retired.contains("enrolled again"), "{retired}");
    for device in [&kiosk, &desk, &attic] {
        let identity = eventually("one authority to trust", async || {
            let identity = Identity::read(&device.state_dir()).ok()??;
            (identity.authorities.matches("BEGIN CERTIFICATE").count() == 1).then_some(identity)
        })
        .await;
        assert!(!old.authorities.contains(identity.authorities.trim()));
    }
    eventually("nobody but who does not say so trusts the old one", async || {
        let (_, listed) = ca(&world, &["list"]).await;
        listed.contains("1 device trusts it, as far as is known: pi\n").then_some(())
    })
    .await;
    for device in [&kiosk, &desk, &attic] {
        works(&world, device).await;
        let log = device.agent().log();
        assert!(!log.contains("not connected"), "{log}");
        assert!(log.matches("asking for a new certificate").count() <= 3, "{log}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_ends_when_the_authority_of_its_certificate_is_retired() {
    let world = World::new().await;
    let pi = Enrolled::with(&token(&world, 1).await, "pi").await.unwrap();
    let mut stream = pi.link(&world.device_address(), 1).await.unwrap();
    let mut other = orion_tests::connect(&world.device_address(), pi.tls()).await.unwrap();
    // With the backend stopped in between, it takes both in at once.
    assert_eq!(ca(&world, &["rotate"]).await.0, 0);
    let (code, said) = ca(&world, &["rotate"]).await;
    assert_eq!(code, 1);
    assert!(said.contains(" ca retire`"), "{said}");
    assert_eq!(ca(&world, &["retire", "--force"]).await.0, 0);
    stream.ended().await;
    // Nor does a connection that stands without a stream bring it onto the new one.
    let certificate_request = pi.key.csr().unwrap();
    let request = v1::RenewCertificateRequest { certificate_request, generation: 0 };
    let refused = other.renew_certificate(request).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::Unauthenticated, "{refused:?}");
    assert!(refused.message().contains("was retired"), "{refused:?}");
    pi.link(&world.device_address(), 2).await.expect_err("its authority is gone");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_changes_within_a_second_are_both_taken_in() {
    let world = World::new().await;
    for round in 1..=3 {
        assert_eq!(ca(&world, &["rotate"]).await.0, 0);
        assert_eq!(ca(&world, &["retire", "--force"]).await.0, 0);
        let (_, listed) = ca(&world, &["list"]).await;
        let newest = listed.split_whitespace().next().unwrap();
        eventually("the newest authority alone", async || {
            let pins = token(&world, 1).await.pins;
            (pins.len() == 1 && pins[0].to_string() == newest).then_some(())
        })
        .await;
        // The backend presents what it tells devices to trust.
        Enrolled::with(&token(&world, 1).await, &format!("pi-{round}")).await.unwrap();
    }
}
