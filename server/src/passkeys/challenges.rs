//! What browsers are asked to sign. Each challenge is used once, in the session that asked for it, and for what it was
//! made for. They are kept in memory alone: after a restart a person begins again.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use orion_domain::{Digest, UserName};

use crate::people::Identity;

/// How long a challenge can be answered, in milliseconds.
pub const CHALLENGE_MS: i64 = 2 * 60 * 1000;
/// How many open challenges a person has; one more replaces the oldest.
const MAX_OF_PERSON: usize = 4;
/// How many open challenges there are; one more replaces the oldest.
const MAX_OPEN: usize = 1_000;

/// What a challenge is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A new passkey of a person whose password was checked.
    Registration,
    /// The approval of what has this digest.
    Approval(Digest),
}

#[derive(Debug)]
struct OpenChallenge {
    challenge: Digest,
    session: Digest,
    user: UserName,
    purpose: Purpose,
    expires_at: i64,
}

/// The challenges that nobody has answered yet, oldest first.
#[derive(Debug, Default)]
pub(super) struct Challenges {
    open: Mutex<VecDeque<OpenChallenge>>,
}

impl Challenges {
    fn open(&self, now: i64) -> MutexGuard<'_, VecDeque<OpenChallenge>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|it| now < it.expires_at);
        open
    }

    /// Makes a challenge: the digest of something random, of the person and the session, and of what is approved. What
    /// is signed is therefore this approval, and no other that a backend could name afterwards.
    pub(super) fn make(&self, who: &Identity, purpose: Purpose, now: i64) -> Digest {
        let nonce: [u8; 32] = rand::random();
        let (kind, subject) = match purpose {
            Purpose::Registration => ("registration", Digest::ZERO),
            Purpose::Approval(subject) => ("approval", subject),
        };
        let user = &who.caller.user;
        let challenge = Digest::of_fields(
            "orion.passkey.challenge.v1",
            &[
                &nonce,
                kind.as_bytes(),
                user.as_str().as_bytes(),
                who.token.as_bytes(),
                subject.as_bytes(),
            ],
        );
        let mut open = self.open(now);
        let of_person = open.iter().filter(|it| it.user == *user).count();
        if of_person >= MAX_OF_PERSON
            && let Some(oldest) = open.iter().position(|it| it.user == *user)
        {
            open.remove(oldest);
        }
        if open.len() >= MAX_OPEN {
            open.pop_front();
        }
        open.push_back(OpenChallenge {
            challenge,
            session: who.token,
            user: user.clone(),
            purpose,
            expires_at: now + CHALLENGE_MS,
        });
        challenge
    }

    /// Uses a challenge of this session, and returns what it was made for. None where it was used, has expired, is of
    /// another session or person, or never was.
    pub(super) fn take(&self, who: &Identity, challenge: Digest, now: i64) -> Option<Purpose> {
        let mut open = self.open(now);
        let index = open.iter().position(|it| {
            it.challenge == challenge && it.session == who.token && it.user == who.caller.user
        })?;
        open.remove(index).map(|it| it.purpose)
    }
}
