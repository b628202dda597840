//! One-time secrets in files of the backend's data folder: for the first admin, and for an admin who is
//! locked out. Anyone who can read these files controls the backend already.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use orion_domain::{Digest, Secret, UserName};
use orion_mtls::secret_file;
use serde_json::json;
use subtle::ConstantTimeEq as _;

use super::{Change, IdentityCache, Issued, SignInError, hash, issue_session, random_secret};
use crate::clock::now_ms;
use crate::store::{Store, StoreError};

/// The file with the secret of `orion-server admin reset`, in the data folder.
pub const RESET_FILE: &str = "admin-reset-secret";
/// Prefix of a reset secret.
const RESET: &str = "reset:";
/// Lifetime of a reset secret, in milliseconds.
const RESET_MS: i64 = 3600 * 1000;

/// The one-time secrets of the first admin and of an admin reset.
#[derive(Debug)]
pub struct FirstAdmin {
    file: PathBuf,
    secret: Mutex<Option<Secret>>,
    reset_file: PathBuf,
    /// Digest of the reset secret that was audited last. None until there is one.
    noticed: tokio::sync::Mutex<Option<Digest>>,
}

/// The content of the reset file: `reset:NAME:UNTIL:SECRET`.
struct Reset {
    text: Secret,
    user: UserName,
    expires_at: i64,
}

impl FirstAdmin {
    /// Generates the first admin's secret and writes it to a file that only its owner can read, unless there
    /// is an account already.
    ///
    /// # Errors
    /// The file cannot be written, or the store failed.
    pub async fn prepare(store: &Store, data_dir: &Path) -> anyhow::Result<Self> {
        // Absolute, so that it can be named from another folder.
        let file = std::path::absolute(data_dir.join("first-admin-secret"))?;
        let secret = if store.has_users().await? {
            None
        } else {
            let secret = random_secret();
            secret_file::write(&file, secret.expose().as_bytes())?;
            Some(secret)
        };
        let reset_file = data_dir.join(RESET_FILE);
        Ok(Self {
            file,
            secret: Mutex::new(secret),
            reset_file,
            noticed: tokio::sync::Mutex::default(),
        })
    }

    /// Returns the file with the first admin's secret. `None` where there is no unused secret.
    #[must_use]
    pub fn waiting(&self) -> Option<&Path> {
        let secret = self.secret.lock().unwrap_or_else(PoisonError::into_inner);
        secret.as_ref().map(|_| self.file.as_path())
    }

    fn matches(&self, given: &str) -> bool {
        let secret = self.secret.lock().unwrap_or_else(PoisonError::into_inner);
        secret.as_ref().is_some_and(|secret| same(secret, given))
    }

    fn spend(&self) {
        let spent = self.secret.lock().unwrap_or_else(PoisonError::into_inner).take();
        if spent.is_some()
            && let Err(error) = std::fs::remove_file(&self.file)
        {
            tracing::warn!(%error, "the used first-admin secret could not be removed; it is good for nothing any more");
        }
    }

    /// Creates the first admin and signs them in.
    ///
    /// # Errors
    /// The secret is wrong, there is an account already, or the store failed.
    pub async fn create(
        &self,
        store: &Store,
        secret: &str,
        user: &UserName,
        password: Option<String>,
    ) -> Result<Issued, SignInError> {
        if !self.matches(secret) {
            store.audit_event("auth.failed", json!({"first_admin": true}), now_ms()).await?;
            return Err(SignInError::Secret);
        }
        let hash = match password {
            Some(password) => Some(hash(password).await?),
            None => None,
        };
        match store.create_first_admin(user, hash, now_ms()).await {
            Ok(()) => {}
            Err(StoreError::Conflict) => return Err(SignInError::Secret),
            Err(error) => return Err(error.into()),
        }
        self.spend();
        issue_session(store, user).await
    }

