//! The one cryptography provider, ring, for both ends.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};

use crate::error::MtlsError;

/// Makes ring the process's default, for libraries that use the default provider. Call it first in
/// `main`; further calls change nothing.
pub fn install_crypto_provider() {
    if CryptoProvider::get_default().is_none() {
        // It fails only when another thread set the default first, and then there is a default as well.
        drop(ring::default_provider().install_default());
    }
}

/// Returns the provider for every configuration of this crate, whatever the default is.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Returns `N` random bytes from the operating system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], MtlsError> {
    let mut bytes = [0; N];
    provider().secure_random.fill(&mut bytes).map_err(|_| MtlsError::Random)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installing_twice_is_harmless() {
        install_crypto_provider();
        install_crypto_provider();
        assert!(CryptoProvider::get_default().is_some());
    }
}
