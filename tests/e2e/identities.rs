//! Every bad identity that we could think of, at the real doors for devices: none gets in, and each is
//! refused where and as the tables say. An honest one gets in beside them.

mod certificates;
mod doors;
mod ground;
mod late;
mod protocols;
mod requests;

use std::fmt::Write as _;

use orion_tests::World;
use tonic::Code;

use doors::{Refused, Said, knock};
use ground::Ground;

/// What ought to become of an identity.
#[derive(Debug, Clone, Copy)]
enum Expected {
    /// The handshake ends with this alert: nothing is open, enrolling included.
    Alert(rustls::AlertDescription),
    /// TLS lets it in, and the stream and a renewal are answered so: the code, and words of the reason.
    Said(Said, Said),
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_bad_identity_gets_in_and_an_honest_one_does() {
    let world = World::new().await;
    let ground = Ground::new(&world).await;
    let mut wrong = String::new();
    for (name, make, expected) in certificates::ROWS {
        let refused = knock(&ground, make(&ground)).await;
        let as_expected = match (&refused, expected) {
            (Refused::Handshake(alert), Expected::Alert(expected)) => alert == expected,
            (Refused::Answers { link, renew }, Expected::Said(by_link, by_renew)) => {
                by_link.fits(link) && by_renew.fits(renew)
            }
            (
                Refused::Handshake(_) | Refused::Answers { .. } | Refused::Accepted(_),
                Expected::Alert(_) | Expected::Said(..),
            ) => false,
        };
        if !as_expected {
            writeln!(wrong, "{name}: expected {expected:?}, and it was {refused:?}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    // None of them became a device, or was taken for one.
    assert_eq!(ground.devices().await, ground::DEVICES);
    eprintln!("{} bad identities: 0 accepted", certificates::ROWS.len());

    // The control: the same knock by an honest device.
    let honest = knock(&ground, ground.kiosk.tls().as_ref().clone()).await;
    assert!(matches!(honest, Refused::Accepted("the stream")), "{honest:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_bad_request_becomes_a_certificate_and_none_spends_a_token() {
    let world = World::new().await;
    let ground = Ground::new(&world).await;
    let mut wrong = String::new();
    for (name, make, expected) in requests::ENROLLING {
        match ground.enroll(make(&ground)).await {
            Err(status) if expected.fits(&status) => {}
            other => {
                writeln!(wrong, "{name}: expected {expected:?}, and it was {other:?}").unwrap()
            }
        }
    }
    for (name, make, expected) in requests::RENEWING {
        match ground.renew(make(&ground)).await {
            Err(status) if expected.fits(&status) => {}
            other => {
                writeln!(wrong, "{name}: expected {expected:?}, and it was {other:?}").unwrap()
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert_eq!(ground.devices().await, ground::DEVICES);
    eprintln!(
        "{} bad requests: 0 certificates",
        requests::ENROLLING.len() + requests::RENEWING.len()
    );

    // The controls: the token is as good as new, and the device renews.
    ground.enroll(ground.request(ground.a_csr())).await.unwrap();
    let spent = ground.enroll(ground.request(ground.a_csr())).await.unwrap_err();
    assert_eq!(spent.code(), Code::Unauthenticated, "{spent:?}");
    ground.renew(ground.kiosk.key.csr().unwrap()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_http_2_over_tls_1_3_gets_no_answer() {
    let world = World::new().await;
    let ground = Ground::new(&world).await;
    protocols::tls_1_2(&world).await;
    protocols::plain_http_2(&world).await;
    protocols::garbage(&world).await;
    protocols::http_1(&ground).await;
    // And whoever speaks it is served.
    ground.kiosk.link(&world.device_address(), 1_000).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_session_is_resumed_past_a_revocation() {
    let world = World::new().await;
    let ground = Ground::new(&world).await;
    protocols::resumed(&world, &ground).await;
}
