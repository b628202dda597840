//! The devices that ask to be enrolled by a code: so many in memory, each for a short time, each decided once.
//! A restart of the backend ends all of them.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use orion_domain::id::InviteId;
use orion_domain::{Digest, EnrollmentCode, UserName};
use orion_mtls::{Comparison, Fingerprint};

use super::error::CodeError;
use super::wrong_codes::WrongCodes;
use crate::listen::Source;
use crate::store::EnrollmentRequestRecord;

/// For how long a device that has not revealed its secret keeps its place, in milliseconds. It does at once.
const UNREVEALED_MS: i64 = 15_000;
/// For how long a device keeps its place after it asked last, in milliseconds. It asks every two seconds.
const QUIET_MS: i64 = 60_000;
/// The maximum number of requests that nobody has decided.
const MAX_OPEN: usize = 64;
/// The maximum number of them from one address.
const MAX_OPEN_FROM_ONE: usize = 4;
/// The maximum number of requests, those that were decided a moment ago included.
const MAX_KEPT: usize = 512;

/// A device's request. Times are Unix milliseconds.
#[derive(Debug, Clone)]
pub(super) struct OpenRequest {
    /// What the audit log has of it.
    pub(super) record: EnrollmentRequestRecord,
    /// The version of the agent, as it states it.
    pub(super) agent_version: String,
    /// The code that finds it.
    pub(super) code: EnrollmentCode,
    /// What its address counts as.
    pub(super) source: Source,
    /// SHA-256 of the device's secret.
    pub(super) commitment: Digest,
    /// The authority that the device met.
    pub(super) authority: Fingerprint,
    /// The device's key.
    pub(super) key: Fingerprint,
    /// The backend's random number.
    pub(super) nonce: [u8; 32],
    /// The words of both directions. None until the device has revealed its secret.
    pub(super) shown: Option<Shown>,
    /// Who decided, and how.
    pub(super) state: RequestState,
    /// Whether an admin has typed its code. The audit log knows those alone.
    pub(super) is_found: bool,
    pub(super) requested_at: i64,
    /// When the device asked last.
    pub(super) seen: i64,
    pub(super) expires_at: i64,
}

impl OpenRequest {
    /// Returns whether its code is good and, while nobody has decided, its device still asks.
    fn is_live(&self, now: i64) -> bool {
        let quiet = if self.shown.is_some() { QUIET_MS } else { UNREVEALED_MS };
        now < self.expires_at && (self.state != RequestState::Waiting || now < self.seen + quiet)
    }

    /// Returns whether it is over, and nobody needs to hear of it.
    fn is_forgotten(&self, now: i64) -> bool {
        let is_told = match self.state {
            // One that is being confirmed at this moment is settled first.
            RequestState::Confirming(_) => false,
            RequestState::Waiting => !self.is_found,
            RequestState::Confirmed(_) | RequestState::Refused(_) => true,
        };
        is_told && !self.is_live(now)
    }
}

/// The words of a request.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    /// Those that the device shows.
    pub(super) words: String,
    /// Those that it awaits once it is confirmed.
    pub(super) answer: String,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestState {
    /// Nobody has decided.
    Waiting,
    /// This person is confirming it: nobody else can.
    Confirming(UserName),
    /// This person confirmed it.
    Confirmed(UserName),
    /// This person refused it.
    Refused(UserName),
}

impl RequestState {
    const fn is_open(&self) -> bool {
        matches!(self, Self::Waiting | Self::Confirming(_))
    }
}

/// The requests.
#[derive(Debug, Default)]
pub(super) struct CodeRequests(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    requests: HashMap<InviteId, OpenRequest>,
    wrong: WrongCodes,
}

impl CodeRequests {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that there is room for a request from this address, before anything is made for it.
    ///
    /// # Errors
    /// [`CodeError::Busy`].
    pub(super) fn has_room(&self, source: &Source, now: i64) -> Result<(), CodeError> {
        self.kept().room(source, now).map(drop)
    }

    /// Keeps a request, unless there are too many or its code is taken. Returns whether it is kept. Where there are
    /// too many, the most crowded address loses its oldest one that no admin has found.
    ///
    /// # Errors
    /// [`CodeError::Busy`].
    pub(super) fn keep(&self, request: OpenRequest) -> Result<bool, CodeError> {
        let mut kept = self.kept();
        let crowded = kept.room(&request.source, request.requested_at)?;
        if kept.requests.values().any(|other| other.code == request.code) {
            return Ok(false);
        }
        if let Some(crowded) = crowded {
            kept.requests.remove(&crowded);
        }
        kept.requests.insert(request.record.request_id, request);
        Ok(true)
    }

    /// Notes whether an admin has found a request. Returns whether one had before.
    pub(super) fn set_found(&self, id: InviteId, is_found: bool) -> bool {
        let mut kept = self.kept();
        let request = kept.requests.get_mut(&id);
        request.is_none_or(|request| std::mem::replace(&mut request.is_found, is_found))
    }

    /// Forgets a request: its end was recorded.
    pub(super) fn forget(&self, id: InviteId) {
        self.kept().requests.remove(&id);
    }

