//! Registration and signatures, and every answer that is refused.

mod authenticator;

use orion_domain::{Caller, Role};
use rstest::rstest;
use serde_json::{Value, json};
use tempfile::TempDir;

use self::authenticator::{Answer, Authenticator, CHECKED, NEW, ORIGIN, attestation};
use super::*;
use crate::scope::TokenKind;
use crate::webauthn::PublicKey;

const NOW: i64 = 1_000_000;

/// A backend with a person, ann, and her passkey.
struct Place {
    _dir: TempDir,
    store: Store,
    passkeys: Passkeys,
    ann: Identity,
    key: Authenticator,
}

fn identity(user: &str, session: &str) -> Identity {
    let caller = Caller { user: user.parse().unwrap(), role: Role::Operator, conversation: None };
    let token = Digest::of(session.as_bytes());
    Identity { caller, token, kind: TokenKind::Session, expires_at: i64::MAX }
}

fn subject() -> Digest {
    Digest::of(b"what was shown")
}

impl Place {
    async fn with(key: Authenticator, count: u32) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("orion.db")).await.unwrap();
        let (ann, by) = (identity("ann", "a"), "admin".parse().unwrap());
        for user in ["ann", "bob"] {
            let user = user.parse().unwrap();
            store.create_user(&user, Role::Operator, None, &by, NOW).await.unwrap();
        }
        let passkeys = Passkeys::new(Some("https://orion.example/"), "http://127.0.0.1:7080");
        let (request, _) = passkeys.start_registration(&store, &ann, NOW).await.unwrap();
        let answer = Answer { count, ..key.registered(request.challenge) };
        let object = attestation(&answer.authenticator_data());
        let new = passkeys
            .finish_registration(&store, &ann, &answer.client_data(), &object, NOW)
            .await
            .unwrap();
        store.add_passkey(&ann.caller.user, "key", new, NOW).await.unwrap();
        Self { _dir: dir, store, passkeys, ann, key }
    }

    async fn new() -> Self {
        Self::with(Authenticator::es256(), 0).await
    }

    async fn challenge(&self) -> Digest {
        let request = self.passkeys.start_approval(&self.store, &self.ann, subject(), NOW).await;
        request.unwrap().challenge
    }

    async fn check(&self, who: &Identity, assertion: &Assertion) -> Result<Digest, PasskeyError> {
        let checked = self.passkeys.check(&self.store, who, assertion, NOW + 1).await;
        checked.map(|proof| proof.subject())
    }

    async fn refusals(&self) -> Vec<Value> {
        let rows = self.store.audit_rows(100, None, None).await.unwrap();
        let refused = rows.into_iter().filter(|row| row.kind == "passkey.refused");
        refused.map(|row| serde_json::from_str(row.body.as_str()).unwrap()).collect()
    }
}

fn origin() -> PasskeyError {
    PasskeyError::Origin(ORIGIN.to_owned())
}

#[rstest]
#[case(Authenticator::es256())]
#[case(Authenticator::ed25519())]
#[tokio::test]
async fn a_signature_covers_what_its_challenge_was_made_for_once(#[case] key: Authenticator) {
    let place = Place::with(key, 0).await;
    let signed = place.key.sign(&Answer::to(place.challenge().await));
    assert_eq!(place.check(&place.ann, &signed).await, Ok(subject()));
    assert_eq!(place.check(&place.ann, &signed).await, Err(PasskeyError::Challenge));
    assert_eq!(place.refusals().await.len(), 1);
}

#[test]
fn a_signature_of_rsa_is_checked_as_other_programs_make_it() {
    // openssl dgst -sha256 -sign, over "signed by a passkey": the modulus, then the signature.
    let (modulus, signature) = include_str!("tests/rs256.txt").split_once("\n\n").unwrap();
    let bytes = |text: &str| hex::decode(text.split_whitespace().collect::<String>()).unwrap();
    let key = PublicKey::stored(-257, bytes(modulus)).unwrap();
    assert!(key.verify(b"signed by a passkey", &bytes(signature)).is_some());
    assert_eq!(key.verify(b"signed by another", &bytes(signature)), None);
    for (number, length) in [(-257, 255), (-257, 513), (-7, 64), (-8, 33), (-37, 256)] {
        assert_eq!(PublicKey::stored(number, vec![4; length]), None, "{number} {length}");
    }
}

/// How an answer differs from the right one.
type Lie = fn(&mut Answer);