    /// Signs an admin in with the secret of `orion-server admin reset`. The account is created where it is
    /// missing, enabled, made an admin, and gets the password where one is given.
    ///
    /// # Errors
    /// The secret is wrong, for another account, used or expired, or the store failed.
    pub async fn reset(
        &self,
        store: &Store,
        people: &IdentityCache,
        secret: &str,
        user: &UserName,
        password: Option<String>,
    ) -> Result<Issued, SignInError> {
        self.notice_reset(store).await?;
        let reset = read_reset(&self.reset_file).filter(|reset| {
            same(&reset.text, secret) && reset.user == *user && now_ms() < reset.expires_at
        });
        if reset.is_none() {
            let body = json!({"admin_reset": true, "user": user});
            store.audit_event("auth.failed", body, now_ms()).await?;
            return Err(SignInError::Reset);
        }
        let hash = match password {
            Some(password) => Some(hash(password).await?),
            None => None,
        };
        // Of several concurrent requests, only the one that removes the file succeeds.
        std::fs::remove_file(&self.reset_file).map_err(|_| SignInError::Reset)?;
        match store.restore_admin(user, hash, now_ms()).await {
            Err(StoreError::Conflict) => return Err(SignInError::Deleted),
            restored => restored?,
        }
        self.spend();
        people.changed(Change::Sessions(user.clone(), None));
        people.changed(Change::Role(user.clone()));
        issue_session(store, user).await
    }

    /// Audits a new reset secret, and removes an expired one.
    ///
    /// # Errors
    /// The store failed.
    pub async fn notice_reset(&self, store: &Store) -> Result<(), StoreError> {
        let Some(reset) = read_reset(&self.reset_file) else { return Ok(()) };
        if reset.expires_at <= now_ms() {
            if let Err(error) = std::fs::remove_file(&self.reset_file) {
                tracing::warn!(%error, "a reset secret that is over could not be removed; it is good for nothing any more");
            }
            return Ok(());
        }
        let digest = Digest::of(reset.text.expose().as_bytes());
        let mut noticed = self.noticed.lock().await;
        if *noticed == Some(digest) {
            return Ok(());
        }
        tracing::warn!(user = %reset.user, "`orion-server admin reset` was run: its secret lets this admin in for an hour");
        let body = json!({"user": reset.user, "expires_at": reset.expires_at});
        store.audit_event("admin.reset_made", body, now_ms()).await?;
        *noticed = Some(digest);
        Ok(())
    }
}

fn same(secret: &Secret, given: &str) -> bool {
    bool::from(secret.expose().as_bytes().ct_eq(given.as_bytes()))
}

/// Returns whether a secret has the form of `orion-server admin reset`.
#[must_use]
pub fn is_reset_secret(secret: &str) -> bool {
    secret.starts_with(RESET)
}

fn read_reset(file: &Path) -> Option<Reset> {
    if !file.exists() {
        return None;
    }
    let text = match secret_file::read_text(file) {
        Ok(text) => text.expose().trim().to_owned(),
        Err(error) => {
            tracing::warn!(%error, "the reset secret is not used");
            return None;
        }
    };
    let mut parts = text.strip_prefix(RESET)?.split(':');
    let (user, expires_at) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    // A truncated file is not a valid secret.
    if parts.next()?.len() < 40 || parts.next().is_some() {
        return None;
    }
    Some(Reset { text: Secret::new(text), user, expires_at })
}

/// Writes a new reset secret into a backend's data folder, readable only by the account that owns the folder.
/// Returns the file's path.
///
/// # Errors
/// The file cannot be written.
pub fn write_reset(data_dir: &Path, user: &UserName) -> anyhow::Result<PathBuf> {
    let file = data_dir.join(RESET_FILE);
    let until = now_ms() + RESET_MS;
    let text = format!("{RESET}{user}:{until}:{}", random_secret().expose());
    secret_file::write(&file, text.as_bytes())?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let (folder, made) = (std::fs::metadata(data_dir)?, std::fs::metadata(&file)?);
        if (folder.uid(), folder.gid()) != (made.uid(), made.gid()) {
            std::os::unix::fs::chown(&file, Some(folder.uid()), Some(folder.gid()))?;
        }
    }
    Ok(file)
}
