//! Enrolment of a device, and each way in which it fails.

use std::time::Duration;

use orion_agent::enroll::{EnrollError, Enrolled, Enrollment, Notice, Replace, enroll};
use orion_agent::state::{Identity, Pending, State};
use orion_domain::id::InviteId;
use orion_domain::{Digest, Secret};
use orion_mtls::{CertificateAuthority, VerifiedCsr};
use orion_wire::{EnrollmentToken, v1};
use tonic::Status;
use uuid::Uuid;

use crate::world::{World, now_ms};

fn token(world: &World) -> EnrollmentToken {
    EnrollmentToken {
        addresses: vec![world.address.to_string()],
        pins: vec![Digest::from_slice(&world.authority.fingerprint().0).unwrap()],
        invite_id: InviteId::new(Uuid::from_u128(3)),
        secret: Secret::new("hunter2"),
        expires_at: now_ms() + 60_000,
    }
}

fn wanted(token: Option<EnrollmentToken>) -> Enrollment {
    Enrollment {
        token,
        name: Some("laptop-123".parse().unwrap()),
        replace: Replace::Refuse,
        wait: Some(Duration::from_secs(60)),
        first_config: None,
    }
}

fn approved(world: &World) -> v1::EnrollResponse {
    v1::EnrollResponse {
        device_id: world.device.to_string(),
        device_name: "laptop-123".to_owned(),
        certificate: Some(v1::IssuedCertificate::default()),
        ..v1::EnrollResponse::default()
    }
}

fn pending(world: &World) -> v1::EnrollResponse {
    v1::EnrollResponse { certificate: None, ticket: "ticket".to_owned(), ..approved(world) }
}

fn decision(state: v1::EnrollmentState) -> v1::GetEnrollmentResponse {
    v1::GetEnrollmentResponse {
        state: state.into(),
        certificate: (state == v1::EnrollmentState::Approved).then(v1::IssuedCertificate::default),
        device_name: "laptop-123".to_owned(),
    }
}

async fn try_it(world: &World, wanted: Enrollment) -> (Result<Enrolled, EnrollError>, Vec<Notice>) {
    let state = State::open(&world.state_dir()).unwrap();
    let mut notices = Vec::new();
    let result = enroll(&state, wanted, &mut |notice| notices.push(notice)).await;
    (result, notices)
}

#[tokio::test]
async fn a_device_with_a_pre_approved_token_is_one_at_once_and_connects() {
    let mut world = World::new().await;
    world.script.lock().unwrap().enroll.push_back(Ok(approved(&world)));
    let (result, notices) = try_it(&world, wanted(Some(token(&world)))).await;
    let enrolled = result.unwrap();
    assert_eq!((enrolled.device_id, enrolled.name.as_str()), (world.device, "laptop-123"));
    assert_eq!(notices, []);
    world.start();
    world.ready().await;
    world.stop().await;
}

#[tokio::test]
async fn a_pending_device_shows_its_words_and_waits_for_the_yes() {
    let world = World::new().await;
    {
        let mut script = world.script.lock().unwrap();
        script.enroll.push_back(Ok(pending(&world)));
        script.decisions.push_back(Ok(decision(v1::EnrollmentState::Pending)));
        script.decisions.push_back(Ok(decision(v1::EnrollmentState::Approved)));
    }
    let (result, notices) = try_it(&world, wanted(Some(token(&world)))).await;
    result.unwrap();
    let key = Identity::read(&world.state_dir()).unwrap().unwrap().key;
    let words = key.fingerprint_words();
    assert_eq!(notices, [Notice::Pending { name: "laptop-123".to_owned(), words }]);
    assert!(Pending::read(&world.state_dir()).unwrap().is_none());
}

#[tokio::test]
async fn the_wait_can_be_left_and_taken_up_again() {
    let world = World::new().await;
    {
        let mut script = world.script.lock().unwrap();
        script.enroll.push_back(Ok(pending(&world)));
        script.decisions.push_back(Ok(decision(v1::EnrollmentState::Pending)));
        script.decisions.push_back(Ok(decision(v1::EnrollmentState::Approved)));
    }
    let left = Enrollment { wait: None, ..wanted(Some(token(&world))) };
    let error = try_it(&world, left).await.0.unwrap_err();
    assert!(matches!(error, EnrollError::StillPending { .. }), "{error}");
    try_it(&world, wanted(None)).await.0.unwrap();
    assert_eq!(world.script.lock().unwrap().asked, 1, "one use of the token was enough");
}

#[tokio::test]
async fn an_enrolment_whose_answer_is_lost_goes_on_with_the_same_key_and_ticket() {
    // With the same token, without a token, and on a device that is enrolled already.
    for (with_token, replace) in
        [(true, Replace::Refuse), (false, Replace::Refuse), (true, Replace::Force)]
    {
        let forced = replace == Replace::Force;
        let world = if forced { World::enrolled().await } else { World::new().await };
        let before = Identity::read(&world.state_dir()).unwrap();
        let token = token(&world);
        let lost = Err(Status::unavailable("the link broke"));
        let busy = Err(Status::resource_exhausted("too many"));
        world.script.lock().unwrap().enroll.extend([lost, busy, Ok(approved(&world))]);
        let first = Enrollment { replace, ..wanted(Some(token.clone())) };
        let error = try_it(&world, first).await.0.unwrap_err();
        assert!(matches!(error, EnrollError::NoAnswer(_)), "{error}");
        assert!(error.to_string().contains("Run the same command again"), "{error}");
        let kept = Identity::read(&world.state_dir()).unwrap();
        let key = |identity: &Option<Identity>| identity.as_ref().map(|own| own.key.fingerprint());
        assert_eq!(key(&kept), key(&before), "what it is, it still is");
        let again = || Enrollment { replace, ..wanted(with_token.then(|| token.clone())) };
        let error = try_it(&world, again()).await.0.unwrap_err();
        assert!(matches!(error, EnrollError::TooMany(_)), "{error}");
        try_it(&world, again()).await.0.unwrap();
        let after = Identity::read(&world.state_dir()).unwrap();
        assert_ne!(key(&after), key(&before));
        let script = world.script.lock().unwrap();
        let [first, second, third] = &script.tickets[..] else { panic!("{:?}", script.tickets) };
        assert!(first.len() >= 32 && first == second && second == third);
        let keys = script
            .requests
            .iter()
            .map(|csr| VerifiedCsr::parse(csr.as_bytes()).unwrap().public_key_fingerprint());
        assert_eq!(keys.collect::<Vec<_>>(), vec![key(&after).unwrap(); 3]);
        assert!(Pending::read(&world.state_dir()).unwrap().is_none());
    }
}

