//! The writer: groups, failures of single changes, full disks, closing.

use std::time::Duration;

use tokio::sync::oneshot;

use super::*;
use crate::store::StoreError;
use crate::store::db::{AuditEvent, Durability, sql};

/// Holds the writer inside a change until the sender is used, so that changes submitted before that form
/// one group.
async fn hold(store: &Store) -> oneshot::Sender<()> {
    let (release, released) = oneshot::channel::<()>();
    let (begun, has_begun) = oneshot::channel();
    let store = store.clone();
    tokio::spawn(async move {
        store
            .write(Durability::Commit, move |_| {
                Box::pin(async move {
                    begun.send(()).unwrap();
                    released.await.unwrap();
                    Ok(())
                })
            })
            .await
            .unwrap();
    });
    has_begun.await.unwrap();
    release
}

/// Starts a change and waits until it is submitted.
async fn start<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> tokio::task::JoinHandle<T> {
    let mut work = Box::pin(work);
    // After one poll a change is in the queue.
    let pending = futures_util::future::poll_immediate(&mut work).await;
    assert!(pending.is_none());
    tokio::spawn(work)
}

#[tokio::test]
async fn everyone_in_a_group_is_answered() {
    let place = Place::new().await;
    let release = hold(&place.store).await;
    let mut waiting = Vec::new();
    for n in 0..300 {
        let store = place.store.clone();
        waiting.push(start(async move { store.open_call(call(n)).await }).await);
    }
    release.send(()).unwrap();
    for one in waiting {
        assert_eq!(one.await.unwrap(), Ok(()));
    }
    assert_eq!(place.audited().await, 300);
}

#[tokio::test]
async fn a_change_that_fails_leaves_its_neighbours_alone() {
    let place = Place::new().await;
    place.store.open_call(call(0)).await.unwrap();
    place.store.open_call(call(1)).await.unwrap();
    let release = hold(&place.store).await;
    let mut waiting = Vec::new();
    for n in 0..6 {
        let store = place.store.clone();
        // The first two ids exist already.
        waiting.push(start(async move { store.open_call(call(n)).await }).await);
    }
    let store = place.store.clone();
    let half = start(async move {
        store
            .write::<()>(Durability::Commit, |tx| {
                Box::pin(async move {
                    tx.execute(sql("DELETE FROM calls")).await?;
                    tx.record(AuditEvent::new(1, "never", String::new(), &json!({}))?);
                    Err(StoreError::Conflict)
                })
            })
            .await
    })
    .await;
    release.send(()).unwrap();
    let mut answers = Vec::new();
    for one in waiting {
        answers.push(one.await.unwrap());
    }
    let no = Err(StoreError::Conflict);
    assert_eq!(answers, [no, no, Ok(()), Ok(()), Ok(()), Ok(())]);
    assert_eq!(half.await.unwrap(), no);
    for n in 0..6 {
        assert_eq!(place.store.call(call_id(n)).await.unwrap().id, call_id(n));
    }
    assert_eq!(place.kinds().await, vec!["call.opened"; 6]);
    assert_eq!(place.audited().await, 6);
}

#[tokio::test]
async fn a_full_disk_fails_the_group_whole_and_the_store_works_again_afterwards() {
    let place = Place::new().await;
    place.store.open_call(call(0)).await.unwrap();
    place
        .store
        .write(Durability::Commit, |tx| {
            Box::pin(async move {
                tx.rows(sql("PRAGMA max_page_count = 1")).await?;
                Ok(())
            })
        })
        .await
        .unwrap();

    let release = hold(&place.store).await;
    let (small, big) = (place.store.clone(), place.store.clone());
    let touched =
        start(async move { small.advance_call(call_id(0), CallState::Dispatched, 5).await }).await;
    let mut heavy = call(1);
    heavy.arguments = vec![b' '; 200_000];
    let heavy = start(async move { big.open_call(heavy).await }).await;
    release.send(()).unwrap();
    assert_eq!(touched.await.unwrap(), Err(StoreError::Full));
    assert_eq!(heavy.await.unwrap(), Err(StoreError::Full));
    let row = place.store.call(call_id(0)).await.unwrap();
    assert_eq!(row.state, CallState::Received);
    assert_eq!(place.audited().await, 1);

    // The limit belonged to the connection, and the writer opens a new one after a failure.
    place.store.open_call(call(2)).await.unwrap();
    assert!(place.store.close_call(close(0, CallState::Failed), ClosedBy::Backend).await.unwrap());
    assert_eq!(place.kinds().await, ["call.opened", "call.opened", "call.closed"]);
    assert_eq!(place.audited().await, 3);
}

