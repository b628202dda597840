//! Converts devices and reviews of their grants to their wire form.

use std::collections::BTreeMap;

use orion_wire::v1;

use crate::clock::now_ms;
use crate::fleet::enrollment::by_code::RequestView;
use crate::fleet::presence::facts_from_json;
use crate::fleet::{DeviceSnapshot, Fleet, OwnerPause};
use crate::policy::GrantReview;
use crate::store::{DeviceRow, DeviceState, InviteScope, OpenInvite, PolicyMismatch};

/// Converts a device, with what is known of it in memory.
pub(super) fn device(fleet: &Fleet, row: DeviceRow) -> v1::Device {
    let facts = row.facts.as_deref().and_then(facts_from_json);
    let known = fleet.known(row.id);
    let chain = fleet.witnesses().of(row.id);
    let labels = known.as_ref().map_or(&row.labels, |known| known.labels()).clone();
    let labels: BTreeMap<_, _> = labels.into();
    v1::Device {
        chain_seq: chain.as_ref().map_or(0, |chain| chain.head.seq),
        chain_hash: chain
            .as_ref()
            .map(|chain| chain.head.hash.as_bytes().to_vec().into())
            .unwrap_or_default(),
        chain_problem_at: chain.as_ref().and_then(|chain| chain.problem_at).unwrap_or_default(),
        chain_problem: chain.map(|chain| chain.problem).unwrap_or_default(),
        device_id: row.id.to_string(),
        name: row.name.to_string(),
        state: state(row.state).into(),
        pending_reason: row
            .pending_reason
            .filter(|_| row.state == DeviceState::Pending)
            .map(|reason| reason.to_string())
            .unwrap_or_default(),
        online: fleet.is_online(row.id),
        pause: fleet.link(row.id).and_then(|link| link.pause()).map(pause),
        os: facts.as_ref().map_or(row.os, |facts| match facts.os_version.as_str() {
            "" => facts.os.as_str().to_owned(),
            version => version.to_owned(),
        }),
        hostname: row.hostname,
        agent_version: row.agent_version.unwrap_or_default(),
        fingerprint_words: row.fingerprint_words,
        enrolled_at: row.created_at,
        last_seen_at: row.last_seen_at.unwrap_or_default(),
        policy_version: known
            .as_ref()
            .map(|known| known.policy.version.clone())
            .unwrap_or_default(),
        acknowledged_policy_version: row.acknowledged_version.unwrap_or_default(),
        certificate_not_after: row.certificate_not_after.unwrap_or_default(),
        dangerous: known.as_ref().and_then(|known| dangerous(known)),
        policy_source: known.as_ref().map(|it| it.policy_source()).unwrap_or_default(),
        policy_warnings: row.found.iter().map(PolicyMismatch::description).collect(),
        grants: known
            .and_then(|known| serde_json::to_string(&known.grants).ok())
            .unwrap_or(row.grants),
        labels: labels.into_iter().collect(),
        ceiling: row.ceiling.unwrap_or_default(),
        sandbox: facts.map(|facts| facts.sandbox).unwrap_or_default(),
    }
}

/// Returns the device's dangerous mode while it is active.
fn dangerous(known: &DeviceSnapshot) -> Option<v1::DangerousMode> {
    let mode = known.terms.dangerous.as_ref().filter(|mode| now_ms() < mode.until)?;
    Some(v1::DangerousMode {
        until: mode.until,
        set_by: mode.by.to_string(),
        set_at: mode.at,
        reason: mode.reason.clone(),
    })
}

/// Converts the pause of a device's owner.
fn pause(pause: OwnerPause) -> v1::OwnerPause {
    let OwnerPause { by, since, until, fault } = pause;
    v1::OwnerPause { by, since, until, fault }
}

/// Converts a device that asks to be enrolled by a code.
pub(super) fn pending_enrollment(view: RequestView) -> v1::PendingEnrollment {
    let RequestView { record, agent_version, requested_at, expires_at } = view;
    v1::PendingEnrollment {
        request_id: record.request_id.to_string(),
        suggested_name: record.device_name,
        hostname: record.hostname,
        platform: record.platform,
        agent_version,
        address: record.address.to_string(),
        requested_at,
        expires_at,
    }
}

/// The most bytes of grants that are listed with a token.
const MAX_LISTED_GRANTS: usize = 4096;

/// Converts a token that devices can still use.
pub(super) fn invite(invite: OpenInvite) -> v1::Invite {
    let OpenInvite {
        id,
        name,
        uses_left,
        preapproved,
        grants,
        labels,
        scope: InviteScope { platforms, networks, public_key },
        created_by,
        created_at,
        expires_at,
    } = invite;
    let labels: BTreeMap<_, _> = labels.into();
    v1::Invite {
        invite_id: id.to_string(),
        name: name.map(String::from).unwrap_or_default(),
        uses_left,
        preapproved,
        grants: if grants.len() > MAX_LISTED_GRANTS { String::new() } else { grants },
        platforms,
        networks: networks.iter().map(ToString::to_string).collect(),
        labels: labels.into_iter().collect(),
        confirmed_by_code: public_key.is_some(),
        created_by: created_by.to_string(),
        created_at,
        expires_at,
    }
}

/// Converts the review of one grant.
pub(super) fn grant_review(entry: GrantReview) -> v1::GrantReview {
    let GrantReview { kind, entry, server, ceiling, uses, last_used_at, lint, proposal, proof } =
        entry;
    v1::GrantReview {
        kind: kind.to_owned(),
        entry,
        server,
        ceiling,
        effective: server && ceiling,
        uses,
        last_used_at,
        lint,
        proposal,
        call_ids: proof.iter().map(ToString::to_string).collect(),
    }
}

const fn state(state: DeviceState) -> v1::DeviceState {
    match state {
        DeviceState::Pending => v1::DeviceState::Pending,
        DeviceState::Approved => v1::DeviceState::Approved,
        DeviceState::Rejected => v1::DeviceState::Rejected,
        DeviceState::Quarantined => v1::DeviceState::Quarantined,
        DeviceState::Revoked => v1::DeviceState::Revoked,
    }
}
