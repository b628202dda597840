//! However many come with one token at once, each use of it has one winner.
//!
//! `ORION_REDEEMERS` come at once (200) in each of `ORION_REDEEM_ROUNDS` (3), over real TLS; `make
//! test-identity` has a thousand in twenty rounds.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use orion_mtls::DeviceKey;
use orion_tests::{World, enroll_request, enrolling_from};
use orion_wire::{EnrollmentToken, v1};
use tokio::sync::Barrier;

/// How many connections share the work; each comes from an address of its own, because what anyone
/// may ask is limited for each.
const CONNECTIONS: usize = 50;

/// A number from the environment.
pub(crate) fn number(variable: &str, otherwise: usize) -> usize {
    std::env::var(variable).ok().map_or(otherwise, |text| text.parse().unwrap())
}

async fn token(world: &World, uses: u32) -> EnrollmentToken {
    let request = v1::InviteDeviceRequest { preapproved: true, uses, ..Default::default() };
    let invited = world.admin().devices().invite_device(request).await.unwrap();
    invited.into_inner().token.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_that_come_with_one_token_at_once_one_gets_in_each_round() {
    let world = World::new().await;
    let (redeemers, rounds) = (number("ORION_REDEEMERS", 200), number("ORION_REDEEM_ROUNDS", 3));
    // The last round's token is good for three.
    for round in 0..=rounds {
        let uses = if round == rounds { 3 } else { 1 };
        let token = token(&world, uses).await;
        // Keys take their time, and connections that nobody answers on meanwhile are given up.
        let requests = tokio::task::spawn_blocking({
            let token = token.clone();
            let csr = || DeviceKey::generate().unwrap().csr().unwrap();
            let own = move |n: usize| v1::EnrollRequest {
                ticket: format!("{n:064}"),
                ..enroll_request(&token, "pi", csr())
            };
            move || (0..redeemers).map(own).collect::<Vec<_>>()
        });
        let requests = requests.await.unwrap();
        let mut clients = Vec::new();
        for connection in 0..CONNECTIONS.min(redeemers) {
            let part = |number: usize| u8::try_from(number).unwrap();
            let from = IpAddr::from([127, 1, part(round), part(connection + 1)]);
            clients.push(enrolling_from(from, &token).await);
        }
        let everybody = Arc::new(Barrier::new(redeemers));
        let mut tries = Vec::new();
        for (redeemer, request) in requests.into_iter().enumerate() {
            let mut client = clients[redeemer % clients.len()].clone();
            let everybody = Arc::clone(&everybody);
            tries.push(tokio::spawn(async move {
                everybody.wait().await;
                match client.enroll(request).await {
                    Ok(answer) => {
                        assert!(answer.into_inner().certificate.is_some());
                        "in".to_owned()
                    }
                    Err(status) => format!("{:?}: {}", status.code(), status.message()),
                }
            }));
        }
        let mut said: BTreeMap<String, usize> = BTreeMap::new();
        for one in tries {
            *said.entry(one.await.unwrap()).or_default() += 1;
        }
        let spent = "Unauthenticated: This token was used as often as it may be; make a new one with \
                     `orion devices invite`.";
        let winners = usize::try_from(uses).unwrap();
        let expected = [("in".to_owned(), winners), (spent.to_owned(), redeemers - winners)];
        assert_eq!(said, BTreeMap::from(expected), "round {round}");
        let request = v1::ListDevicesRequest::default();
        let list = world.admin().devices().list_devices(request).await.unwrap().into_inner();
        assert_eq!(list.devices.len(), round + winners, "round {round}");
    }
    eprintln!("{redeemers} redemptions of one token at once, {rounds} rounds: one success each");
}
