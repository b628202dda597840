//! Batches: all or nothing, in one command to the writer's thread.

use super::*;
use crate::store::StoreError;
use crate::store::db::{Applied, AuditEvent, Batch, Durability, Statement, sql};

fn rename(from: &str, to: &str) -> Statement {
    sql("UPDATE users SET name = $2 WHERE name = $1").bind(from).bind(to)
}

fn event() -> AuditEvent {
    AuditEvent::new(1, "test.renamed", String::new(), &json!({})).unwrap()
}

/// A store with the account ann.
async fn with_ann() -> Place {
    let place = Place::new().await;
    place.store.create_first_admin(&user("ann"), None, 1).await.unwrap();
    place
}

#[tokio::test]
async fn a_batch_is_one_command_and_returns_the_rows_of_its_statements() {
    let place = with_ann().await;
    place.store.db().apply(Batch::new(Durability::Commit)).await.unwrap();
    let (commands, commits) = place.store.db().crossings();
    let batch = Batch::new(Durability::Commit)
        .statement(rename("ann", "eve").exactly(1))
        .statement(sql("SELECT name, role FROM users WHERE name = $1").bind("eve"))
        .event(event());
    let Applied::Done(rows) = place.store.db().apply(batch).await.unwrap() else {
        panic!("everything is as expected")
    };
    let names: Vec<&str> = rows.iter().map(|row| row.get("name").unwrap()).collect();
    assert_eq!(names, ["eve"]);
    assert_eq!(place.store.db().crossings(), (commands + 1, commits + 1));
    assert_eq!(place.kinds().await, ["user.created", "test.renamed"]);
}

#[tokio::test]
async fn where_a_statement_changes_other_rows_than_expected_nothing_is_applied() {
    let place = with_ann().await;
    let batch = |second: &str| {
        Batch::new(Durability::Commit)
            .statement(rename("ann", "eve").exactly(1))
            .statement(rename(second, "zoe").exactly(1))
            .event(event())
    };
    let unmet = place.store.db().apply(batch("bob")).await.unwrap();
    assert!(matches!(unmet, Applied::Unmet { statement: 1 }), "{unmet:?}");
    assert!(place.store.user(&user("ann")).await.is_ok());
    // Together with others, each batch is by itself.
    let store = place.store.clone();
    let many: Vec<_> = (0..5).map(|n| batch(if n == 3 { "eve" } else { "bob" })).collect();
    let applied = futures_util::future::join_all(
        many.into_iter().map(|batch| async { store.db().apply(batch).await.unwrap().is_done() }),
    );
    assert_eq!(applied.await, [false, false, false, true, false]);
    assert!(place.store.user(&user("zoe")).await.is_ok());
    assert_eq!(place.kinds().await, ["user.created", "test.renamed"]);
    place.audited().await;
}

#[tokio::test]
async fn a_batch_that_breaks_a_rule_of_the_schema_is_undone_alone() {
    let place = with_ann().await;
    let insert = |name: &str| {
        sql("INSERT INTO users (name, role, created_at) VALUES ($1, $2, $3)")
            .bind(name)
            .bind("viewer")
            .bind(1_i64)
    };
    let (good, bad) = (Batch::new(Durability::Commit), Batch::new(Durability::Commit));
    let good = good.statement(insert("bob"));
    let bad = bad.statement(insert("eve")).statement(insert("ann")).event(event());
    let db = place.store.db();
    let (good, bad) = tokio::join!(db.apply(good), db.apply(bad));
    assert!(good.unwrap().is_done());
    assert_eq!(bad.unwrap_err(), StoreError::Conflict);
    assert!(place.store.user(&user("bob")).await.is_ok());
    assert_eq!(place.store.user(&user("eve")).await.unwrap_err(), StoreError::NotFound);
    assert_eq!(place.audited().await, 1);
}

#[tokio::test]
async fn another_process_that_extends_the_chain_is_followed() {
    let place = with_ann().await;
    let other = Store::open(&place.file()).await.unwrap();
    for n in 0..4 {
        place.store.open_call(call(2 * n)).await.unwrap();
        other.open_call(call(2 * n + 1)).await.unwrap();
    }
    other.close().await;
    assert_eq!(place.audited().await, 9);
}
