//! Signing the audit log: only rows that follow are signed, and a rewritten log does not match.

use orion_audit::merkle::Tree;
use orion_domain::audit::{AuditHead, AuditRow, Break};

use super::*;
use crate::data_folder::{AUDIT_HEAD, AUDIT_KEY};
use crate::notary::{NotSigned, Notary, held_to, reset_signing};
use crate::store::{SignedTree, TrustAnchor, verify_file};

async fn opened(place: &Place, from: u128, count: u128) {
    for n in from..from + count {
        place.store.open_call(call(n)).await.unwrap();
    }
}

/// Rewrites the whole audit log with a changed row, head included. Anybody who can write the file but has
/// no key can do this.
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
    let notary = Notary::prepare(place.dir.path(), &place.store).await.unwrap();
    let key = notary.signer().key().clone();
    let held = TrustAnchor { key: key.clone(), head: None };
    opened(&place, 1, 3).await;
    let first = notary.sign(&place.store).await.unwrap();
    opened(&place, 4, 2).await;
    let second = notary.sign(&place.store).await.unwrap();
    assert_eq!((first.tree.size(), second.tree.size()), (3, 5));
    assert_eq!(notary.sign(&place.store).await, Ok(second.clone()), "nothing is new");
    let head = place.store.audit_head().await.unwrap();
    assert_eq!(second.head(), head);
    let whole = AuditVerdict::Whole { rows: 5, head, checkpoints: 2 };
    assert_eq!(place.store.verify_audit(Some(&held)).await, Ok(whole.clone()));

    // Another process continues from the stored tree.
    let again = Notary::prepare(place.dir.path(), &place.store).await.unwrap();
    assert_eq!(again.signer().key(), &key);
    opened(&place, 6, 1).await;
    assert_eq!(again.sign(&place.store).await.unwrap().tree.size(), 6);

    rewrite(&place).await;
    assert!(matches!(place.store.verify_audit(None).await, Ok(AuditVerdict::Whole { .. })));
    let found = verify_file(&place.file(), Some(&held)).await.unwrap();
    let AuditVerdict::Broken { broken: Break::Checkpoint { seq, .. }, .. } = found else {
        panic!("{found:?}")
    };
    assert_eq!(seq, 3);
}

#[tokio::test]
async fn what_does_not_follow_from_what_was_signed_is_not_signed() {
    let place = Place::new().await;
    let notary = Notary::prepare(place.dir.path(), &place.store).await.unwrap();
    opened(&place, 1, 3).await;
    notary.sign(&place.store).await.unwrap();
    opened(&place, 4, 2).await;
    tamper(&place, "UPDATE audit SET at = at + 1 WHERE seq = 4").await;
    let refused = notary.sign(&place.store).await;
    assert_eq!(refused, Err(NotSigned::Broken(Break::Changed { seq: 4 })));
    tamper(&place, "UPDATE audit SET at = at - 1 WHERE seq = 4").await;
    assert_eq!(notary.sign(&place.store).await.unwrap().tree.size(), 5);

    tamper(&place, "UPDATE audit_tree SET peaks = zeroblob(length(peaks))").await;
    let again = Notary::prepare(place.dir.path(), &place.store).await.unwrap();
    assert_eq!(again.sign(&place.store).await, Err(NotSigned::Checkpoint));
}

/// Returns how the database differs from what was signed last.
async fn found(place: &Place) -> String {
    let held = held_to(place.dir.path()).unwrap();
    let file = verify_file(&place.file(), held.as_ref()).await.unwrap();
    assert_eq!(Ok(&file), place.store.verify_audit(held.as_ref()).await.as_ref());
    match file {
        AuditVerdict::Broken { broken, .. } => broken.to_string(),
        AuditVerdict::Whole { checkpoints, .. } => format!("whole, {checkpoints}"),
    }
}

/// A signed database, and its key.
async fn signed() -> Place {
    let place = Place::new().await;
    let notary = Notary::prepare(place.dir.path(), &place.store).await.unwrap();
    opened(&place, 1, 3).await;
    notary.sign(&place.store).await.unwrap();
    opened(&place, 4, 2).await;
    notary.sign(&place.store).await.unwrap();
    assert_eq!(found(&place).await, "whole, 2");
    place
}

#[tokio::test]
async fn a_record_written_anew_without_its_checkpoints_is_found_and_not_signed() {
    let place = signed().await;
    rewrite(&place).await;
    tamper(&place, "DELETE FROM audit_checkpoints; DELETE FROM audit_tree").await;
    let said = found(&place).await;
    assert!(said.starts_with("row 5: ") && said.contains("reset-signing"), "{said}");
    let head = std::fs::read(place.dir.path().join(AUDIT_HEAD)).unwrap();
    let notary = Notary::prepare(place.dir.path(), &place.store).await.unwrap();
    for _ in 0..2 {
        let refused = notary.sign(&place.store).await;
        assert!(matches!(refused, Err(NotSigned::Broken(Break::Checkpoint { seq: 5, .. }))));
    }
    assert_eq!(place.store.checkpoints(0, 10).await.unwrap(), []);
    assert_eq!(std::fs::read(place.dir.path().join(AUDIT_HEAD)).unwrap(), head);
}