#[tokio::test]
async fn a_group_waits_for_the_disk_when_one_of_its_changes_must() {
    let place = Place::new().await;
    let synchronous = async |durability| {
        place
            .store
            .write(durability, |tx| {
                Box::pin(async move {
                    let (set,): (i64,) = tx.query_one(sql("PRAGMA synchronous")).await?;
                    Ok(set)
                })
            })
            .await
            .unwrap()
    };
    // 1 is NORMAL, 2 is FULL.
    assert_eq!(synchronous(Durability::Commit).await, 1);
    assert_eq!(synchronous(Durability::Fsync).await, 2);
    assert_eq!(synchronous(Durability::Commit).await, 1);

    let release = hold(&place.store).await;
    let mut both = Vec::new();
    for durability in [Durability::Commit, Durability::Fsync] {
        let store = place.store.clone();
        both.push(
            start(async move {
                store
                    .write(durability, |tx| {
                        Box::pin(async move {
                            let (set,): (i64,) = tx.query_one(sql("PRAGMA synchronous")).await?;
                            Ok(set)
                        })
                    })
                    .await
            })
            .await,
        );
    }
    release.send(()).unwrap();
    for one in both {
        assert_eq!(one.await.unwrap(), Ok(2));
    }
}

#[tokio::test]
async fn a_lost_connection_is_opened_anew() {
    let place = Place::new().await;
    place.store.open_call(call(0)).await.unwrap();
    let elsewhere = place.dir.path().join("elsewhere.db");
    let lost = place
        .store
        .write::<()>(Durability::Commit, move |tx| {
            Box::pin(async move {
                let options = SqliteConnectOptions::new().filename(elsewhere);
                tx.lose(options.create_if_missing(true).connect().await?);
                Ok(())
            })
        })
        .await;
    // The new connection has no savepoint to release.
    assert_eq!(lost, Err(StoreError::Unavailable));
    assert_eq!(place.store.open_call(call(1)).await, Ok(()));
    assert_eq!(place.audited().await, 2);
}

#[tokio::test]
async fn closing_commits_what_waits_and_refuses_what_comes_after() {
    let place = Place::new().await;
    let release = hold(&place.store).await;
    let store = place.store.clone();
    let waiting = start(async move { store.open_call(call(0)).await }).await;
    let closing = {
        let store = place.store.clone();
        tokio::spawn(async move { store.close().await })
    };
    release.send(()).unwrap();
    assert_eq!(waiting.await.unwrap(), Ok(()));
    tokio::time::timeout(Duration::from_secs(10), closing).await.unwrap().unwrap();
    assert_eq!(place.store.open_call(call(1)).await, Err(StoreError::Unavailable));
    assert!(!place.dir.path().join("orion.db-wal").exists());
    let place = place.reopened().await;
    assert_eq!(place.audited().await, 1);
}

#[tokio::test]
async fn the_chain_goes_on_after_a_restart() {
    let mut place = Place::new().await;
    for n in 0..3 {
        place.store.open_call(call(n)).await.unwrap();
        place = place.reopened().await;
    }
    assert_eq!(place.audited().await, 3);
    assert_eq!(place.store.audit_head().await.unwrap().seq, 3);
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new().await;
    place.store.open_call(call(0)).await.unwrap();
    for name in ["orion.db", "orion.db-wal", "orion.db-shm"] {
        let mode = std::fs::metadata(place.dir.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn a_file_that_is_no_record_or_has_lost_its_head_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("orion.db");
    std::fs::write(&file, "this is a letter, not a database; it is long enough to have a header")
        .unwrap();
    assert_eq!(Store::open(&file).await.unwrap_err(), StoreError::Corrupt);
    let place = Place::new().await;
    tamper(&place, "DELETE FROM audit_head").await;
    place.store.close().await;
    assert_eq!(Store::open(&place.file()).await.unwrap_err(), StoreError::Corrupt);
    let place = Place::new().await;
    tamper(&place, "UPDATE _sqlx_migrations SET checksum = x'00'").await;
    place.store.close().await;
    assert_eq!(Store::open(&place.file()).await.unwrap_err(), StoreError::OtherVersion);
    let nowhere = dir.path().join("missing").join("orion.db");
    assert_eq!(Store::open(&nowhere).await.unwrap_err(), StoreError::Unavailable);
}
