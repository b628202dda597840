//! Keeps a secret out of logs: `Debug` shows nothing and there is no `Display`.

use std::fmt;

/// A value that must not be printed, such as a private key.
#[derive(Clone)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Wraps `value`.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// Returns the value. Each use is a place to check that the value is not leaked.
    pub fn expose(&self) -> &T {
        &self.0
    }

    /// Unwraps the value and gives up the protection.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_nothing_of_the_value() {
        assert_eq!(format!("{:?}", Secret::new("sesame".to_owned())), "Secret(hidden)");
    }
}
