//! Nothing else is called `backend`, and the backend is not handled like a device that enrolled.

use orion_mtls::DeviceKey;
use orion_tests::{World, enrolling};
use orion_wire::{EnrollmentToken, v1};
use tonic::Code;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_device_is_called_backend() {
    let world = World::new().await;
    for name in ["backend", "Backend", "BACKEND"] {
        let request = v1::InviteDeviceRequest { name: name.to_owned(), ..Default::default() };
        let refused = world.admin().devices().invite_device(request).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{name}");
        assert!(refused.message().contains("the backend itself"), "{name}: {refused}");
    }
    let request = v1::InviteDeviceRequest { uses: 2, preapproved: true, ..Default::default() };
    let invited = world.admin().devices().invite_device(request).await.unwrap().into_inner();
    let token: EnrollmentToken = invited.token.parse().unwrap();
    let asking = |suggested: &str| v1::EnrollRequest {
        invite_id: token.invite_id.to_string(),
        secret: token.secret.expose().to_owned(),
        certificate_request: DeviceKey::generate().unwrap().csr().unwrap(),
        suggested_name: suggested.to_owned(),
        hostname: "backend".to_owned(),
        os: "linux".to_owned(),
        ticket: String::new(),
        arch: "x86_64".to_owned(),
    };
    let mut client = enrolling(&token).await;
    for name in ["backend", "BackEnd"] {
        let refused = client.enroll(asking(name)).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
        assert!(refused.message().contains("the backend itself"), "{refused}");
    }
    // A machine that happens to be called so gets another name.
    let admitted = client.enroll(asking("")).await.unwrap().into_inner();
    assert_eq!(admitted.device_name, "backend-2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_backend_is_neither_held_nor_revoked_nor_listed_as_a_device() {
    let world = World::new().await;
    let _kiosk = world.device("kiosk").start().await;
    let cli = world.cli();
    for words in [
        &["devices", "revoke", "backend", "--yes"][..],
        &["devices", "quarantine", "backend"],
        &["devices", "approve", "backend"],
    ] {
        let refused = cli.run(words).await;
        assert_ne!(refused.code, 0, "{words:?}: {refused:?}");
        assert!(refused.stderr.contains("the backend itself"), "{words:?}: {refused:?}");
    }
    let listed = cli.run(&["devices", "list", "-o", "json"]).await;
    assert!(!listed.stdout.contains("\"backend\""), "{listed:?}");
    for words in [
        &["devices", "show", "backend"][..],
        &["devices", "review", "backend"],
        &["devices", "permissions", "get", "backend"],
        &["tools", "list", "--device", "backend"],
    ] {
        let shown = cli.run(words).await;
        assert_eq!(shown.code, 0, "{words:?}: {shown:?}");
        assert!(shown.stdout.contains("calculate"), "{words:?}: {shown:?}");
    }
    for words in [
        &["call", "backend", "calculate", "expression=6*7"][..],
        &["call", "calculate", "expression=6*7"],
    ] {
        let call = cli.run(words).await;
        assert!(call.code == 0 && call.shown().contains("42"), "{words:?}: {call:?}");
    }
}
