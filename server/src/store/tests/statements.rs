//! Checks the query plan of every statement of the store: none scans a table that grows, and none sorts
//! without a bound.

mod source;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use sqlx::AssertSqlSafe;

use super::*;
use crate::store::db::EXPECTATION;

/// Tables that stay small, and why. Every other table grows.
const SMALL: &[(&str, &str)] = &[
    ("audit_checkpoints", "2,048 are kept"),
    ("audit_head", "one row"),
    ("audit_tree", "one row"),
    ("authorities", "two or three count, and one more comes every few years"),
    ("custom_tools", "at most 128 for each device that defines tools"),
    ("device_modes", "a row for each device that is dangerous just now"),
    ("local_effects", "a row for each call on the backend whose end is not stored yet"),
    ("policies", "a version for each change that a person makes"),
    ("schedules", "50 active tasks a person at most, and those that ended in 30 days"),
    ("stops", "a row for each stop that somebody set and nobody has lifted"),
    ("users", "there are at most so many accounts"),
];

/// Indexes with few rows of a table that grows, and why they stay few.
const FEW: &[(&str, &str)] = &[
    ("access_requests_granted", "200 a device are granted at most"),
    ("access_requests_open", "500 are open at most"),
    ("approvals_open", "as many questions stand as may"),
    ("calls_current", "calls under way, and the few of which nobody knows how they ended"),
    ("calls_queued_approved", "as many calls wait as may"),
    ("devices_pending", "devices that wait for an admin"),
];

/// Allowed scans and sorts: a part of the statement, a part of its plan, and why.
const BOUNDED: &[(&str, &str, &str)] = &[
    // The result is the table, or as much of it as is listed, in the order of an index.
    (
        "SELECT * FROM devices WHERE removed_at IS NULL",
        "SCAN devices USING INDEX",
        "lists every device",
    ),
    (
        "ORDER BY removed_at IS NULL DESC",
        "USE TEMP B-TREE FOR ORDER BY",
        "sorts the devices that ever had one name",
    ),
    ("FROM access_requests ORDER BY id DESC LIMIT", "SCAN access_requests", "ends at 500"),
    (
        "INDEXED BY access_requests_current",
        "SCAN access_requests USING INDEX access_requests_current",
        "ends at 500 of those that count",
    ),
    ("SELECT id FROM approvals ORDER BY id DESC LIMIT", "SCAN approvals USING", "ends at 500"),
    ("AS step_count FROM plans ORDER BY id DESC LIMIT", "SCAN plans USING INDEX", "ends at 100"),
    ("FROM calls ORDER BY id DESC LIMIT", "SCAN calls USING INDEX", "ends at what is listed"),
    (
        "FROM calls WHERE NOT dry_run ORDER BY id",
        "SCAN calls USING INDEX",
        "ends at what is listed",
    ),
    ("ORDER BY id DESC LIMIT 1 OFFSET", "SCAN calls USING INDEX", "ends after what a trial judges"),
    // The rows that its own index of words finds, best first.
    ("memories_words MATCH", "SCAN memories_words VIRTUAL TABLE", "memories with one of the words"),
    ("DELETE FROM memories_words WHERE rowid =", "SCAN memories_words", "one row, by its number"),
    (
        "DELETE FROM memories_words WHERE rowid IN",
        "SCAN memories_words",
        "1,000 rows at most, by their numbers",
    ),
    // Run once when the backend starts.
    ("UPDATE certificates SET authority", "SCAN certificates", "once, at the start"),
    ("problem_at FROM device_chains", "SCAN device_chains", "once, at the start"),
    ("SELECT serial FROM certificates JOIN", "SCAN certificates", "once, at the start"),
    ("SELECT EXISTS (SELECT 1 FROM authorities)", "SCAN devices", "ends at the first row"),
    // Run by an admin, by hand, on a file that no backend need have open.
    ("MAX(held.not_after)", "", "`orion-server ca retire`"),
    ("CASE WHEN trusts IS NULL THEN", "SCAN devices USING INDEX", "`orion-server ca list`"),
    // A person has at most 200 sessions and tokens together; only an admin lists everybody's.
    ("SELECT * FROM tokens WHERE $2", "", "lists every token"),
    ("substr(lower(hex(hash))", "SCAN tokens", "takes back a token by a part of its id"),
    ("DELETE FROM tokens WHERE user_name", "ORDER BY", "one person's"),
    ("SELECT * FROM tokens WHERE user_name", "ORDER BY", "one person's"),
    ("trusted_at, retired_at FROM authorities", "ORDER BY", "two or three"),
    // The other conditions leave few rows to sort.
    ("SELECT * FROM stops ORDER BY", "ORDER BY", "the stops that are set"),
    ("AND +id > $4 ORDER BY +id", "ORDER BY", "calls under way, as in `calls_current`"),
    ("ORDER BY +calls.id LIMIT", "ORDER BY", "what was under way"),
    ("OR NOT dry_run) ORDER BY +id DESC", "ORDER BY", "what is under way, or unknown"),
    (
        "COUNT(DISTINCT COALESCE(approvals.plan_id",
        "",
        "one person's votes in the period of the budget",
    ),
    ("AND person.disabled_at IS NULL ORDER BY", "ORDER BY", "what is granted; 200 a device"),
    ("FROM approvals WHERE state = 'open' ORDER BY", "ORDER BY", "what stands"),
    ("AND approvals.id > $2 ORDER BY", "ORDER BY", "what is under way"),
    ("DELETE FROM content_labels", "GROUP BY", "one chat's, fifty and one a device"),
    ("FROM plans WHERE state", "ORDER BY", "a hundred plans are open or run"),
    ("FROM standing_rules", "ORDER BY", "the rules that hold; 200 a device"),
    (
        "SELECT DISTINCT device_id FROM standing_rules",
        "DISTINCT",
        "the rules that hold or ended since",
    ),
    ("CROSS JOIN calls ON id = page_id", "ORDER BY", "one page"),
    ("SELECT tool, undo_json, admitted_at", "ORDER BY", "those of one moment, and then one page"),
    (
        "AND +seq < $1 ORDER BY +seq DESC",
        "ORDER BY",
        "numbers of rows about calls that begin alike",
    ),
];

