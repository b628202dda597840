//! `ListApprovals`: the approval requests, in one message whatever they hold.

use orion_wire::v1;
use prost::Message as _;
use prost::bytes::Bytes;
use tonic::Status;

use super::{ApprovalApi, to_proto};
use crate::rpc::status;
use crate::store::ApprovalState;

/// Maximum total size of the uncut cards in a list, in bytes.
const LISTED_BYTES: usize = 2 * 1024 * 1024;
/// Maximum number of `touches` lines on a cut card.
const MAX_LINES: usize = 4;
/// Maximum length of a line on a cut card, in bytes.
const MAX_LINE_BYTES: usize = 200;

/// Lists the open approval requests, or with `all` those that were decided as well. The cards of a long list
/// are cut; `GetApproval` returns the uncut card.
pub(super) async fn list_approvals(
    api: &ApprovalApi,
    message: v1::ListApprovalsRequest,
) -> Result<v1::ListApprovalsResponse, Status> {
    let v1::ListApprovalsRequest { all } = message;
    let store = &api.pipeline.store;
    let ids = store.approval_ids(!all).await.map_err(status::store)?;
    let (mut approvals, mut room) = (Vec::with_capacity(ids.len()), LISTED_BYTES);
    // The rows are loaded one by one, because a card may be large.
    for id in ids {
        let row = store.approval(id).await.map_err(status::store)?;
        if all || row.state == ApprovalState::Open {
            approvals.push(within(&mut room, to_proto::unread(row)));
        }
    }
    Ok(v1::ListApprovalsResponse { approvals })
}

/// Returns a card for a list. Once the list would exceed `room`, a card is cut: the arguments, the preview
/// and the content labels are left out. `GetApproval` returns the uncut card.
fn within(room: &mut usize, mut card: v1::Approval) -> v1::Approval {
    if card.encoded_len() > *room {
        (card.arguments, card.preview) = (Bytes::new(), Bytes::new());
        card.content.clear();
        card.occurs_in_content.clear();
        card.copied_from.clear();
        card.touches.truncate(MAX_LINES);
        let lines = card.touches.iter_mut().chain(&mut card.risk_because);
        let said = card.votes.iter_mut().map(|vote| &mut vote.reason);
        let others = [&mut card.rule, &mut card.reason];
        lines.chain(said).chain(others).for_each(|line| cut(line, MAX_LINE_BYTES));
        card.is_cut = true;
    }
    // Only what is listed is read: a request may be large.
    let mut card = to_proto::with_look_alikes(card);
    if card.is_cut {
        card.look_alikes.truncate(MAX_LINES);
        card.look_alikes.iter_mut().for_each(|line| cut(line, MAX_LINE_BYTES));
    }
    *room = room.saturating_sub(card.encoded_len());
    card
}

fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn large() -> v1::Approval {
        let label = v1::ContentLabel { place: "/long/".repeat(700), ..v1::ContentLabel::default() };
        let vote = v1::Vote { reason: "é".repeat(1000), ..v1::Vote::default() };
        v1::Approval {
            approval_id: "0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5e".to_owned(),
            arguments: vec![b'x'; 1024 * 1024].into(),
            preview: vec![b'y'; 64 * 1024].into(),
            touches: vec!["delete /deep".repeat(300); 50],
            content: vec![label; 50],
            occurs_in_content: vec!["content".to_owned()],
            votes: vec![vote; 3],
            quoted: true,
            ..v1::Approval::default()
        }
    }

    #[test]
    fn as_many_cards_as_are_listed_fit_into_one_message_whatever_they_hold() {
        let mut room = LISTED_BYTES;
        let approvals: Vec<_> = (0..500).map(|_| within(&mut room, large())).collect();
        assert_eq!(approvals.first(), Some(&large()));
        let last = approvals.last().unwrap();
        assert!(last.is_cut && last.quoted && last.votes.len() == 3, "{last:?}");
        assert_eq!(last.approval_id, large().approval_id);
        let size = v1::ListApprovalsResponse { approvals }.encoded_len();
        assert!(size < 4 * 1024 * 1024, "{size}");
    }
}
