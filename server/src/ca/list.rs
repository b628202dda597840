//! The text of `orion-server ca list`: the active authorities, the devices that hold certificates of an
//! older one, the devices that trust a retired one, and changes that no backend has loaded.

use std::collections::BTreeSet;
use std::path::Path;

use jiff::Timestamp;
use orion_mtls::Authorities;

use super::CaError;
use crate::clock::now_ms;
use crate::data_folder::DATABASE;
use crate::fleet::authority::{AuthorityError, read};
use crate::store::{AuthorityRow, CertificateHolder, ImportedAuthorities, holders_of, taken_in};

/// How many devices are named at most.
const MAX_NAMED: usize = 20;
/// The lifetime of certificates if none was issued yet: a day, in milliseconds.
const LIFETIME: i64 = 24 * 3600 * 1000;

pub(super) async fn list(folder: &Path) -> Result<String, CaError> {
    let set = read(folder)?;
    let database = folder.join(DATABASE);
    let known = if database.exists() {
        Some(taken_in(&database).await.map_err(AuthorityError::from)?)
    } else {
        None
    };
    let mut text = String::new();
    for authority in set.iter() {
        let fingerprint = authority.fingerprint();
        let role = if fingerprint == set.signer().fingerprint() {
            "signs devices".to_owned()
        } else {
            let held = count(holders(folder, &set).await?.len(), "device stands", "devices stand");
            format!("trusted until `orion-server ca retire`; {held} on it")
        };
        text.push_str(&format!(
            "{fingerprint}  {} to {}  {role}\n",
            day(authority.not_before_ms()),
            day(authority.not_after_ms())
        ));
    }
    if let Some(known) = known {
        text.push_str(&describe(&set, &known, now_ms()));
    }
    Ok(text)
}

/// Returns the devices that would be cut off if the older authority were retired at this moment.
pub(super) async fn holders(
    folder: &Path,
    set: &Authorities,
) -> Result<Vec<CertificateHolder>, AuthorityError> {
    let (database, signer) = (folder.join(DATABASE), set.signer().fingerprint().to_string());
    let Some(old) = set.retiring().filter(|_| database.exists()) else { return Ok(Vec::new()) };
    Ok(holders_of(&database, &old.fingerprint().to_string(), &signer, now_ms()).await?)
}

/// Returns what the database adds to the authorities in the folder.
fn describe(set: &Authorities, known: &ImportedAuthorities, now: i64) -> String {
    let mut text = String::new();
    for row in &known.authorities {
        let AuthorityRow { fingerprint, retired_at: Some(retired_at), trusted_by, .. } = row else {
            continue;
        };
        if !trusted_by.is_empty() {
            let many = count(trusted_by.len(), "device trusts", "devices trust");
            text.push_str(&format!(
                "{fingerprint}  retired {}; {many} it, as far as is known: {}\n",
                moment(*retired_at),
                named(trusted_by.iter().cloned())
            ));
        }
    }
    let counts: BTreeSet<_> = set.iter().map(|one| one.fingerprint().to_string()).collect();
    let standing = known.authorities.iter().filter(|row| row.retired_at.is_none());
    let standing: BTreeSet<_> = standing.map(|row| row.fingerprint.clone()).collect();
    if counts != standing {
        text.push_str(
            "no backend has taken this in yet: one that runs does within seconds, or its log says why it \
             cannot; one that is stopped does at its next start\n",
        );
    }
    let lifetime = if known.lifetime > 0 { known.lifetime } else { LIFETIME };
    let signer = set.signer().fingerprint().to_string();
    let since = known.authorities.iter().find(|row| row.fingerprint == signer);
    if set.retiring().is_some() && since.is_some_and(|row| row.trusted_at + lifetime < now) {
        text.push_str(
            "both have been trusted for longer than a certificate is valid: run `orion-server ca retire`\n",
        );
    }
    text
}

pub(super) fn names(holders: &[CertificateHolder]) -> String {
    named(holders.iter().map(|holder| match holder.not_after {
        Some(not_after) => format!("{} (until {})", holder.name, moment(not_after)),
        None => format!("{} (waits for an admin)", holder.name),
    }))
}

fn named(all: impl ExactSizeIterator<Item = String>) -> String {
    let more = all.len().saturating_sub(MAX_NAMED);
    let mut names: Vec<_> = all.take(MAX_NAMED).collect();
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}

pub(super) fn count(number: usize, one: &str, several: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {several}") }
}

/// Formats a time for people, in UTC.
fn moment(at_ms: i64) -> String {
    Timestamp::from_millisecond(at_ms)
        .map(|at| at.strftime("%Y-%m-%d %H:%M UTC").to_string())
        .unwrap_or_default()
}

fn day(at_ms: i64) -> String {
    moment(at_ms).chars().take(10).collect()
}

#[cfg(test)]
mod tests {
    use orion_mtls::CertificateAuthority;

    use super::*;

    #[test]
    fn devices_are_named_up_to_a_bound() {
        let holder = |n: usize| CertificateHolder {
            name: format!("d{n}"),
            not_after: Some(1_795_132_800_000),
        };
        let few: Vec<_> = (0..2).map(holder).collect();
        assert_eq!(names(&few), "d0 (until 2026-11-20 00:00 UTC), d1 (until 2026-11-20 00:00 UTC)");
        let many: Vec<_> = (0..23).map(holder).collect();
        assert!(names(&many).ends_with("and 3 more"));
        let waits = [CertificateHolder { name: "pi".to_owned(), not_after: None }];
        assert_eq!(names(&waits), "pi (waits for an admin)");
    }

    #[test]
    fn what_a_backend_has_not_taken_in_and_what_goes_on_for_too_long_is_told() {
        let now = now_ms();
        let authority = || CertificateAuthority::create(now).unwrap();
        let set = Authorities::one(authority()).rotated(authority()).unwrap();
        let row = |fingerprint: String, trusted_at, retired_at, trusted_by: &[&str]| AuthorityRow {
            fingerprint,
            trusted_at,
            retired_at,
            trusted_by: trusted_by.iter().copied().map(str::to_owned).collect(),
        };
        let (signer, old) = (set.signer(), set.retiring().unwrap());
        let taken_in = |since, lifetime| ImportedAuthorities {
            authorities: vec![
                row(signer.fingerprint().to_string(), since, None, &["kiosk"]),
                row(old.fingerprint().to_string(), 1, None, &["kiosk", "pi"]),
            ],
            lifetime,
        };
        assert_eq!(describe(&set, &taken_in(now - 5_000, 6_000), now), "");
        assert_eq!(describe(&set, &taken_in(now - 5_000, 0), now), "");
        let long = describe(&set, &taken_in(now - 5_000, 4_000), now);
        assert!(long.starts_with("both have been trusted for longer"), "{long}");

        let (left, old) = set.retired().unwrap();
        let signer = row(left.signer().fingerprint().to_string(), now, None, &[]);
        let gone = old.fingerprint().to_string();
        let retired = row(gone.clone(), 1, Some(1_795_132_800_000), &["attic", "pi"]);
        let known = ImportedAuthorities { authorities: vec![signer.clone(), retired], lifetime: 0 };
        assert_eq!(
            describe(&left, &known, now),
            format!(
                "{gone}  retired 2026-11-20 00:00 UTC; 2 devices trust it, as far as is known: attic, pi\n"
            )
        );
        let standing = row(gone, 1, None, &["pi"]);
        let known = ImportedAuthorities { authorities: vec![signer, standing], lifetime: 0 };
        assert!(describe(&left, &known, now).starts_with("no backend has taken this in yet"));
    }
}
