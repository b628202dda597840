//! What the requests in memory allow: who finds one, who decides it, and how many there are.

use std::net::IpAddr;

use uuid::Uuid;

use super::super::wrong_codes::MAX_WRONG;
use super::*;

const SECRET: &str = "a secret of a device, which nobody else knows";

fn source(address: u8) -> Source {
    Source::Address([10, 0, 0, address].into())
}

fn user(name: &str) -> UserName {
    name.parse().unwrap()
}

fn code(number: usize) -> EnrollmentCode {
    EnrollmentCode::new([0, 0, 0, 0, 0, number / 400, number / 20, number])
}

/// A request of an address; its number is its code.
fn request(number: usize, from: u8) -> OpenRequest {
    OpenRequest {
        record: EnrollmentRequestRecord {
            request_id: InviteId::new(Uuid::from_u128(number.try_into().unwrap())),
            address: IpAddr::from([10, 0, 0, from]),
            device_name: "kiosk".to_owned(),
            hostname: "kiosk.lab".to_owned(),
            platform: "linux-x86_64".to_owned(),
            public_key_fingerprint: "key".to_owned(),
            by: None,
        },
        agent_version: "0.1.0".to_owned(),
        code: code(number),
        source: source(from),
        commitment: Digest::of(SECRET.as_bytes()),
        authority: Fingerprint([1; 32]),
        key: Fingerprint([2; 32]),
        nonce: [3; 32],
        shown: None,
        state: RequestState::Waiting,
        is_found: false,
        requested_at: 1_000,
        seen: 1_000,
        expires_at: 2_000,
    }
}

fn id(request: &OpenRequest) -> InviteId {
    request.record.request_id
}

/// Requests with one, whose secret was revealed, and its words.
fn open() -> (CodeRequests, OpenRequest, String) {
    let (requests, one) = (CodeRequests::default(), request(1, 1));
    assert!(requests.keep(one.clone()).unwrap());
    assert_eq!(requests.reveal(id(&one), SECRET, 1_000).unwrap(), RequestState::Waiting);
    let words = requests.find(code(1), &user("admin"), 1_000).unwrap().shown.unwrap().words;
    (requests, one, words)
}

#[test]
fn a_code_finds_its_request_once_the_secret_was_revealed_and_until_its_end() {
    let (requests, one) = (CodeRequests::default(), request(1, 1));
    assert!(requests.keep(one.clone()).unwrap());
    let find = |now| requests.find(code(1), &user("admin"), now).map(|found| id(&found));
    assert!(matches!(find(1_000), Err(CodeError::WrongCode)));
    let reveal = |secret, now| requests.reveal(id(&one), secret, now);
    assert!(matches!(reveal("another", 1_000), Err(CodeError::Ended)));
    assert!(matches!(find(1_000), Err(CodeError::WrongCode)));
    assert_eq!(reveal(SECRET, 1_000).unwrap(), RequestState::Waiting);
    assert_eq!(find(1_999).unwrap(), id(&one));
    assert!(matches!(find(2_000), Err(CodeError::WrongCode)));
    assert!(matches!(reveal(SECRET, 2_000), Err(CodeError::Ended)));
}

#[test]
fn one_person_confirms_with_the_words_and_nobody_after_them() {
    let (requests, one, words) = open();
    let claim = |words: &str, by: &str| requests.claim(code(1), words, &user(by), 1_500);
    assert!(matches!(claim("other-words", "ann"), Err(CodeError::OtherWords { .. })));
    assert!(matches!(claim("", "ann"), Err(CodeError::OtherWords { .. })));
    assert_eq!(id(&claim(&words, "ann").unwrap()), id(&one));
    // While it is stored, and afterwards, nobody else decides it, nor the same person again.
    for by in ["ann", "bob"] {
        assert!(matches!(claim(&words, by), Err(CodeError::Decided { how: "confirmed", .. })));
    }
    let refused = requests.refuse(code(1), &user("bob"), 1_500);
    assert!(matches!(refused, Err(CodeError::Decided { how: "confirmed", .. })));
    let state = |now| requests.reveal(id(&one), SECRET, now);
    assert_eq!(state(1_600).unwrap(), RequestState::Confirming(user("ann")));
    // What could not be stored is open again.
    requests.settle(id(&one), None);
    assert_eq!(id(&claim(&words, "bob").unwrap()), id(&one));
    requests.settle(id(&one), Some((user("bob"), 9_000)));
    assert_eq!(state(8_999).unwrap(), RequestState::Confirmed(user("bob")));
    assert!(matches!(state(9_000), Err(CodeError::Ended)));
}

#[test]
fn a_refused_request_stays_refused_until_its_end() {
    let (requests, one, words) = open();
    requests.refuse(code(1), &user("ann"), 1_500).unwrap();
    let again = requests.claim(code(1), &words, &user("bob"), 1_500);
    assert!(matches!(again, Err(CodeError::Decided { how: "refused", .. })));
    let state = requests.reveal(id(&one), SECRET, 1_600).unwrap();
    assert_eq!(state, RequestState::Refused(user("ann")));
}

