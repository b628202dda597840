//! A state directory on a real disk.

use std::fs;
use std::time::Duration;

use orion_domain::id::InviteId;
use orion_domain::{DeviceId, Secret};
use orion_mtls::{CertificateAuthority, DeviceKey};
use uuid::Uuid;

use super::*;
use crate::clock::now_ms;

fn identity() -> Identity {
    let device_id = DeviceId::new(Uuid::from_u128(7));
    let authority = CertificateAuthority::create(now_ms()).unwrap();
    let key = DeviceKey::generate().unwrap();
    let issued = authority
        .issue_device(
            key.csr().unwrap().as_bytes(),
            &device_id.to_string(),
            Duration::from_hours(24),
            now_ms(),
        )
        .unwrap();
    Identity {
        device_id,
        name: "laptop-123".parse().unwrap(),
        addresses: vec!["127.0.0.1:7443".to_owned()],
        renew_at: 5,
        not_after: issued.not_after_ms,
        certificate: issued.cert_pem,
        authorities: authority.cert_pem().to_owned(),
        key,
    }
}

#[test]
fn one_directory_serves_one_agent_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("state");
    let first = State::open(&dir).unwrap();
    assert!(matches!(State::open(&dir).unwrap_err(), StateError::Busy { .. }));
    drop(first);
    State::open(&dir).unwrap();
}

#[test]
fn who_asks_whether_a_directory_is_used_makes_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("state");
    assert!(!State::is_used(&dir).unwrap());
    assert!(!dir.exists());
    fs::create_dir(&dir).unwrap();
    assert!(!State::is_used(&dir).unwrap());
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
    fs::remove_dir(&dir).unwrap();
    let held = State::open(&dir).unwrap();
    assert!(State::is_used(&dir).unwrap());
    drop(held);
    assert!(!State::is_used(&dir).unwrap());
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_the_lock_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, elsewhere) = (folder.path().join("state"), folder.path().join("elsewhere"));
    drop(State::open(&dir).unwrap());
    fs::remove_file(dir.join(LOCK)).unwrap();
    std::os::unix::fs::symlink(&elsewhere, dir.join(LOCK)).unwrap();
    for _ in 0..2 {
        assert!(matches!(State::open(&dir).unwrap_err(), StateError::Io { .. }));
        assert!(State::is_used(&dir).is_err());
        if !elsewhere.exists() {
            fs::write(&elsewhere, "theirs").unwrap();
        }
    }
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "theirs");
}

#[cfg(unix)]
#[test]
fn a_lock_that_root_makes_belongs_to_the_account_of_the_directory() {
    use std::os::unix::fs::{MetadataExt as _, chown};

    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("state");
    drop(State::open(&dir).unwrap());
    fs::remove_file(dir.join(LOCK)).unwrap();
    chown(&dir, Some(64_321), Some(64_321)).unwrap();
    drop(State::open(&dir).unwrap());
    assert_eq!(fs::metadata(dir.join(LOCK)).unwrap().uid(), 64_321);
}

#[cfg(unix)]
#[test]
fn the_directory_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("a/state");
    drop(State::open(&dir).unwrap());
    let mode = |dir: &Path| fs::metadata(dir).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);

    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(matches!(State::open(&dir).unwrap_err(), StateError::TooOpen { mode: 0o755, .. }));

    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    fs::set_permissions(&empty, fs::Permissions::from_mode(0o755)).unwrap();
    drop(State::open(&empty).unwrap());
    assert_eq!(mode(&empty), 0o700);
}

#[test]
fn the_generation_only_counts_up_and_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let state = State::open(folder.path()).unwrap();
    assert_eq!(state.next_generation().unwrap(), 1);
    assert_eq!(state.next_generation().unwrap(), 2);
    drop(state);
    let state = State::open(folder.path()).unwrap();
    assert_eq!(state.next_generation().unwrap(), 3);
    secret_file::write(&state.path(GENERATION), b"-1").unwrap();
    assert!(matches!(state.next_generation().unwrap_err(), StateError::Damaged { .. }));
}