/// Statements that are built at run time. Do not add any.
const PUT_TOGETHER: &[(&str, &str)] = &[(
    "INSERT INTO audit (seq, at, kind, call_id, body, prev_hash, hash) VALUES {}",
    "as many rows of values as are committed together",
)];

/// Returns the lines of a statement's plan that scan or sort.
async fn heavy(raw: &mut SqliteConnection, sql: &str) -> Result<Vec<String>, sqlx::Error> {
    let explain = format!("EXPLAIN QUERY PLAN {sql}");
    let lines: Vec<(i64, i64, i64, String)> =
        sqlx::query_as(AssertSqlSafe(explain)).fetch_all(raw).await?;
    let is_heavy = |line: &String| {
        line.starts_with("SCAN ") || line.contains("TEMP B-TREE") || line.contains("AUTOMATIC")
    };
    Ok(lines.into_iter().map(|(.., line)| line).filter(is_heavy).collect())
}

/// Returns the table that a line of a plan scans, which may have an alias in the statement. None if the
/// line scans the result of another line.
fn walked<'t>(tables: &'t BTreeSet<String>, sql: &str, line: &str) -> Option<&'t str> {
    let name = line.strip_prefix("SCAN ")?.split(' ').next()?;
    let is_called_so =
        |table: &&String| table.as_str() == name || sql.contains(&format!(" {table} AS {name}"));
    tables.iter().find(is_called_so).map(String::as_str)
}

#[tokio::test]
async fn no_statement_walks_through_a_table_that_grows_or_sorts_without_a_bound() {
    let place = Place::new().await;
    let mut raw = place.raw().await;
    sqlx::raw_sql(EXPECTATION).execute(&mut raw).await.unwrap();
    let tables: Vec<(String,)> =
        sqlx::query_as("SELECT name FROM sqlite_master WHERE type = 'table'")
            .fetch_all(&mut raw)
            .await
            .unwrap();
    let tables: BTreeSet<_> = tables.into_iter().map(|(name,)| name).collect();
    let statements = source::statements();
    assert!(statements.len() > 150, "only {} statements were found", statements.len());
    let (mut found, mut needed) = (String::new(), BTreeSet::new());
    for sql in &statements {
        if PUT_TOGETHER.iter().any(|(text, _)| text == sql) {
            continue;
        }
        let lines = match heavy(&mut raw, sql).await {
            Ok(lines) => lines,
            Err(error) => {
                writeln!(found, "\n{sql}\n    cannot be prepared: {error}").unwrap();
                continue;
            }
        };
        for line in lines {
            if line.starts_with("SCAN ") {
                match walked(&tables, sql, &line) {
                    None => continue,
                    Some(table) if SMALL.iter().any(|(small, _)| *small == table) => continue,
                    Some(_) if FEW.iter().any(|(few, _)| line.ends_with(few)) => continue,
                    Some(_) => {}
                }
            }
            let known = BOUNDED
                .iter()
                .position(|(part, says, _)| sql.contains(part) && line.contains(says));
            match known {
                Some(at) => drop(needed.insert(at)),
                None => writeln!(found, "\n{sql}\n    {line}").unwrap(),
            }
        }
    }
    assert!(
        found.is_empty(),
        "these scan or sort. Add an index (server/migrations) or a LIMIT. Where few rows can match, add a row with \
         the reason to SMALL, FEW or BOUNDED of server/src/store/tests/statements.rs:{found}"
    );
    let idle: Vec<_> = (0..BOUNDED.len()).filter(|at| !needed.contains(at)).collect();
    assert_eq!(idle, Vec::<usize>::new(), "these exceptions are not needed");
}
