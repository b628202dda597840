//! The migrations: a database of every earlier version, with rows in its tables, keeps them all.

use sqlx::migrate::{Migrate as _, Migrator};

use super::*;
use crate::store::db::MIGRATIONS;
use crate::store::{check_file, newest_version};

/// Rows that a database of the first version may have; later versions add to them.
const ROWS: &str = "\
    INSERT INTO users (name, role, created_at) VALUES ('ann', 'operator', 1); \
    INSERT INTO tokens (hash, user_name, scopes, created_at, expires_at) \
        VALUES (zeroblob(32), 'ann', 'session', 1, 2); \
    INSERT INTO invites (id, secret_hash, uses_left, preapproved, grants_json, created_by, \
        created_at, expires_at) VALUES ('i', zeroblob(32), 1, 0, '{}', 'ann', 1, 2); \
    INSERT INTO devices (id, name, state, os, hostname, public_key_fingerprint, fingerprint_words, \
        certificate_request, generation, grants_json, invite_id, created_at) \
        VALUES ('01980000-0000-7000-8000-000000000001', 'kiosk', 'approved', 'linux', 'h', 'f', \
        'w', 'r', 3, '{}', 'i', 1); \
    INSERT INTO certificates (serial, device_id, issued_at, not_after) \
        VALUES ('s', '01980000-0000-7000-8000-000000000001', 1, 2); \
    INSERT INTO conversations (id, user_name, created_at) VALUES ('c', 'ann', 1); \
    INSERT INTO messages (seq, conversation_id, role, content_json, at) \
        VALUES (1, 'c', 'user', '{}', 1); \
    INSERT INTO calls (id, user_name, role, device_id, device_name, tool, arguments, \
        arguments_digest, dry_run, recovered, touches_json, decision, rule, policy_version, \
        has_effects, state, history, deadline_at, created_at, closed_at) \
        VALUES ('01990000-0000-7000-8000-000000000001', 'ann', 'operator', \
        '01980000-0000-7000-8000-000000000001', 'kiosk', 'read_file', x'7b7d', zeroblob(32), 0, 0, \
        '[]', 'allow', 'r', 'v', 0, 'succeeded', '{\"state\":\"received\",\"at\":1}', 9, 1, 2);";

/// Returns the tables that have rows, and how many.
async fn counted(raw: &mut SqliteConnection) -> Vec<(String, i64)> {
    let tables: Vec<(String,)> = sqlx::query_as(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\' \
         AND name NOT LIKE 'sqlite%' ORDER BY name",
    )
    .fetch_all(&mut *raw)
    .await
    .unwrap();
    let mut counted = Vec::new();
    for (table,) in tables {
        let sql = format!("SELECT count(*) FROM {table}");
        let (count,): (i64,) =
            sqlx::query_as(sqlx::AssertSqlSafe(sql)).fetch_one(&mut *raw).await.unwrap();
        if count > 0 {
            counted.push((table, count));
        }
    }
    counted
}

#[tokio::test]
async fn a_record_of_every_version_before_is_brought_up_to_date_whole() {
    let versions: Vec<_> = MIGRATIONS.iter().map(|migration| migration.version).collect();
    for last in versions {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("orion.db");
        let options = SqliteConnectOptions::new().filename(&file).create_if_missing(true);
        let mut raw = options.connect().await.unwrap();
        let before = MIGRATIONS.iter().filter(|migration| migration.version <= last).cloned();
        let before = Migrator { migrations: before.collect(), ..Migrator::DEFAULT };
        before.run(&mut raw).await.unwrap();
        sqlx::raw_sql(ROWS).execute(&mut raw).await.unwrap();
        let row = orion_domain::audit::AuditRow::link(
            orion_domain::audit::AuditHead::EMPTY,
            1,
            "user.created",
            "",
            "{}".to_owned(),
        );
        sqlx::query(
            "INSERT INTO audit (seq, at, kind, call_id, body, prev_hash, hash) \
             VALUES ($1, $2, $3, '', $4, $5, $6)",
        )
        .bind(row.seq)
        .bind(row.at)
        .bind(&row.kind)
        .bind(&row.body)
        .bind(row.prev_hash.as_bytes().to_vec())
        .bind(row.hash.as_bytes().to_vec())
        .execute(&mut raw)
        .await
        .unwrap();
        sqlx::query("UPDATE audit_head SET seq = $1, hash = $2")
            .bind(row.seq)
            .bind(row.hash.as_bytes().to_vec())
            .execute(&mut raw)
            .await
            .unwrap();
        let held = counted(&mut raw).await;
        raw.close().await.unwrap();

        let store = Store::open(&file).await.unwrap();
        let call = store.find_call("01990000-0000-7000-8000-000000000001").await.unwrap();
        assert_eq!((call.tool.as_str(), call.state), ("read_file", CallState::Succeeded));
        assert_eq!(store.devices(false).await.unwrap().len(), 1);
        assert!(store.user(&user("ann")).await.is_ok());
        store.close().await;
        let health = check_file(&file, None).await.unwrap();
        assert!(health.is_good(), "from version {last}: {health:?}");
        assert_eq!(health.version, newest_version());
        let mut raw = SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
        assert!(raw.list_applied_migrations(&MIGRATIONS.table_name).await.is_ok());
        let now = counted(&mut raw).await;
        for table in &held {
            assert!(now.contains(table), "from version {last}: {table:?} became {now:?}");
        }
        raw.close().await.unwrap();
    }
}
