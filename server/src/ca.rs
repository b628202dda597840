//! `orion-server ca`: lists and changes the authorities in a data folder. A running backend loads a change
//! within seconds; a stopped one loads it at its next start.

mod list;

use std::path::Path;

use clap::Subcommand;
use orion_mtls::CertificateAuthority;

use crate::clock::now_ms;
use crate::fleet::authority::{AuthorityError, change, read};

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
        /// to be enrolled again.
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
    /// No authority has this fingerprint.
    #[error(
        "there is no authority whose fingerprint begins with {0:?}; `orion-server ca list` shows those there are"
    )]
    NoSuch(String),
    /// Devices would be cut off.
    #[error(
        "{} on the older authority and would be cut off: {}; wait until they have renewed or their certificates have ended, or use --force and enrol them again",
        list::count(*devices, "device stands", "devices stand"),
        names
    )]
    StillHeld {
        /// The number of devices.
        devices: usize,
        /// Their names.
        names: String,
    },
}

/// Runs the command and returns the text to print.
///
/// # Errors
/// See [`CaError`]; nothing was changed then.
pub async fn run(command: CaCommand, folder: &Path) -> Result<String, CaError> {
    match command {
        CaCommand::List => list::list(folder).await,
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
                "{new} signs devices from here on\n{old} stays trusted until `orion-server ca retire`\n\
                 a backend that runs takes it in within seconds and has the devices that are connected renew; \
                 `orion-server ca list` says who does not stand on it yet\n"
            ))
        }
        CaCommand::Retire { force } => retire(folder, force).await,
    }
}

async fn retire(folder: &Path, force: bool) -> Result<String, CaError> {
    let set = read(folder)?;
    let old = set.retiring().ok_or(AuthorityError::OnlyOne)?.fingerprint();
    let holders = list::holders(folder, &set).await?;
    if !force && !holders.is_empty() {
        let (devices, names) = (holders.len(), list::names(&holders));
        return Err(CaError::StillHeld { devices, names });
    }
    let gone = change(folder, |set| {
        let (left, gone) = set.retired().ok_or(AuthorityError::OnlyOne)?;
        // If another authority is retired by now, its holders were not checked.
        if gone.fingerprint() == old { Ok((left, gone)) } else { Err(AuthorityError::Changed) }
    })?;
    let mut text = format!("{} counts no longer\n", gone.fingerprint());
    if !holders.is_empty() {
        text.push_str(&format!("cut off, to be enrolled again: {}\n", list::names(&holders)));
    }
    text.push_str(
        "devices trust it until they have renewed, which those that are connected do within a minute or so; \
         `orion-server ca list` says which trust it still\n",
    );
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_folder::DATABASE;
    use crate::fleet::Authority;
    use crate::store::Store;

    #[tokio::test]
    async fn an_authority_takes_over_in_a_folder_without_a_backend() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let none = run(CaCommand::List, folder).await.unwrap_err();
        assert!(none.to_string().contains("no backend has run with that data folder"), "{none}");
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
        let lines: Vec<_> = listed.lines().collect();
        assert_eq!(lines.len(), 3, "{listed}");
        assert!(lines[1].ends_with("0 devices stand on it"), "{listed}");
        assert!(lines[2].starts_with("no backend has taken this in yet"), "{listed}");
        assert!(authority.keep(now));
        store.record_authorities(authority.fingerprints(), now).await.unwrap();
        assert_eq!(run(CaCommand::List, folder).await.unwrap().lines().count(), 2);
        let (old, new) = (authority.fingerprints().remove(1), authority.fingerprints().remove(0));
        let shown = run(CaCommand::Show { fingerprint: Some(old.to_uppercase()) }, folder).await;
        assert_eq!(shown.unwrap(), authority.certificates()[1]);
        run(CaCommand::Show { fingerprint: Some("x".to_owned()) }, folder).await.unwrap_err();
        let gone = run(CaCommand::Retire { force: false }, folder).await.unwrap();
        assert!(gone.starts_with(&format!("{old} counts no longer\ndevices trust it")), "{gone}");
        let listed = run(CaCommand::List, folder).await.unwrap();
        assert!(listed.starts_with(&new) && listed.contains("no backend has taken"), "{listed}");
        store.close().await;
    }
}