#[tokio::test]
async fn an_answer_that_is_not_what_was_asked_for_is_refused_and_recorded() {
    let malformed = PasskeyError::Malformed;
    let cases: [(&str, Lie, PasskeyError); 17] = [
        (
            "of another page",
            |it| it.client_data["origin"] = json!("https://orion.example:8443"),
            origin(),
        ),
        (
            "of a page without tls",
            |it| it.client_data["origin"] = json!("http://orion.example"),
            origin(),
        ),
        (
            "of a page that begins alike",
            |it| it.client_data["origin"] = json!("https://orion.example.evil.test"),
            origin(),
        ),
        ("in a frame", |it| it.client_data["crossOrigin"] = json!(true), origin()),
        (
            "under another page",
            |it| it.client_data["topOrigin"] = json!("https://evil.test"),
            origin(),
        ),
        (
            "of another ceremony",
            |it| it.client_data["type"] = json!("webauthn.create"),
            PasskeyError::Ceremony,
        ),
        (
            "to another challenge",
            |it| it.client_data["challenge"] = json!("A".repeat(43)),
            PasskeyError::Challenge,
        ),
        (
            "to a short challenge",
            |it| it.client_data["challenge"] = json!("AAAA"),
            malformed("the browser's data"),
        ),
        (
            "that is too large",
            |it| it.client_data["more"] = json!("x".repeat(5000)),
            malformed("the browser's data"),
        ),
        (
            "without an origin",
            |it| drop(it.client_data.as_object_mut().unwrap().remove("origin")),
            malformed("the browser's data"),
        ),
        ("for another host", |it| it.host = "evil.test", PasskeyError::RelyingParty),
        ("without a touch", |it| it.flags = CHECKED & !0x01, PasskeyError::NotPresent),
        ("without a check", |it| it.flags = CHECKED & !0x04, PasskeyError::NotVerified),
        ("with a backup that cannot be", |it| it.flags = CHECKED | 0x10, malformed("its flags")),
        ("with bytes that follow", |it| it.rest = vec![0], malformed("its CBOR")),
        (
            "with extensions that are no map",
            |it| {
                it.flags |= 0x80;
                it.rest = vec![0x61, b'x'];
            },
            malformed("its CBOR"),
        ),
        (
            "with a credential that ends early",
            |it| {
                it.flags |= NEW;
                it.rest = vec![0; 17];
            },
            malformed("its CBOR"),
        ),
    ];
    for (name, lie, expected) in cases {
        let place = Place::new().await;
        let mut answer = Answer::to(place.challenge().await);
        lie(&mut answer);
        let checked = place.check(&place.ann, &place.key.sign(&answer)).await;
        assert_eq!(checked, Err(expected.clone()), "{name}");
        let recorded = json!({"user": "ann", "because": expected.to_string()});
        assert_eq!(place.refusals().await, [recorded], "{name}");
    }
}

#[tokio::test]
async fn extensions_and_members_that_were_not_asked_for_are_ignored() {
    let place = Place::new().await;
    let mut answer = Answer::to(place.challenge().await);
    answer.client_data["other_keys_can_be_added_here"] = json!("yes");
    answer.flags |= 0x80 | 0x18;
    answer.rest = b"\xa1\x6bcredProtect\x02".to_vec();
    assert_eq!(place.check(&place.ann, &place.key.sign(&answer)).await, Ok(subject()));
}