#[tokio::test]
async fn an_older_record_in_the_place_of_the_one_that_was_signed_last_is_found_and_not_signed() {
    let place = signed().await;
    place.store.close().await;
    let older = std::fs::read(place.file()).unwrap();
    let place = place.reopened().await;
    let notary = Notary::prepare(place.dir.path(), &place.store).await.unwrap();
    opened(&place, 6, 3).await;
    assert_eq!(notary.sign(&place.store).await.unwrap().tree.size(), 8);
    place.store.close().await;
    std::fs::write(place.file(), older).unwrap();
    let place = place.reopened().await;
    opened(&place, 9, 1).await;
    let said = found(&place).await;
    assert!(said.contains("8 rows were signed, and those behind are not there"), "{said}");
    let notary = Notary::prepare(place.dir.path(), &place.store).await.unwrap();
    assert!(matches!(notary.sign(&place.store).await, Err(NotSigned::Broken(_))));

    // Only a person can reset signing, and the reset is audited; checkpoints that match are kept.
    let folder = place.dir.path().to_owned();
    place.store.close().await;
    reset_signing(&folder, " ").await.unwrap_err();
    reset_signing(&folder, "the newer one is lost").await.unwrap();
    let place = place.reopened().await;
    assert_eq!(place.kinds().await.last().unwrap(), "audit.signed_anew");
    assert_eq!(found(&place).await, "whole, 2");
    let notary = Notary::prepare(&folder, &place.store).await.unwrap();
    assert_eq!(notary.sign(&place.store).await.unwrap().tree.size(), 7);
    assert_eq!(found(&place).await, "whole, 3");
    place.store.close().await;
    let again = reset_signing(&folder, "once more").await.unwrap_err();
    assert!(again.to_string().contains("nothing to do"), "{again}");
}

#[tokio::test]
async fn no_other_key_is_drawn_for_a_record_that_was_signed_unless_somebody_says_so() {
    let place = signed().await;
    let folder = place.dir.path().to_owned();
    let before = held_to(&folder).unwrap().unwrap().key;
    std::fs::remove_file(folder.join(AUDIT_KEY)).unwrap();
    for without in [None, Some(AUDIT_HEAD)] {
        if let Some(name) = without {
            std::fs::remove_file(folder.join(name)).unwrap();
        }
        let refused = Notary::prepare(&folder, &place.store).await.unwrap_err().to_string();
        assert!(refused.contains("put it back from a backup"), "{refused}");
        assert!(!folder.join(AUDIT_KEY).exists());
    }
    place.store.close().await;
    reset_signing(&folder, "the key is lost").await.unwrap();
    let place = place.reopened().await;
    let notary = Notary::prepare(&folder, &place.store).await.unwrap();
    assert_ne!(notary.signer().key(), &before);
    let (kind, body) = place.audit().await.pop().unwrap();
    let said =
        json!({"reason": "the key is lost", "last_checkpoint": null, "dropped_checkpoints": 2});
    assert_eq!((kind.as_str(), body), ("audit.signed_anew", said));
    assert_eq!(notary.sign(&place.store).await.unwrap().tree.size(), 6);
    assert_eq!(found(&place).await, "whole, 1");
}

#[tokio::test]
async fn a_record_of_before_the_last_checkpoint_was_kept_beside_the_key_gets_it_kept() {
    let place = signed().await;
    let path = place.dir.path().join(AUDIT_HEAD);
    let head = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let notary = Notary::prepare(place.dir.path(), &place.store).await.unwrap();
    notary.sign(&place.store).await.unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), head);
    // A note that is no checkpoint of this key is rejected.
    std::fs::write(&path, "a\nb\n\nc\n").unwrap();
    let said = found(&place).await;
    assert!(said.contains("it is no signed note (audit.head"), "{said}");
    let notary = Notary::prepare(place.dir.path(), &place.store).await.unwrap();
    assert_eq!(notary.sign(&place.store).await, Err(NotSigned::Checkpoint));
}

#[tokio::test]
async fn old_checkpoints_become_sparse_and_the_newest_stay() {
    let place = Place::new().await;
    let mut tree = Tree::default();
    for n in 0..2_200_i64 {
        tree.push(Digest::ZERO);
        let grown = SignedTree { tree: tree.clone(), hash: Some(Digest::ZERO) };
        place.store.keep_checkpoint(grown, n.to_string(), n).await.unwrap();
    }
    let sizes: Vec<_> =
        place.store.checkpoints(0, 10_000).await.unwrap().iter().map(|row| row.size).collect();
    assert!((1_024..=2_048).contains(&sizes.len()), "{}", sizes.len());
    assert!(sizes.ends_with(&[2_199, 2_200]));
    assert_eq!(sizes.windows(2).filter(|pair| pair[1] - pair[0] > 2).count(), 0);
    assert_eq!(place.store.audit_tree().await.unwrap().tree, tree);
}
