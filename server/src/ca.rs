//! `orion-server ca`: the authorities in a data folder, looked at and changed. A backend that runs on
//! the folder takes a change in within seconds; one that is stopped does at its next start.

use std::path::Path;

use clap::Subcommand;
use jiff::Timestamp;
use orion_mtls::CertificateAuthority;

use crate::clock::now_ms;
use crate::fleet::authority::{AuthorityError, change, read};
use crate::serve::DATABASE;
use crate::store::{Holder, holders_of};

/// How many devices are named at most.
const NAMED: usize = 20;

/// What is to be done with the authorities.
#[derive(Debug, Subcommand)]
pub enum CaCommand {
    /// Lists the authorities, the one that signs devices first.
    List,
    /// Prints the certificate of the authority that signs devices, PEM.
    Show {
        /// Another one, by the beginning of its fingerprint.
        fingerprint: Option<String>,
    },
    /// Makes an authority that signs devices from here on. The one before stays trusted until
    /// `ca retire`, so that no device is cut off.
    ///
    /// Devices come to certificates of the new one by themselves as they renew, within the lifetime
    /// of a certificate; tokens that were made before go on being good meanwhile.
    Rotate,
    /// Ends the overlap: the older authority counts no longer, nor do certificates and tokens of it.
    Retire {
        /// Also where devices are cut off by it, as after a theft of the older one's key. They have
        /// to be enrolled anew.
        #[arg(long)]
        force: bool,
    },
}

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum CaError {
    /// The authorities cannot be read or changed.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// There is no such authority.
    #[error(
        "there is no authority whose fingerprint begins with {0:?}; `orion-server ca list` shows those there are"
    )]
    NoSuch(String),
    /// Devices would be cut off.
    #[error(
        "{} of the older authority and would be cut off: {}. Wait until they have renewed or their certificates have ended, or use --force and enrol them anew",
        count(*devices, "device still holds a certificate", "devices still hold certificates"),
        names
    )]
    StillHeld {
        /// How many.
        devices: usize,
        /// Which.
        names: String,
    },
}

/// Does it, and gives what is to be printed.
///
/// # Errors
/// See [`CaError`]; then nothing was changed.
pub async fn run(command: CaCommand, folder: &Path) -> Result<String, CaError> {
    match command {
        CaCommand::List => list(folder).await,
        CaCommand::Show { fingerprint } => {
            let set = read(folder)?;
            let wanted = fingerprint.unwrap_or_default().to_lowercase();
            let found = set.iter().find(|one| one.fingerprint().to_string().starts_with(&wanted));
            Ok(found.ok_or(CaError::NoSuch(wanted))?.cert_pem().to_owned())
        }
        CaCommand::Rotate => {
            let (new, old) = change(folder, |set| {
                let new = CertificateAuthority::create(now_ms())?;
                let told = (new.fingerprint(), set.signer().fingerprint());
                Ok((set.rotated(new).ok_or(AuthorityError::TakingOver)?, told))
            })?;
            Ok(format!(
                "{new} signs devices from here on\n{old} stays trusted until `orion-server ca retire`\n"
            ))
        }
        CaCommand::Retire { force } => {
            let set = read(folder)?;
            let old = set.retiring().ok_or(AuthorityError::OnlyOne)?.fingerprint().to_string();
            let holders = holders(folder, &old).await?;
            if !force && !holders.is_empty() {
                let (devices, names) = (holders.len(), names(&holders));
                return Err(CaError::StillHeld { devices, names });
            }
            let gone = change(folder, |set| set.retired().ok_or(AuthorityError::OnlyOne))?;
            let mut text = format!("{} counts no longer\n", gone.fingerprint());
            if !holders.is_empty() {
                text.push_str(&format!("cut off, to be enrolled anew: {}\n", names(&holders)));
            }
            Ok(text)
        }
    }
}

async fn list(folder: &Path) -> Result<String, CaError> {
    let set = read(folder)?;
    let mut text = String::new();
    for authority in set.iter() {
        let fingerprint = authority.fingerprint().to_string();
        let role = if fingerprint == set.signer().fingerprint().to_string() {
            "signs devices".to_owned()
        } else {
            let holders = holders(folder, &fingerprint).await?;
            let held = count(holders.len(), "device still holds", "devices still hold");
            format!("trusted until `orion-server ca retire`; {held} certificates of it")
        };
        text.push_str(&format!(
            "{fingerprint}  {} to {}  {role}\n",
            day(authority.not_before_ms()),
            day(authority.not_after_ms())
        ));
    }
    Ok(text)
}

async fn holders(folder: &Path, fingerprint: &str) -> Result<Vec<Holder>, AuthorityError> {
    let database = folder.join(DATABASE);
    if !database.exists() {
        return Ok(Vec::new());
    }
    Ok(holders_of(&database, fingerprint, now_ms()).await?)
}

fn names(holders: &[Holder]) -> String {
    let mut names: Vec<_> = holders
        .iter()
        .take(NAMED)
        .map(|holder| format!("{} (until {})", holder.name, moment(holder.not_after)))
        .collect();
    if let Some(more) = holders.len().checked_sub(NAMED).filter(|more| *more > 0) {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}

fn count(number: usize, one: &str, several: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {several}") }
}

/// A moment as people read it, UTC.
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
    use super::*;
    use crate::fleet::Authority;
    use crate::store::Store;

    #[tokio::test]
    async fn an_authority_takes_over_in_a_folder_without_a_backend() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let none = run(CaCommand::List, folder).await.unwrap_err();
        assert!(none.to_string().contains("makes one at its first start"), "{none}");
        let now = now_ms();
        let authority = Authority::open(folder, now).unwrap();
        let store = Store::open(&folder.join(DATABASE)).await.unwrap();
        store.record_authorities(authority.fingerprints(), now).await.unwrap();
        let listed = run(CaCommand::List, folder).await.unwrap();
        assert_eq!(listed.lines().count(), 1);
        let shown = run(CaCommand::Show { fingerprint: None }, folder).await.unwrap();
        assert_eq!([shown], authority.certificates()[..]);
        let only = run(CaCommand::Retire { force: true }, folder).await.unwrap_err();
        assert!(only.to_string().contains("one authority only"), "{only}");

        run(CaCommand::Rotate, folder).await.unwrap();
        let again = run(CaCommand::Rotate, folder).await.unwrap_err();
        assert!(again.to_string().contains("ca retire"), "{again}");
        let listed = run(CaCommand::List, folder).await.unwrap();
        assert_eq!(listed.lines().count(), 2);
        assert!(listed.ends_with("0 devices still hold certificates of it\n"), "{listed}");
        let old = authority.fingerprints().remove(0);
        let shown = run(CaCommand::Show { fingerprint: Some(old.to_uppercase()) }, folder).await;
        assert_eq!([shown.unwrap()], authority.certificates()[..]);
        run(CaCommand::Show { fingerprint: Some("x".to_owned()) }, folder).await.unwrap_err();
        let gone = run(CaCommand::Retire { force: false }, folder).await.unwrap();
        assert_eq!(gone, format!("{old} counts no longer\n"));
        store.close().await;
    }

    #[test]
    fn devices_are_named_up_to_a_bound() {
        let holder = |n: usize| Holder { name: format!("d{n}"), not_after: 1_795_132_800_000 };
        let few: Vec<_> = (0..2).map(holder).collect();
        assert_eq!(names(&few), "d0 (until 2026-11-20 00:00 UTC), d1 (until 2026-11-20 00:00 UTC)");
        let many: Vec<_> = (0..23).map(holder).collect();
        assert!(names(&many).ends_with("and 3 more"));
    }
}