#[tokio::test]
async fn another_signature_key_person_or_session_is_refused() {
    let place = Place::new().await;
    let sign = async || place.key.sign(&Answer::to(place.challenge().await));
    // A signature that was changed, of another key, cut or huge.
    let mut changed = sign().await;
    changed.signature[8] ^= 1;
    assert_eq!(place.check(&place.ann, &changed).await, Err(PasskeyError::Signature));
    let mut other_key = Authenticator::es256();
    other_key.id.clone_from(&place.key.id);
    let foreign = other_key.sign(&Answer::to(place.challenge().await));
    assert_eq!(place.check(&place.ann, &foreign).await, Err(PasskeyError::Signature));
    let cut = Assertion { authenticator_data: vec![0; 36], ..sign().await };
    assert_eq!(place.check(&place.ann, &cut).await, Err(PasskeyError::RelyingParty));
    let short = sign().await;
    let short = Assertion { authenticator_data: short.authenticator_data[..36].to_vec(), ..short };
    let malformed = PasskeyError::Malformed("its CBOR");
    assert_eq!(place.check(&place.ann, &short).await, Err(malformed));
    let huge = Assertion { signature: vec![0; MAX_BYTES + 1], ..sign().await };
    let malformed = PasskeyError::Malformed("its length");
    assert_eq!(place.check(&place.ann, &huge).await, Err(malformed.clone()));
    let huge = Assertion { authenticator_data: vec![0; MAX_BYTES + 1], ..sign().await };
    assert_eq!(place.check(&place.ann, &huge).await, Err(malformed));
    // A passkey that she does not have.
    for credential_id in [vec![], vec![7; 32], vec![7; 100_000]] {
        let unknown = Assertion { credential_id, ..sign().await };
        assert_eq!(place.check(&place.ann, &unknown).await, Err(PasskeyError::Unknown));
    }
    // Another session of hers, and another person in a session that has the same token.
    for who in [identity("ann", "b"), identity("bob", "a")] {
        let signed = sign().await;
        assert_eq!(place.check(&who, &signed).await, Err(PasskeyError::Challenge));
        assert_eq!(place.check(&place.ann, &signed).await, Ok(subject()));
    }
    // Too late.
    let signed = sign().await;
    let late = place.passkeys.check(&place.store, &place.ann, &signed, NOW + CHALLENGE_MS).await;
    assert_eq!(late, Err(PasskeyError::Challenge));
    // Removed in between.
    let signed = sign().await;
    let (ann, id) = (&place.ann.caller.user, URL_SAFE_NO_PAD.encode(&place.key.id));
    place.store.remove_passkey(ann, &id, ann, NOW).await.unwrap();
    assert_eq!(place.check(&place.ann, &signed).await, Err(PasskeyError::Unknown));
    let none = place.passkeys.start_approval(&place.store, &place.ann, subject(), NOW).await;
    assert_eq!(none, Err(PasskeyError::Unknown));
}

#[tokio::test]
async fn a_counter_goes_forward_or_stands_still_at_zero() {
    for (before, now, expected) in [
        (0, 0, Ok(subject())),
        (0, 1, Ok(subject())),
        (5, 6, Ok(subject())),
        (5, 5, Err(PasskeyError::Counter)),
        (5, 4, Err(PasskeyError::Counter)),
        (5, 0, Err(PasskeyError::Counter)),
        (u32::MAX, 0, Err(PasskeyError::Counter)),
    ] {
        let place = Place::with(Authenticator::es256(), before).await;
        let answer = Answer { count: now, ..Answer::to(place.challenge().await) };
        let checked = place.check(&place.ann, &place.key.sign(&answer)).await;
        assert_eq!(checked, expected, "{before} {now}");
    }
}

#[tokio::test]
async fn a_person_has_few_challenges_and_others_keep_theirs() {
    let place = Place::new().await;
    let bob = identity("bob", "b");
    let (of_bob, _) = place.passkeys.start_registration(&place.store, &bob, NOW).await.unwrap();
    let mut signed = Vec::new();
    for _ in 0..5 {
        signed.push(place.key.sign(&Answer::to(place.challenge().await)));
    }
    let mut good = Vec::new();
    for signed in &signed {
        good.push(place.check(&place.ann, signed).await.is_ok());
    }
    assert_eq!(good, [false, true, true, true, true]);
    let answer = place.key.registered(of_bob.challenge);
    let object = attestation(&answer.authenticator_data());
    let client_data = answer.client_data();
    let new = place
        .passkeys
        .finish_registration(&place.store, &bob, &client_data, &object, NOW)
        .await
        .unwrap();
    let taken = place.store.add_passkey(&bob.caller.user, "mine", new, NOW).await;
    assert_eq!(taken, Err(crate::store::NewPasskeyError::Taken));
}

/// What is answered to a registration, with a part changed.
async fn register(
    change: impl FnOnce(&mut Answer),
    object: impl FnOnce(Vec<u8>) -> Vec<u8>,
) -> Result<i64, PasskeyError> {
    let place = Place::new().await;
    let bob = identity("bob", "b");
    let started = place.passkeys.start_registration(&place.store, &bob, NOW).await;
    let mut answer = Authenticator::es256().registered(started.unwrap().0.challenge);
    change(&mut answer);
    let object = object(attestation(&answer.authenticator_data()));
    let new = place
        .passkeys
        .finish_registration(&place.store, &bob, &answer.client_data(), &object, NOW)
        .await
        .map(|new| new.key.algorithm().number());
    let because = new.as_ref().err().map(ToString::to_string);
    let recorded: Vec<_> = because.iter().map(|it| json!({"user": "bob", "because": it})).collect();
    assert_eq!(place.refusals().await, recorded);
    new
}

