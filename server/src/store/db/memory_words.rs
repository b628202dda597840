//! The index of the words of memories, by SQLite's FTS5. What a person writes never has a meaning of its own there.

use orion_domain::{CallId, UserName};

use super::{Statement, sql, values};

/// The most words of a query; those after them are ignored.
const MAX_WORDS: usize = 32;

/// Returns the statement that adds the words of a stored memory.
pub(in crate::store) fn index(memory: CallId) -> Statement {
    sql("INSERT INTO memories_words (rowid, text, tags) \
         SELECT seq, text, tags FROM memories WHERE id = $1")
    .bind(memory)
    .exactly(1)
}

/// Returns the statement that removes the words of a memory that is still stored.
pub(in crate::store) fn remove(memory: CallId) -> Statement {
    sql("DELETE FROM memories_words WHERE rowid = (SELECT seq FROM memories WHERE id = $1)")
        .bind(memory)
        .exactly(1)
}

/// Returns the statement that removes the words of all memories of a person, which are still stored.
pub(in crate::store) fn remove_all(user: &UserName) -> Statement {
    sql("DELETE FROM memories_words WHERE rowid IN (SELECT seq FROM memories WHERE user_name = $1)")
        .bind(user)
}

/// Returns the statement that reads memories of a person with any word of a text, the best first. `None` if the text
/// has no word. The join is in this order, so that the words are searched once and come sorted.
pub(in crate::store) fn search(
    user: &UserName,
    text: &str,
    trusted_only: bool,
    limit: i64,
) -> Option<Statement> {
    let words = any_of(text)?;
    let search = sql("SELECT memories.*, CAST(-1000 * memories_words.rank AS INTEGER) AS score \
         FROM memories_words CROSS JOIN memories ON memories.seq = memories_words.rowid \
         WHERE memories_words MATCH $1 AND user_name = $2 AND NOT (untrusted AND $3) \
         ORDER BY memories_words.rank LIMIT $4");
    Some(search.with(values![words, user, trusted_only, limit]))
}

/// Returns an expression that matches any word of a text. `None` if it has no word.
fn any_of(text: &str) -> Option<String> {
    let words: Vec<_> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(MAX_WORDS)
        .map(|word| format!("\"{word}\""))
        .collect();
    (!words.is_empty()).then(|| words.join(" OR "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_are_left_of_a_query_and_each_is_quoted() {
        for (text, expected) in [
            ("backups on nas-1", Some(r#""backups" OR "on" OR "nas" OR "1""#)),
            (r#"a" OR text:b* NEAR("#, Some(r#""a" OR "OR" OR "text" OR "b" OR "NEAR""#)),
            ("köfte", Some(r#""köfte""#)),
            ("\"\" -- * ( \0", None),
            ("", None),
        ] {
            assert_eq!(any_of(text).as_deref(), expected, "{text}");
        }
        assert_eq!(any_of(&"w ".repeat(100)).unwrap().matches("\"w\"").count(), MAX_WORDS);
    }
}
