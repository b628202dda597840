//! Agents of other versions: one minor version of the protocol apart works, everything else is refused with a
//! sentence. What agents of each version send and expect is recorded in `tests/api/`; `make check` compares it.

use orion_tests::{Enrolled, Linked, World, connect};
use orion_wire::{EnrollmentToken, PROTOCOL, ProtocolVersion, v1};
use tonic::Code;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_one_minor_version_apart_is_accepted_and_no_other() {
    let world = World::new().await;
    let invite = v1::InviteDeviceRequest { preapproved: true, uses: 1, ..Default::default() };
    let invited = world.admin().devices().invite_device(invite).await.unwrap().into_inner();
    let token: EnrollmentToken = invited.token.parse().unwrap();
    let pi = Enrolled::with(&token, "pi").await.unwrap();
    let mut generation = 0;
    let mut greet = async |major: u32, minor: u32| {
        generation += 1;
        let client = connect(&world.device_address(), pi.tls()).await.unwrap();
        let version = ProtocolVersion { major, minor };
        Linked::greet_as(client, generation, version).await.map(drop)
    };
    let (major, minor) = (PROTOCOL.major, PROTOCOL.minor);
    for near in [minor - 1, minor, minor + 1] {
        greet(major, near).await.unwrap();
    }
    for (major, minor) in [(major, minor + 2), (major + 1, minor), (major - 1, minor), (0, 0)] {
        let refused = greet(major, minor).await.unwrap_err();
        assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
        let expected = format!(
            "The agent speaks protocol {major}.{minor} and this backend {PROTOCOL}: update the older of the two."
        );
        assert_eq!(refused.message(), expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_states_no_architecture_enrols_with_a_token_for_any_platform_only() {
    let world = World::new().await;
    let ask = async |platforms: &[&str]| {
        let invite = v1::InviteDeviceRequest {
            preapproved: true,
            platforms: platforms.iter().map(ToString::to_string).collect(),
            ..Default::default()
        };
        let invited = world.admin().devices().invite_device(invite).await.unwrap().into_inner();
        let token: EnrollmentToken = invited.token.parse().unwrap();
        let key = orion_mtls::DeviceKey::generate().unwrap();
        let request = orion_tests::enroll_request(&token, "pi", key.csr().unwrap());
        // The request of protocol 1.0 has no architecture.
        let request = v1::EnrollRequest { arch: String::new(), ..request };
        let answer = orion_tests::enrolling(&token).await.enroll(request).await;
        answer.map(|it| it.into_inner().certificate.is_some()).map_err(|it| it.code())
    };
    assert_eq!(ask(&[]).await, Ok(true));
    assert_eq!(ask(&["linux-x86_64"]).await, Err(Code::PermissionDenied));
}
