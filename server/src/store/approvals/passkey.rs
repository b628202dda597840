//! The passkey of a vote: whether it signed what this request shows.

use orion_domain::{Digest, PlanId};

use super::decide_error::DecideError;
use super::row::ApprovalRow;
use super::vote::NewVote;
use crate::store::db::{Tx, sql};
use crate::store::{StoreError, passkeys};
use crate::webauthn::{PasskeyProof, approval_subject, plan_subject};

/// Returns whether the passkey of a vote counts. A vote that needs none has none, or a good one.
pub(super) async fn counts(
    tx: &mut Tx,
    row: &ApprovalRow,
    vote: &NewVote,
) -> Result<Result<(), DecideError>, StoreError> {
    let Some(proof) = &vote.passkey else {
        let is_enough = !row.approvers.passkey;
        return Ok(if is_enough { Ok(()) } else { Err(DecideError::PasskeyMissing) });
    };
    let subject = match row.plan {
        None => approval_subject(row.id, row.shown_digest()),
        Some(plan) => plan_subject(plan, hash_of(tx, plan).await?),
    };
    if proof.subject() != subject {
        return Ok(Err(DecideError::OtherSigned));
    }
    // It may have been removed, or have signed again, since the signature was checked.
    let before = passkeys::sign_count(tx, &vote.by, proof.passkey()).await?;
    Ok(match before {
        Some(before) if PasskeyProof::is_ahead(proof.sign_count(), before) => Ok(()),
        Some(_) | None => Err(DecideError::PasskeyGone),
    })
}

async fn hash_of(tx: &mut Tx, plan: PlanId) -> Result<Digest, StoreError> {
    let (hash,): (Vec<u8>,) =
        tx.query_one(sql("SELECT hash FROM plans WHERE id = $1").bind(plan)).await?;
    Digest::from_slice(&hash).ok_or(StoreError::Corrupt)
}