#[test]
fn an_identity_survives_the_disk_and_connects() {
    let folder = tempfile::tempdir().unwrap();
    let state = State::open(folder.path()).unwrap();
    assert!(Identity::read(folder.path()).unwrap().is_none());
    let saved = identity();
    saved.save(&state).unwrap();
    let read = Identity::read(folder.path()).unwrap().unwrap();
    assert_eq!(format!("{read:?}"), format!("{saved:?}"));
    assert!(is_for(&read.certificate, read.device_id, &read.key));
    assert!(!is_for(&read.certificate, DeviceId::new(Uuid::from_u128(8)), &read.key));
    assert!(!is_for(&read.certificate, read.device_id, &DeviceKey::generate().unwrap()));
    read.tls().unwrap();

    Identity::forget(&state).unwrap();
    assert!(Identity::read(folder.path()).unwrap().is_none());
}

#[test]
fn a_half_written_identity_is_none_and_a_damaged_one_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let state = State::open(folder.path()).unwrap();
    secret_file::write(&state.path("key.pem"), b"key").unwrap();
    secret_file::write(&state.path("certificate.pem"), b"certificate").unwrap();
    assert!(Identity::read(folder.path()).unwrap().is_none());
    secret_file::write(&state.path("identity.toml"), b"device_id = 7").unwrap();
    assert!(matches!(Identity::read(folder.path()).unwrap_err(), StateError::Damaged { .. }));
}

fn pending(stage: EnrollmentStage) -> Pending {
    Pending {
        stage,
        ticket: Secret::new("ticket"),
        addresses: vec!["h:1".to_owned()],
        pins: "ab".repeat(32),
        key: DeviceKey::generate().unwrap(),
        first_config: None,
    }
}

#[test]
fn a_pending_enrolment_can_be_taken_up_again() {
    let folder = tempfile::tempdir().unwrap();
    let state = State::open(folder.path()).unwrap();
    let device_id = DeviceId::new(Uuid::from_u128(7));
    let pending = pending(EnrollmentStage::Known { device_id, invite: None });
    let pending = Pending { first_config: Some("[ceiling]".to_owned()), ..pending };
    pending.save(&state).unwrap();
    let read = Pending::read(folder.path()).unwrap().unwrap();
    assert_eq!(format!("{read:?}"), format!("{pending:?}"));
    assert_eq!(read.ticket, pending.ticket);
    let own = &read.key.to_pem();
    assert_eq!(own.expose(), pending.key.to_pem().expose());
    // The identity may be renewed while an enrolment is pending.
    identity().save(&state).unwrap();
    assert!(Pending::read(folder.path()).unwrap().is_some());
    Pending::forget(&state).unwrap();
    assert!(Pending::read(folder.path()).unwrap().is_none());
}

#[test]
fn an_enrolment_without_an_answer_is_read_back_beside_what_the_device_is() {
    let folder = tempfile::tempdir().unwrap();
    let state = State::open(folder.path()).unwrap();
    let before = identity();
    before.save(&state).unwrap();
    let invite = InviteId::new(Uuid::from_u128(3));
    let secret = Secret::new("hunter2");
    let name = Some("kiosk".parse().unwrap());
    let pending = pending(EnrollmentStage::Asked { invite, secret: secret.clone(), name });
    pending.save(&state).unwrap();
    let read = Pending::read(folder.path()).unwrap().unwrap();
    assert_eq!((&read.stage, read.key.fingerprint()), (&pending.stage, pending.key.fingerprint()));
    assert!(read.is_of(invite, &secret) && !read.is_of(invite, &Secret::new("other")));
    assert!(!read.is_of(InviteId::new(Uuid::from_u128(4)), &secret));
    let after = Identity::read(folder.path()).unwrap().unwrap();
    assert_eq!(after.key.fingerprint(), before.key.fingerprint());
    after.tls().unwrap();
    Pending::forget(&state).unwrap();
    assert!(Pending::read(folder.path()).unwrap().is_none());
    // An older version wrote the key to a separate file.
    let older = "device_id = \"00000000-0000-0000-0000-000000000007\"\nticket = \"t\"\naddresses = []\npins = \"\"\n";
    secret_file::write(&state.path("pending.toml"), older.as_bytes()).unwrap();
    let read = Pending::read(folder.path()).unwrap().unwrap();
    let device_id = DeviceId::new(Uuid::from_u128(7));
    assert_eq!(read.stage, EnrollmentStage::Known { device_id, invite: None });
    assert_eq!(read.key.fingerprint(), before.key.fingerprint());
}

#[test]
fn a_status_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(Status::read(folder.path()), None);
    let status = Status { connected_to: Some("h:1".to_owned()), at: 5, ..Status::default() };
    status.write(folder.path());
    assert_eq!(Status::read(folder.path()), Some(status));
}
