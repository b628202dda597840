//! What is signed of the audit: only what follows, and a rewritten past does not fit it.

use orion_audit::merkle::Tree;
use orion_domain::audit::{AuditHead, AuditRow, Break};

use super::*;
use crate::notary::{NotSigned, Notary};
use crate::store::{Grown, verify_file};

async fn opened(place: &Place, from: u128, count: u128) {
    for n in from..from + count {
        place.store.open_call(call(n)).await.unwrap();
    }
}

/// Writes the whole audit anew with another word in it, head and all: what somebody can do who may write
/// the file and has no key.
async fn rewrite(place: &Place) {
    let rows = place.store.audit_export(0, 10_000).await.unwrap();
    let mut raw = place.raw().await;
    let mut head = AuditHead::EMPTY;
    for row in rows {
        let body = row.body.replace("\"ann\"", "\"eve\"");
        let row = AuditRow::link(head, row.at, &row.kind, &row.call_id, body);
        head = row.head();
        sqlx::query("UPDATE audit SET body = $1, prev_hash = $2, hash = $3 WHERE seq = $4")
            .bind(row.body)
            .bind(row.prev_hash.as_bytes().to_vec())
            .bind(row.hash.as_bytes().to_vec())
            .bind(row.seq)
            .execute(&mut raw)
            .await
            .unwrap();
    }
    sqlx::query("UPDATE audit_head SET hash = $1")
        .bind(head.hash.as_bytes().to_vec())
        .execute(&mut raw)
        .await
        .unwrap();
    raw.close().await.unwrap();
}

#[tokio::test]
async fn what_was_signed_is_checked_and_a_past_written_anew_is_found() {
    let place = Place::new().await;
    let notary = Notary::prepare(place.dir.path()).unwrap();
    let key = notary.signer().key();
    opened(&place, 1, 3).await;
    let first = notary.sign(&place.store).await.unwrap();
    opened(&place, 4, 2).await;
    let second = notary.sign(&place.store).await.unwrap();
    assert_eq!((first.tree.size(), second.tree.size()), (3, 5));
    assert_eq!(notary.sign(&place.store).await, Ok(second.clone()), "nothing is new");
    let head = place.store.audit_head().await.unwrap();
    assert_eq!(second.head(), head);
    let whole = AuditVerdict::Whole { rows: 5, head, checkpoints: 2 };
    assert_eq!(place.store.verify_audit(Some(key)).await, Ok(whole.clone()));

    // Another process goes on where this one was.
    let again = Notary::prepare(place.dir.path()).unwrap();
    assert_eq!(again.signer().key(), key);
    opened(&place, 6, 1).await;
    assert_eq!(again.sign(&place.store).await.unwrap().tree.size(), 6);

    rewrite(&place).await;
    assert!(matches!(place.store.verify_audit(None).await, Ok(AuditVerdict::Whole { .. })));
    let found = verify_file(&place.file(), Some(key)).await.unwrap();
    let AuditVerdict::Broken { broken: Break::Checkpoint { seq, .. }, .. } = found else {
        panic!("{found:?}")
    };
    assert_eq!(seq, 3);
}

#[tokio::test]
async fn what_does_not_follow_from_what_was_signed_is_not_signed() {
    let place = Place::new().await;
    let notary = Notary::prepare(place.dir.path()).unwrap();
    opened(&place, 1, 3).await;
    notary.sign(&place.store).await.unwrap();
    opened(&place, 4, 2).await;
    tamper(&place, "UPDATE audit SET at = at + 1 WHERE seq = 4").await;
    let refused = notary.sign(&place.store).await;
    assert_eq!(refused, Err(NotSigned::Broken(Break::Changed { seq: 4 })));
    tamper(&place, "UPDATE audit SET at = at - 1 WHERE seq = 4").await;
    assert_eq!(notary.sign(&place.store).await.unwrap().tree.size(), 5);

    tamper(&place, "UPDATE audit_tree SET peaks = zeroblob(length(peaks))").await;
    let again = Notary::prepare(place.dir.path()).unwrap();
    assert_eq!(again.sign(&place.store).await, Err(NotSigned::Checkpoint));
}

#[tokio::test]
async fn old_checkpoints_become_sparse_and_the_newest_stay() {
    let place = Place::new().await;
    let mut tree = Tree::default();
    for n in 0..2_200_i64 {
        tree.push(Digest::ZERO);
        let grown = Grown { tree: tree.clone(), hash: Some(Digest::ZERO) };
        place.store.keep_checkpoint(grown, n.to_string(), n).await.unwrap();
    }
    let sizes: Vec<_> =
        place.store.checkpoints(0, 10_000).await.unwrap().iter().map(|row| row.size).collect();
    assert!((1_024..=2_048).contains(&sizes.len()), "{}", sizes.len());
    assert!(sizes.ends_with(&[2_199, 2_200]));
    assert_eq!(sizes.windows(2).filter(|pair| pair[1] - pair[0] > 2).count(), 0);
    assert_eq!(place.store.audit_tree().await.unwrap().tree, tree);
}
