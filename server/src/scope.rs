//! The scopes of a token: a small closed set. A session has all of them.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use orion_domain::Role;

/// A scope of an API token, which never permits more than its person's role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Lists and shows resources.
    Read,
    /// Calls tools.
    Call,
    /// Chats with a model, which calls tools.
    Chat,
    /// Changes devices, permissions and accounts.
    Admin,
}

impl Scope {
    /// Every scope.
    pub const ALL: &[Self] = &[Self::Read, Self::Call, Self::Chat, Self::Admin];

    /// Returns the scope's name, as people and the database use it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Call => "call",
            Self::Chat => "chat",
            Self::Admin => "admin",
        }
    }

    /// Returns the lowest role that can use this scope.
    #[must_use]
    pub const fn least_role(self) -> Role {
        match self {
            Self::Read | Self::Call | Self::Chat => Role::Viewer,
            Self::Admin => Role::Admin,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that is not a scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a scope; scopes are read, call, chat and admin")]
pub struct NotAScope(String);

impl FromStr for Scope {
    type Err = NotAScope;

    fn from_str(text: &str) -> Result<Self, NotAScope> {
        Self::ALL
            .iter()
            .copied()
            .find(|scope| scope.as_str() == text)
            .ok_or_else(|| NotAScope(text.chars().take(40).collect()))
    }
}

/// The kind of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenKind {
    /// The person signed in with a password or a one-time secret: permits everything that their role does.
    Session,
    /// A program's token: permits only these scopes, and never an RPC that requires a session.
    Api(BTreeSet<Scope>),
}

impl TokenKind {
    /// The name of a session in the database.
    pub const SESSION: &str = "session";

    /// Returns whether a token has a scope, for a person who currently has this role.
    #[must_use]
    pub fn holds(&self, scope: Scope, role: Role) -> bool {
        match self {
            Self::Session => true,
            Self::Api(scopes) => scopes.contains(&scope) && role >= scope.least_role(),
        }
    }
}

impl fmt::Display for TokenKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session => f.write_str(Self::SESSION),
            Self::Api(scopes) => {
                let words: Vec<_> = scopes.iter().map(|scope| scope.as_str()).collect();
                f.write_str(&words.join(" "))
            }
        }
    }
}

impl FromStr for TokenKind {
    type Err = NotAScope;

    fn from_str(text: &str) -> Result<Self, NotAScope> {
        if text == Self::SESSION {
            return Ok(Self::Session);
        }
        text.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>().map(Self::Api)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_read_as_it_is_written_and_an_unknown_word_is_none() {
        let both = TokenKind::Api(BTreeSet::from([Scope::Call, Scope::Read]));
        for (kind, text) in [(TokenKind::Session, "session"), (both, "read call")] {
            assert_eq!(kind.to_string(), text);
            assert_eq!(text.parse(), Ok(kind));
        }
        assert_eq!("".parse(), Ok(TokenKind::Api(BTreeSet::new())));
        assert_eq!("read everything".parse::<TokenKind>(), Err(NotAScope("everything".to_owned())));
    }

    #[test]
    fn a_token_holds_no_more_than_its_person_has_by_now() {
        let admin = TokenKind::Api(BTreeSet::from([Scope::Admin]));
        assert!(admin.holds(Scope::Admin, Role::Admin));
        assert!(!admin.holds(Scope::Admin, Role::Operator));
        assert!(!admin.holds(Scope::Read, Role::Admin));
        assert!(TokenKind::Session.holds(Scope::Admin, Role::Viewer));
    }
}
