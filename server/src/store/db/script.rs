//! Several statements as one text, so that they are one command to the connection's thread.
//!
//! SQLite runs a text statement by statement and stops at the first that fails. A statement that must change
//! a number of rows is followed by an insert into [`EXPECTATION`], which fails where it did not.

use std::fmt::Write as _;

use super::statement::{ExpectedRows, Statement};
use super::{Row, Value, sql};

/// Creates, in a connection, what a statement's expected rows are checked with: an insert of a condition
/// that does not hold fails. Nothing is stored.
pub(in crate::store) const EXPECTATION: &str = "CREATE TEMP VIEW expectation AS SELECT 1 AS met; \
    CREATE TEMP TRIGGER expectation_unmet INSTEAD OF INSERT ON expectation WHEN NOT new.met \
    BEGIN SELECT RAISE(ABORT, 'unmet expectation'); END";

/// Fails where the statement before did not change this number of rows.
const CHECK: &str = "INSERT INTO expectation (met) VALUES (changes() = $1)";

/// Texts without values that the writer adds.
pub(super) const BEGIN: &str = "BEGIN IMMEDIATE";
pub(super) const COMMIT: &str = "COMMIT";
pub(super) const ROLLBACK: &str = "ROLLBACK";
pub(super) const SAVE: &str = "SAVEPOINT change";
pub(super) const UNDO: &str = "ROLLBACK TO change";
pub(super) const RELEASE: &str = "RELEASE change";

/// A text of several statements with the values of all of them.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// The text; its parameters are numbered through.
    pub(super) text: String,
    /// The values.
    pub(super) values: Vec<Value>,
    /// The number of statements, with the checks.
    pub(super) len: usize,
}

/// What one statement of a script did.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The rows that it returned.
    pub(super) rows: Vec<Row>,
    /// How many rows it changed.
    pub(super) changed: u64,
}

impl Script {
    /// Adds a text without values.
    pub(super) fn command(mut self, text: &'static str) -> Self {
        self.push(&sql(text));
        self
    }

    /// Adds a statement, and the check of its expected rows.
    pub(super) fn statement(mut self, statement: Statement) -> Self {
        let rows = statement.rows;
        self.push(&statement);
        self.values.extend(statement.values);
        if let ExpectedRows::Exactly(rows) = rows {
            self.push(&sql(CHECK));
            self.values.push(rows.into());
        }
        self
    }

    /// Adds statements.
    pub(super) fn statements(self, statements: impl IntoIterator<Item = Statement>) -> Self {
        statements.into_iter().fold(self, Self::statement)
    }

    /// Appends a text; its values follow those that are there.
    fn push(&mut self, statement: &Statement) {
        if self.len > 0 {
            self.text.push_str("; ");
        }
        self.len += 1;
        let before = self.values.len();
        let mut rest = statement.sql;
        while let Some((text, after)) = rest.split_once('$') {
            self.text.push_str(text);
            let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (number, tail) = after.split_at(digits);
            match number.parse::<usize>() {
                // Writing to a text does not fail.
                Ok(number) => write!(self.text, "${}", before + number).unwrap_or_default(),
                Err(_) => self.text.push('$'),
            }
            rest = tail;
        }
        self.text.push_str(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::super::error::UNMET;
    use super::*;

    #[test]
    fn parameters_are_numbered_through() {
        let script = Script::default()
            .command(BEGIN)
            .statement(
                sql("UPDATE users SET role = $2 WHERE name = $1").bind(1_i64).bind("x").exactly(1),
            )
            .statement(
                sql("SELECT json_extract(card_json, '$.e') FROM approvals WHERE id = $1")
                    .bind(true),
            );
        assert_eq!(
            script.text,
            "BEGIN IMMEDIATE; UPDATE users SET role = $2 WHERE name = $1; \
             INSERT INTO expectation (met) VALUES (changes() = $3); \
             SELECT json_extract(card_json, '$.e') FROM approvals WHERE id = $4"
        );
        let values: [Value; 4] = [1_i64.into(), "x".into(), 1_u32.into(), true.into()];
        assert_eq!((script.values, script.len), (values.to_vec(), 4));
    }

    #[test]
    fn the_trigger_says_what_the_error_is_known_by() {
        assert!(EXPECTATION.contains(UNMET));
    }
}
