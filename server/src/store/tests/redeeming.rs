//! Tokens: each use has one winner, and a retry after a lost answer spends nothing.

use super::devices::{candidate, greeting, invite, invite_id};
use super::*;
use crate::store::{
    Candidate, DeviceState, InviteScope, NewInvite, RedeemError, Redemption, StoreError,
};

#[tokio::test]
async fn of_two_hundred_that_try_a_single_use_token_one_gets_in() {
    let place = Place::new().await;
    place.store.create_invite(invite(1, 1)).await.unwrap();
    let mut tries = Vec::new();
    for n in 0..200 {
        let store = place.store.clone();
        tries.push(tokio::spawn(async move { store.enroll_device(candidate(n, "pi")).await }));
    }
    let mut inside = Vec::new();
    for one in tries {
        match one.await.unwrap() {
            Ok(Redemption { device, .. }) => {
                inside.push((device.name.to_string(), device.state, device.grants))
            }
            Err(error) => assert_eq!(error, RedeemError::Spent),
        }
    }
    assert_eq!(inside, [("kiosk".to_owned(), DeviceState::Approved, "{}".to_owned())]);
    assert_eq!(place.store.devices(false).await.unwrap().len(), 1);
    assert_eq!(place.kinds().await, ["invite.created", "invite.redeemed", "device.enrolled"]);
}

#[tokio::test]
async fn a_device_whose_answer_was_lost_comes_again_and_spends_nothing() {
    let place = Place::new().await;
    place.store.create_invite(invite(1, 1)).await.unwrap();
    place.store.create_invite(invite(2, 1)).await.unwrap();
    let own = Candidate { may_come_again: true, ..candidate(1, "pi") };
    let first = place.store.enroll_device(own.clone()).await.unwrap();
    assert!(first.is_new);
    // However many retry at once, even after the token has been spent and has expired.
    let asking = (2..100).map(|n| {
        let again = Candidate { id: device_id(n), at: 9_000, ..own.clone() };
        let store = place.store.clone();
        tokio::spawn(async move { store.enroll_device(again).await })
    });
    for one in asking.collect::<Vec<_>>() {
        let same = Redemption { is_new: false, ..first.clone() };
        assert_eq!(one.await.unwrap(), Ok(same));
    }
    assert_eq!(place.store.devices(false).await.unwrap().len(), 1);
    let kinds = ["invite.created", "invite.created", "invite.redeemed", "device.enrolled"];
    assert_eq!(place.kinds().await, kinds);
    // Every part of a retry has to match.
    let refused = async |one: Candidate| place.store.enroll_device(one).await.unwrap_err();
    let again = Candidate { id: device_id(100), at: 2_000, ..own.clone() };
    let ticket = Candidate { ticket_hash: Digest::of(b"guess"), ..again.clone() };
    assert_eq!(refused(ticket).await, RedeemError::Spent);
    let secret = Candidate { secret_hash: Digest::of(b"guess"), ..again.clone() };
    assert_eq!(refused(secret).await, RedeemError::Unknown);
    let key = Candidate { public_key_fingerprint: "other".to_owned(), ..again.clone() };
    assert_eq!(refused(key).await, RedeemError::Spent);
    let token = Candidate { invite: invite_id(2), ..again.clone() };
    assert_eq!(refused(token).await, RedeemError::KeyKnown);
    let older = Candidate { may_come_again: false, ..again.clone() };
    assert_eq!(refused(older).await, RedeemError::Spent);
    // After the device has connected, a retry is rejected.
    place.store.record_hello(device_id(1), greeting(1, "{}")).await.unwrap();
    assert_eq!(refused(again).await, RedeemError::Spent);
}

#[tokio::test]
async fn a_token_says_why_it_is_worth_nothing_only_to_who_knows_its_secret() {
    let place = Place::new().await;
    place.store.create_invite(invite(1, 2)).await.unwrap();
    let keys = std::cell::Cell::new(0);
    let redeem = async |n, secret: &[u8], at| {
        keys.set(keys.get() + 1);
        let secret_hash = Digest::of(secret);
        let one = candidate(keys.get(), "pi");
        let one = Candidate { invite: invite_id(n), secret_hash, at, ..one };
        place.store.enroll_device(one).await.map(|one| one.device.name.to_string())
    };
    assert_eq!(redeem(1, b"guess", 2_000).await, Err(RedeemError::Unknown));
    assert_eq!(redeem(2, b"secret", 2_000).await, Err(RedeemError::Unknown));
    assert_eq!(redeem(1, b"guess", 9_000).await, Err(RedeemError::Unknown));
    assert_eq!(redeem(1, b"secret", 5_000).await, Err(RedeemError::Expired));
    assert_eq!(redeem(1, b"secret", 4_999).await, Ok("kiosk".to_owned()));
    assert_eq!(redeem(1, b"secret", 4_999).await, Ok("kiosk-2".to_owned()));
    assert_eq!(redeem(1, b"secret", 4_999).await, Err(RedeemError::Spent));
}

