//! Formats accounts, their tokens and sessions.

use orion_wire::v1;
use serde::Serialize;

use crate::output::{Output, table};
use crate::text;

/// An account for programs; the comments in `proto/` describe the fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct UserView {
    pub(crate) user: String,
    pub(crate) role: String,
    pub(crate) has_password: bool,
    pub(crate) sessions: u32,
    pub(crate) tokens: u32,
    pub(crate) created_at: i64,
    pub(crate) last_used_at: i64,
    pub(crate) disabled_at: i64,
}

impl From<v1::User> for UserView {
    fn from(user: v1::User) -> Self {
        let v1::User {
            user,
            role,
            has_password,
            sessions,
            tokens,
            created_at,
            last_used_at,
            disabled_at,
        } = user;
        Self { user, role, has_password, sessions, tokens, created_at, last_used_at, disabled_at }
    }
}

/// A token or a session for programs; the comments in `proto/` describe the fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct TokenView {
    pub(crate) token_id: String,
    pub(crate) user: String,
    pub(crate) name: String,
    pub(crate) session: bool,
    pub(crate) scopes: Vec<&'static str>,
    pub(crate) created_at: i64,
    pub(crate) created_by: String,
    pub(crate) last_used_at: i64,
    pub(crate) expires_at: i64,
}

impl From<v1::Token> for TokenView {
    fn from(token: v1::Token) -> Self {
        let v1::Token {
            token_id,
            user,
            name,
            session,
            scopes,
            created_at,
            expires_at,
            last_used_at,
            created_by,
        } = token;
        let scopes = scopes.into_iter().map(scope).collect();
        Self {
            token_id,
            user,
            name,
            session,
            scopes,
            created_at,
            created_by,
            last_used_at,
            expires_at,
        }
    }
}

fn scope(number: i32) -> &'static str {
    match v1::Scope::try_from(number) {
        Ok(v1::Scope::Read) => "read",
        Ok(v1::Scope::Call) => "call",
        Ok(v1::Scope::Chat) => "chat",
        Ok(v1::Scope::Admin) => "admin",
        Ok(v1::Scope::Unspecified) | Err(_) => "unknown",
    }
}

/// Formats accounts.
pub(crate) fn users_table(out: &Output, users: &[UserView]) -> String {
    let mut header = vec!["NAME", "ROLE", "STATE", "PASSWORD", "SESSIONS", "TOKENS", "LAST USED"];
    if out.is_wide() {
        header.extend(["CREATED", "DISABLED"]);
    }
    let row = |user: &UserView| {
        let mut row = vec![
            user.user.clone(),
            user.role.clone(),
            if user.disabled_at > 0 { "disabled" } else { "enabled" }.to_owned(),
            if user.has_password { "yes" } else { "no" }.to_owned(),
            user.sessions.to_string(),
            user.tokens.to_string(),
            text::when(&out.zone, user.last_used_at),
        ];
        if out.is_wide() {
            row.push(text::when(&out.zone, user.created_at));
            row.push(text::when(&out.zone, user.disabled_at));
        }
        row
    };
    table(&header, users.iter().map(row))
}

/// Formats tokens and sessions.
pub(crate) fn tokens_table(out: &Output, tokens: &[TokenView]) -> String {
    let mut header = vec!["ID", "NAME", "OF", "SCOPES", "CREATED", "LAST USED", "EXPIRES"];
    if out.is_wide() {
        header.push("CREATED BY");
    }
    let row = |token: &TokenView| {
        let mut row = vec![
            token.token_id.clone(),
            if token.session { "(session)".to_owned() } else { token.name.clone() },
            token.user.clone(),
            if token.session { "everything".to_owned() } else { token.scopes.join(", ") },
            text::when(&out.zone, token.created_at),
            text::when(&out.zone, token.last_used_at),
            text::when(&out.zone, token.expires_at),
        ];
        if out.is_wide() {
            let by = if token.created_by.is_empty() { &token.user } else { &token.created_by };
            row.push(by.clone());
        }
        row
    };
    table(&header, tokens.iter().map(row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global::Format;

    const OUT: Output = Output::in_a_test(Format::Table);

    #[test]
    fn accounts_stand_in_a_table() {
        let user = |user: &str, disabled_at| {
            UserView::from(v1::User {
                user: user.to_owned(),
                role: "operator".to_owned(),
                has_password: disabled_at == 0,
                sessions: 1,
                tokens: 2,
                created_at: 1,
                last_used_at: 1_700_000_000_000,
                disabled_at,
            })
        };
        insta::assert_snapshot!(users_table(&OUT, &[user("ann", 0), user("bob", 1)]), @"
        NAME  ROLE      STATE     PASSWORD  SESSIONS  TOKENS  LAST USED
        ann   operator  enabled   yes       1         2       2023-11-14 22:13:20
        bob   operator  disabled  no        1         2       2023-11-14 22:13:20
        ");
    }

    #[test]
    fn tokens_stand_in_a_table_without_secrets() {
        let token = |session| {
            TokenView::from(v1::Token {
                token_id: "0123456789ab".to_owned(),
                user: "ann".to_owned(),
                name: if session { "" } else { "ci" }.to_owned(),
                session,
                scopes: if session { vec![] } else { vec![1, 2, 99] },
                created_at: 1_700_000_000_000,
                expires_at: 1_700_000_060_000,
                last_used_at: 0,
                created_by: String::new(),
            })
        };
        insta::assert_snapshot!(tokens_table(&OUT, &[token(false), token(true)]), @"
        ID            NAME       OF   SCOPES               CREATED              LAST USED  EXPIRES
        0123456789ab  ci         ann  read, call, unknown  2023-11-14 22:13:20  -          2023-11-14 22:14:20
        0123456789ab  (session)  ann  everything           2023-11-14 22:13:20  -          2023-11-14 22:14:20
        ");
    }
}