#[tokio::test]
async fn what_was_refused_is_not_gone_on_with() {
    let world = World::new().await;
    let spent = Status::unauthenticated("the invitation was used up");
    world.script.lock().unwrap().enroll.push_back(Err(spent));
    let error = try_it(&world, wanted(Some(token(&world)))).await.0.unwrap_err();
    assert!(matches!(error, EnrollError::Refused(_)), "{error}");
    let error = try_it(&world, wanted(None)).await.0.unwrap_err();
    assert!(matches!(error, EnrollError::NothingPending), "{error}");
}

#[tokio::test]
async fn a_no_is_final() {
    let world = World::new().await;
    {
        let mut script = world.script.lock().unwrap();
        script.enroll.push_back(Ok(pending(&world)));
        script.decisions.push_back(Ok(decision(v1::EnrollmentState::Rejected)));
    }
    let error = try_it(&world, wanted(Some(token(&world)))).await.0.unwrap_err();
    assert!(matches!(error, EnrollError::Rejected), "{error}");
    let error = try_it(&world, wanted(None)).await.0.unwrap_err();
    assert!(matches!(error, EnrollError::NothingPending), "{error}");
}

#[tokio::test]
async fn a_token_with_another_servers_fingerprint_sends_nothing() {
    let world = World::new().await;
    let other = CertificateAuthority::create(now_ms()).unwrap();
    let mut wrong = token(&world);
    wrong.pins = vec![Digest::from_slice(&other.fingerprint().0).unwrap()];
    let error = try_it(&world, wanted(Some(wrong))).await.0.unwrap_err();
    assert!(matches!(error, EnrollError::WrongBackend(_)), "{error}");
    assert!(error.to_string().contains("Nothing was sent"), "{error}");
    assert_eq!(world.script.lock().unwrap().asked, 0);
}

#[tokio::test]
async fn a_token_that_is_over_is_not_tried_and_a_spent_one_is_told() {
    let world = World::new().await;
    let mut old = token(&world);
    old.expires_at = now_ms() - 1;
    let error = try_it(&world, wanted(Some(old))).await.0.unwrap_err();
    assert!(matches!(error, EnrollError::Expired), "{error}");
    assert_eq!(world.script.lock().unwrap().asked, 0);

    let spent = Status::failed_precondition("the invitation was used up\x1b[2J.");
    world.script.lock().unwrap().enroll.push_back(Err(spent));
    let error = try_it(&world, wanted(Some(token(&world)))).await.0.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the backend did not take the token: the invitation was used up[2J"
    );
}

#[tokio::test]
async fn an_enrolled_device_stays_what_it_is_unless_it_is_forced() {
    let world = World::enrolled().await;
    let before = Identity::read(&world.state_dir()).unwrap().unwrap();
    let error = try_it(&world, wanted(Some(token(&world)))).await.0.unwrap_err();
    assert!(matches!(error, EnrollError::AlreadyEnrolled { .. }), "{error}");
    // After an invalid answer of a backend, the device keeps its identity.
    let lie = v1::EnrollResponse { device_id: Uuid::from_u128(9).to_string(), ..approved(&world) };
    world.script.lock().unwrap().enroll.push_back(Ok(lie));
    let forced = Enrollment { replace: Replace::Force, ..wanted(Some(token(&world))) };
    try_it(&world, forced).await.0.unwrap_err();
    let still = Identity::read(&world.state_dir()).unwrap().unwrap();
    assert_eq!(still.key.fingerprint(), before.key.fingerprint());
    world.script.lock().unwrap().enroll.push_back(Ok(approved(&world)));
    let forced = Enrollment { replace: Replace::Force, ..wanted(Some(token(&world))) };
    try_it(&world, forced).await.0.unwrap();
    let after = Identity::read(&world.state_dir()).unwrap().unwrap();
    assert_ne!(after.key.fingerprint(), before.key.fingerprint());
}

#[tokio::test]
async fn a_certificate_for_another_device_is_not_kept() {
    let world = World::new().await;
    let mut lie = approved(&world);
    lie.device_id = Uuid::from_u128(9).to_string();
    world.script.lock().unwrap().enroll.push_back(Ok(lie));
    let error = try_it(&world, wanted(Some(token(&world)))).await.0.unwrap_err();
    assert!(error.to_string().contains("not this device's"), "{error}");
    assert!(Identity::read(&world.state_dir()).unwrap().is_none());
}

#[tokio::test]
async fn nobody_at_the_address_is_told_with_the_address() {
    let world = World::new().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = listener.local_addr().unwrap().to_string();
    drop(listener);
    let mut nowhere = token(&world);
    nowhere.addresses = vec![silent.clone()];
    let error = try_it(&world, wanted(Some(nowhere))).await.0.unwrap_err();
    assert!(error.to_string().contains(&silent), "{error}");
}