#[tokio::test]
async fn a_token_lets_in_its_platforms_from_its_networks_and_nothing_is_spent_on_others() {
    let place = Place::new().await;
    let scope = InviteScope {
        platforms: vec!["linux-x86_64".to_owned()],
        networks: vec!["10.0.0.0/8".parse().unwrap()],
        ..InviteScope::default()
    };
    place.store.create_invite(NewInvite { scope, ..invite(1, 1) }).await.unwrap();
    let refused = async |candidate| place.store.enroll_device(candidate).await.unwrap_err();
    let outside = Candidate { address: [192, 0, 2, 1].into(), ..candidate(1, "pi") };
    assert_eq!(refused(outside.clone()).await, RedeemError::Network([192, 0, 2, 1].into()));
    let other = Candidate { platform: "linux-aarch64".to_owned(), ..candidate(2, "pi") };
    let error = RedeemError::Platform {
        allowed: "linux-x86_64".to_owned(),
        stated: "linux-aarch64".to_owned(),
    };
    assert_eq!(refused(other).await, error);
    // Who does not know the secret learns nothing and writes nothing into the audit log.
    let guess = Candidate { secret_hash: Digest::of(b"guess"), ..outside };
    assert_eq!(refused(guess).await, RedeemError::Unknown);
    assert_eq!(place.kinds().await, ["invite.created", "invite.refused", "invite.refused"]);
    let own = Candidate { may_come_again: true, ..candidate(3, "pi") };
    place.store.enroll_device(own.clone()).await.unwrap();
    // A device that was let in gets its lost answer from wherever it is.
    let elsewhere = Candidate { address: [192, 0, 2, 1].into(), ..own };
    assert!(!place.store.enroll_device(elsewhere).await.unwrap().is_new);
}

#[tokio::test]
async fn a_withdrawn_token_lets_nobody_in_and_who_used_it_stays() {
    let place = Place::new().await;
    let withdraw = async |id: &str, now| place.store.revoke_invite(id, &user("bob"), now).await;
    let open = async |now| {
        let (open, has_more) = place.store.open_invites(now).await.unwrap();
        assert!(!has_more);
        open.iter().map(|invite| (invite.id, invite.uses_left)).collect::<Vec<_>>()
    };
    place.store.create_invite(invite(1, 3)).await.unwrap();
    place.store.create_invite(NewInvite { expires_at: 4_000, ..invite(2, 1) }).await.unwrap();
    let own = Candidate { may_come_again: true, ..candidate(1, "pi") };
    place.store.enroll_device(own.clone()).await.unwrap();
    assert_eq!(open(2_000).await, [(invite_id(2), 1), (invite_id(1), 2)]);
    assert_eq!(open(4_000).await, [(invite_id(1), 2)]);

    let (first, second) = (invite_id(1).to_string(), invite_id(2).to_string());
    assert_eq!(withdraw(&second, 4_000).await.unwrap_err(), StoreError::NotFound);
    assert_eq!(withdraw(&second[..8], 2_000).await.unwrap_err(), StoreError::Ambiguous);
    for none in ["", "%", "0195_", &invite_id(3).to_string()] {
        assert_eq!(withdraw(none, 2_000).await.unwrap_err(), StoreError::NotFound, "{none}");
    }
    let (withdrawn, used) = withdraw(&first, 2_000).await.unwrap();
    assert_eq!((withdrawn.uses_left, used), (2, vec!["kiosk".parse().unwrap()]));
    assert_eq!(withdraw(&first, 2_000).await.unwrap_err(), StoreError::NotFound);
    assert_eq!(open(2_000).await, [(invite_id(2), 1)]);

    let refused = place.store.enroll_device(candidate(2, "pi")).await.unwrap_err();
    assert_eq!(refused, RedeemError::Revoked);
    let late = Candidate { at: 9_000, ..candidate(3, "pi") };
    assert_eq!(place.store.enroll_device(late).await.unwrap_err(), RedeemError::Revoked);
    // Who does not know the secret does not learn it.
    let guess = Candidate { secret_hash: Digest::of(b"guess"), ..candidate(4, "pi") };
    assert_eq!(place.store.enroll_device(guess).await.unwrap_err(), RedeemError::Unknown);
    // A device that was let in gets its lost answer.
    let again = Candidate { id: device_id(9), ..own };
    assert!(!place.store.enroll_device(again).await.unwrap().is_new);
    assert_eq!(place.kinds().await.iter().filter(|kind| *kind == "invite.revoked").count(), 1);
}

#[tokio::test]
async fn whoever_is_let_in_while_a_token_is_withdrawn_is_counted() {
    let place = Place::new().await;
    place.store.create_invite(invite(1, 100)).await.unwrap();
    let tries: Vec<_> = (1..=60)
        .map(|n| {
            let store = place.store.clone();
            tokio::spawn(async move { store.enroll_device(candidate(n, "pi")).await })
        })
        .collect();
    tokio::task::yield_now().await;
    let revoked = place.store.revoke_invite(&invite_id(1).to_string(), &user("bob"), 2_000).await;
    let mut inside = 0;
    for one in tries {
        match one.await.unwrap() {
            Ok(_) => inside += 1,
            Err(error) => assert_eq!(error, RedeemError::Revoked),
        }
    }
    let (withdrawn, used) = revoked.unwrap();
    assert_eq!((inside + withdrawn.uses_left, used.len()), (100, inside as usize));
}