#[test]
fn wrong_codes_and_words_lock_a_person_out_of_the_right_one_too() {
    let (requests, _, words) = open();
    for wrong in 0..MAX_WRONG {
        let error = if wrong % 2 == 0 {
            requests.find(code(7), &user("ann"), 1_500).unwrap_err()
        } else {
            requests.claim(code(1), "other-words", &user("ann"), 1_500).unwrap_err()
        };
        assert!(matches!(error, CodeError::WrongCode | CodeError::OtherWords { .. }), "{error}");
    }
    let locked = |result: Result<_, _>| matches!(result, Err(CodeError::Locked { minutes: 5 }));
    assert!(locked(requests.find(code(1), &user("ann"), 1_500)));
    assert!(locked(requests.claim(code(1), &words, &user("ann"), 1_500)));
    assert!(locked(requests.refuse(code(1), &user("ann"), 1_500)));
    assert!(requests.find(code(1), &user("bob"), 1_500).is_ok());
}

#[test]
fn there_are_so_many_open_requests_from_one_address_and_in_all() {
    let requests = CodeRequests::default();
    let mut number = 0;
    let mut keep = |from: u8| {
        number += 1;
        requests.keep(request(number, from)).map(|is_kept| assert!(is_kept))
    };
    for _ in 0..MAX_OPEN_FROM_ONE {
        keep(1).unwrap();
    }
    assert!(matches!(keep(1), Err(CodeError::Busy("from this address"))));
    assert!(matches!(requests.has_room(&source(1), 1_000), Err(CodeError::Busy(_))));
    let others = MAX_OPEN / MAX_OPEN_FROM_ONE - 1;
    for from in 0..others {
        for _ in 0..MAX_OPEN_FROM_ONE {
            keep(u8::try_from(from).unwrap() + 2).unwrap();
        }
    }
    // Somebody new has a place of the most crowded ones, until nobody has many more.
    let mut more = 0_u8;
    while keep(100 + more).is_ok() {
        more += 1;
    }
    assert!(matches!(keep(200), Err(CodeError::Busy("at this backend"))));
    assert_eq!(requests.kept().requests.len(), MAX_OPEN);
    assert!(usize::from(more) >= MAX_OPEN / 2, "{more}");
}

#[test]
fn a_place_is_held_only_by_who_still_asks() {
    let requests = CodeRequests::default();
    let lasting = |number| OpenRequest { expires_at: 1_000_000, ..request(number, 1) };
    for number in 0..MAX_OPEN_FROM_ONE {
        assert!(requests.keep(lasting(number)).unwrap());
    }
    let one = id(&lasting(1));
    assert_eq!(requests.reveal(one, SECRET, 2_000).unwrap(), RequestState::Waiting);
    let full = |now| requests.has_room(&source(1), now).is_err();
    assert!(full(1_000 + UNREVEALED_MS - 1));
    assert!(!full(1_000 + UNREVEALED_MS));
    assert_eq!(requests.kept().requests.len(), 1, "the one that was revealed");
    // It keeps its place while it asks, and is not confirmed after that.
    assert_eq!(requests.reveal(one, SECRET, 50_000).unwrap(), RequestState::Waiting);
    let admin = user("admin");
    assert!(requests.find(code(1), &admin, 50_000 + QUIET_MS - 1).is_ok());
    assert!(!requests.set_found(one, true), "nobody had found it");
    assert!(requests.set_found(one, true));
    let late = 50_000 + QUIET_MS;
    assert!(matches!(requests.find(code(1), &admin, late), Err(CodeError::WrongCode)));
    assert!(matches!(requests.reveal(one, SECRET, late), Err(CodeError::Ended)));
    // An admin had found it, so that its end is told, and it stays until that is recorded.
    for _ in 0..2 {
        assert_eq!(requests.expired(late).len(), 1);
    }
    requests.forget(one);
    assert!(requests.expired(late).is_empty());
}

#[test]
fn those_that_were_decided_make_room_for_others_and_are_forgotten_in_time() {
    let (requests, admin) = (CodeRequests::default(), user("admin"));
    for number in 0..MAX_KEPT {
        let one = request(number, 1);
        assert!(requests.keep(one.clone()).unwrap());
        requests.reveal(id(&one), SECRET, 1_000).unwrap();
        requests.refuse(code(number), &admin, 1_000).unwrap();
    }
    assert!(matches!(requests.keep(request(MAX_KEPT, 1)), Err(CodeError::Busy(_))));
    assert!(requests.expired(2_000).is_empty(), "none of them expired undecided");
    assert!(requests.keep(request(MAX_KEPT, 1)).unwrap());
}

#[test]
fn a_code_is_given_once_at_a_time() {
    let requests = CodeRequests::default();
    assert!(requests.keep(request(1, 1)).unwrap());
    let twin = OpenRequest { code: code(1), ..request(2, 2) };
    assert!(!requests.keep(twin).unwrap());
}
