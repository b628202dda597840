//! The other side of a transfer, for tests of tools.

use std::sync::mpsc::SyncSender;

use orion_catalog::Content;
use orion_domain::Digest;
use tokio::sync::mpsc;

use super::{ContentAnswer, ContentRequest, Numbered, Transfers};

/// Bytes in one part, fewer than in a file of the tests.
const PART_BYTES: usize = 4;

/// The other side: it sends this content, or reads everything.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    /// The content that it sends.
    pub(crate) content: Vec<u8>,
}

impl Transfers {
    /// Returns transfers with this side to the tools of tests.
    pub(crate) fn with_peer(content: &[u8]) -> Self {
        let transfers = Self::default();
        *transfers.peer.lock().unwrap() = Some(Peer { content: content.to_vec() });
        transfers
    }
}

impl Peer {
    /// Plays until the tool ends.
    pub(super) fn play(
        &self,
        content: Content,
        ask: &SyncSender<Numbered<ContentRequest>>,
        mut answers: mpsc::Receiver<Numbered<ContentAnswer>>,
    ) {
        let mut offset = 0;
        for number in 1.. {
            let request = self.request(content, offset);
            if ask.send((number, request)).is_err() {
                return;
            }
            let Some((_, answer)) = answers.blocking_recv() else { return };
            offset = match answer {
                ContentAnswer::Part { content, .. } if content.is_empty() => u64::MAX,
                ContentAnswer::Part { offset, content, .. } => offset + content.len() as u64,
                ContentAnswer::Received(received) => received,
            };
        }
    }

    fn request(&self, content: Content, offset: u64) -> ContentRequest {
        let rest = usize::try_from(offset).ok().and_then(|at| self.content.get(at..));
        match (content, rest) {
            (Content::ToPerson, _) if offset == u64::MAX => ContentRequest::Done(None),
            (Content::ToPerson | Content::InCall, _) => {
                ContentRequest::Read { offset, max_bytes: PART_BYTES }
            }
            (Content::FromDevice, None | Some([])) => {
                ContentRequest::Done(Some(Digest::of(&self.content)))
            }
            (Content::FromPerson | Content::FromDevice, rest) => {
                let part: Vec<u8> = rest.into_iter().flatten().take(PART_BYTES).copied().collect();
                ContentRequest::Write {
                    offset,
                    content: part.into(),
                    size: self.content.len() as u64,
                }
            }
        }
    }
}