#[tokio::test]
async fn a_registration_that_is_not_in_its_form_is_refused() {
    let same = |it: Vec<u8>| it;
    assert_eq!(register(|_| {}, same).await, Ok(-7));
    let malformed = |what| Err(PasskeyError::Malformed(what));
    let (cbor, object) = ("its CBOR", "its attestation object");
    assert_eq!(register(|_| {}, |_| Vec::new()).await, malformed(cbor));
    assert_eq!(register(|_| {}, |_| b"garbage, not CBOR".to_vec()).await, malformed(cbor));
    assert_eq!(register(|_| {}, |it| it[..it.len() - 1].to_vec()).await, malformed(cbor));
    assert_eq!(register(|_| {}, |it| [it, vec![0]].concat()).await, malformed(cbor));
    assert_eq!(register(|_| {}, |_| vec![0xa0]).await, malformed(object));
    assert_eq!(register(|_| {}, |_| vec![0xa3; 9000]).await, malformed("its length"));
    let twice = |_| b"\xa2\x63fmt\x64none\x63fmt\x64none".to_vec();
    assert_eq!(register(|_| {}, twice).await, malformed(object));
    let renamed = |it: Vec<u8>| {
        let mut it = it;
        it[5..10].copy_from_slice(b"\x64self");
        it
    };
    assert_eq!(register(|_| {}, renamed).await, Err(PasskeyError::Attestation));
    let plain = |it: &mut Answer| (it.flags, it.rest) = (CHECKED, Vec::new());
    assert_eq!(register(plain, same).await, malformed("its credential"));
    let nameless = |it: &mut Answer| it.rest[16..18].fill(0);
    assert_eq!(register(nameless, same).await, malformed("the id of its credential"));
    let long = |it: &mut Answer| it.rest[16..18].copy_from_slice(&1024u16.to_be_bytes());
    assert_eq!(register(long, same).await, malformed("the id of its credential"));
    // ES384 instead of ES256, another curve, and a key with an entry too many.
    let key = |it: &Answer| it.rest.len() - Authenticator::es256().cose().len();
    let other = |it: &mut Answer| {
        let at = key(it);
        it.rest.splice(at + 4..at + 5, [0x38, 0x22]);
    };
    assert_eq!(register(other, same).await, Err(PasskeyError::Algorithm));
    let curve = |it: &mut Answer| {
        let at = key(it);
        it.rest[at + 6] = 2;
    };
    assert_eq!(register(curve, same).await, Err(PasskeyError::Algorithm));
    let more = |it: &mut Answer| {
        let at = key(it);
        it.rest[at] = 0xa6;
        it.rest.extend([0x04, 0x01]);
    };
    assert_eq!(register(more, same).await, malformed("its public key"));
    // What was asked for an approval registers nothing, and the other way round.
    let get = |it: &mut Answer| it.client_data["type"] = json!("webauthn.get");
    assert_eq!(register(get, same).await, Err(PasskeyError::Ceremony));
    let place = Place::new().await;
    let answer = place.key.registered(place.challenge().await);
    let data = attestation(&answer.authenticator_data());
    let new = place
        .passkeys
        .finish_registration(&place.store, &place.ann, &answer.client_data(), &data, NOW)
        .await;
    assert_eq!(new, Err(PasskeyError::Challenge));
    let (started, _) =
        place.passkeys.start_registration(&place.store, &place.ann, NOW).await.unwrap();
    let signed = place.key.sign(&Answer::to(started.challenge));
    assert_eq!(place.check(&place.ann, &signed).await, Err(PasskeyError::Challenge));
}

#[tokio::test]
async fn without_a_page_that_browsers_give_passkeys_to_nothing_is_asked_for() {
    let place = Place::new().await;
    let passkeys = Passkeys::new(None, "http://192.0.2.1:7080/");
    assert_eq!((passkeys.page(), passkeys.origin()), ("http://192.0.2.1:7080", None));
    let unavailable = PasskeyError::Unavailable("http://192.0.2.1:7080".to_owned());
    let started = passkeys.start_registration(&place.store, &place.ann, NOW).await;
    assert_eq!(started.map(drop), Err(unavailable.clone()));
    let signed = place.key.sign(&Answer::to(Digest::ZERO));
    let checked = passkeys.check(&place.store, &place.ann, &signed, NOW).await;
    assert_eq!(checked, Err(unavailable));
}
