//! What a token is good for: a small closed set, in which a session holds everything.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use orion_domain::Role;

/// What an API token may be good for, never more than its person may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Lists and shows.
    Read,
    /// Calls tools.
    Call,
    /// Talks to the fleet, which calls tools.
    Chat,
    /// Changes devices, permissions and accounts.
    Admin,
}

impl Scope {
    /// Every scope.
    pub const ALL: &[Self] = &[Self::Read, Self::Call, Self::Chat, Self::Admin];

    /// The word that people and the record use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Call => "call",
            Self::Chat => "chat",
            Self::Admin => "admin",
        }
    }

    /// The least role that this is any use to.
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

/// A word that is no scope.
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

/// What stands for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenKind {
    /// They signed in with a password or a one-time secret: good for everything that they may do.
    Session,
    /// A program's token: good for these alone, and never for what asks for the person.
    Api(BTreeSet<Scope>),
}

impl TokenKind {
    /// The word of a session in the record.
    pub const SESSION: &str = "session";

    /// Whether it holds a scope, for a person who has this role by now.
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
