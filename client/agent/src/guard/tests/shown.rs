//! An approval is bound to what the person was shown.

use orion_domain::observation::Kind;
use orion_domain::{DevicePath, Observation, Touches};

use super::*;

pub(super) fn nothing_at(path: &DevicePath) -> Observation {
    Observation {
        path: path.to_string(),
        real: path.to_string(),
        kind: Kind::Nothing,
        bytes: 0,
        mode: 0,
        digest: None,
    }
}

pub(super) fn with_proof(
    guard: &Guard,
    call: Dispatched,
    basis: ApprovalBasis,
    expires_at: i64,
) -> Dispatched {
    let (spec, _) = orion_catalog::find(&call.tool).unwrap();
    let parsed = spec.parse(call.arguments_value.clone(), &places()).unwrap();
    with_proof_of(guard, call, &parsed.touches, basis, expires_at)
}

/// The call with an approval that is bound to these touches.
pub(super) fn with_proof_of(
    guard: &Guard,
    mut call: Dispatched,
    touches: &Touches,
    basis: ApprovalBasis,
    expires_at: i64,
) -> Dispatched {
    let binding = CallBinding {
        call: call.call,
        device: device(),
        tool: &call.tool,
        arguments: &call.arguments,
        caller: &call.caller,
        touches,
        basis,
        observed: &call.observed,
        policy_version: &guard.policy().version,
        raises: &[],
        expires_at,
    }
    .digest();
    let proof = v1::ApprovalProof {
        approval_id: Uuid::from_u128(9).to_string(),
        binding: binding.as_bytes().to_vec().into(),
        approved_by: "bob".to_owned(),
        expires_at,
        raises: Vec::new(),
        basis: orion_wire::approval_basis(basis).into(),
    };
    call.approval = Some(proof.try_into().unwrap());
    call
}

#[test]
fn an_approval_of_a_preview_comes_with_what_that_observed_and_holds_for_nothing_else() {
    let guard = guard();
    let until = now_ms() + 60_000;
    let call = approved(&guard, delete());
    assert!(guard.admit(&call, |_| false).is_ok());
    // Observations that were left out on the way, or exchanged.
    let bare = Dispatched { observed: Vec::new(), ..call.clone() };
    assert_eq!(code(&guard, &bare), ErrorCode::ApprovalRequired);
    let mut other = call.clone();
    other.observed[0].bytes += 1;
    assert_eq!(code(&guard, &other), ErrorCode::ApprovalRequired);
    // No observations, though the approval says that a preview was shown.
    let blind = with_proof(&guard, delete(), ApprovalBasis::Preview, until);
    assert_eq!(code(&guard, &blind), ErrorCode::ApprovalRequired);
    // A standing approval for the conversation says that no preview was shown.
    let standing = with_proof(&guard, delete(), ApprovalBasis::Standing, until);
    assert!(guard.admit(&standing, |_| false).is_ok());
}