    /// Returns what became of a request, for the device that knows its secret. The first time, this reveals the
    /// secret, and the code can be typed from then on.
    ///
    /// # Errors
    /// [`CodeError::Ended`]: there is none, or the secret is another one; the error does not say which.
    pub(super) fn reveal(
        &self,
        id: InviteId,
        secret: &str,
        now: i64,
    ) -> Result<RequestState, CodeError> {
        let mut kept = self.kept();
        let request = kept.requests.get_mut(&id).filter(|request| request.is_live(now));
        let request = request.ok_or(CodeError::Ended)?;
        // Digests of random secrets: the time of a comparison tells nothing.
        if Digest::of(secret.as_bytes()) != request.commitment {
            return Err(CodeError::Ended);
        }
        let OpenRequest { authority, key, nonce, .. } = *request;
        request.seen = now;
        request.shown.get_or_insert_with(|| {
            let comparison = Comparison { authority, key, nonce, secret };
            Shown { words: comparison.words(), answer: comparison.answer() }
        });
        Ok(request.state.clone())
    }

    /// Returns the request with this code. A wrong code counts against the person.
    ///
    /// # Errors
    /// [`CodeError::WrongCode`], [`CodeError::Locked`], or [`CodeError::Decided`].
    pub(super) fn find(
        &self,
        code: EnrollmentCode,
        by: &UserName,
        now: i64,
    ) -> Result<OpenRequest, CodeError> {
        self.kept().open(code, by, now).cloned()
    }

    /// Takes the request with this code and these words, so that nobody else can decide it meanwhile.
    ///
    /// # Errors
    /// As [`CodeRequests::find`], or [`CodeError::OtherWords`], which counts as a wrong code does.
    pub(super) fn claim(
        &self,
        code: EnrollmentCode,
        words: &str,
        by: &UserName,
        now: i64,
    ) -> Result<OpenRequest, CodeError> {
        let mut kept = self.kept();
        let request = kept.open(code, by, now)?;
        if request.shown.as_ref().is_none_or(|shown| shown.words != words) {
            let EnrollmentRequestRecord { request_id, address, .. } = request.record;
            kept.wrong.count(by, now);
            return Err(CodeError::OtherWords { request_id, address });
        }
        request.state = RequestState::Confirming(by.clone());
        Ok(request.clone())
    }

    /// Refuses the request with this code.
    ///
    /// # Errors
    /// As [`CodeRequests::find`].
    pub(super) fn refuse(
        &self,
        code: EnrollmentCode,
        by: &UserName,
        now: i64,
    ) -> Result<OpenRequest, CodeError> {
        let mut kept = self.kept();
        let request = kept.open(code, by, now)?;
        request.state = RequestState::Refused(by.clone());
        Ok(request.clone())
    }

    /// Ends a claim: confirmed until a time, or open again where it could not be stored.
    pub(super) fn settle(&self, id: InviteId, confirmed: Option<(UserName, i64)>) {
        let mut kept = self.kept();
        let Some(request) = kept.requests.get_mut(&id) else { return };
        match confirmed {
            Some((by, until)) => {
                request.state = RequestState::Confirmed(by);
                request.expires_at = until;
            }
            None => request.state = RequestState::Waiting,
        }
    }

    /// Returns the requests that are over, that an admin has found and that nobody decided, and forgets the others
    /// that are over.
    pub(super) fn expired(&self, now: i64) -> Vec<EnrollmentRequestRecord> {
        let mut kept = self.kept();
        kept.requests.retain(|_, it| !it.is_forgotten(now));
        let is_over = |it: &&OpenRequest| it.state == RequestState::Waiting && !it.is_live(now);
        let over = kept.requests.values().filter(is_over);
        over.map(|it| it.record.clone()).collect()
    }
}

impl Kept {
    /// Returns the request that has to go for one of this address, if any.
    fn room(&mut self, source: &Source, now: i64) -> Result<Option<InviteId>, CodeError> {
        self.requests.retain(|_, it| !it.is_forgotten(now));
        let open = || self.requests.values().filter(|it| it.state.is_open() && it.is_live(now));
        let of = |source: &Source| open().filter(|it| it.source == *source).count();
        let own = of(source);
        if own >= MAX_OPEN_FROM_ONE {
            return Err(CodeError::Busy("from this address"));
        }
        if self.requests.len() >= MAX_KEPT {
            return Err(CodeError::Busy("at this backend"));
        }
        if open().count() < MAX_OPEN {
            return Ok(None);
        }
        let unfound = open().filter(|it| it.state == RequestState::Waiting && !it.is_found);
        let counted = unfound.map(|it| (of(&it.source), Reverse(it.requested_at), it));
        let crowded = counted.max_by_key(|(count, oldest, _)| (*count, *oldest));
        match crowded {
            // Nobody loses their place to somebody who would then have as many.
            Some((count, _, it)) if count > own + 1 => Ok(Some(it.record.request_id)),
            Some(_) | None => Err(CodeError::Busy("at this backend")),
        }
    }

    fn open(
        &mut self,
        code: EnrollmentCode,
        by: &UserName,
        now: i64,
    ) -> Result<&mut OpenRequest, CodeError> {
        self.wrong.check(by, now)?;
        let is_it =
            |it: &&mut OpenRequest| it.code == code && it.is_live(now) && it.shown.is_some();
        let Some(request) = self.requests.values_mut().find(is_it) else {
            self.wrong.count(by, now);
            return Err(CodeError::WrongCode);
        };
        match &request.state {
            RequestState::Waiting => Ok(request),
            RequestState::Confirming(other) | RequestState::Confirmed(other) => {
                Err(CodeError::Decided { by: other.clone(), how: "confirmed" })
            }
            RequestState::Refused(other) => {
                Err(CodeError::Decided { by: other.clone(), how: "refused" })
            }
        }
    }
}

#[cfg(test)]
mod tests;
