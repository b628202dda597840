//! The devices that ask to be enrolled by a code: so many in memory, each for a short time, each decided once.
//! A restart of the backend ends all of them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use orion_domain::id::InviteId;
use orion_domain::{Digest, EnrollmentCode, UserName};
use orion_mtls::{Comparison, Fingerprint};

use super::error::CodeError;
use super::wrong_codes::WrongCodes;
use crate::listen::Source;
use crate::store::EnrollmentRequestRecord;

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
    pub(super) requested_at: i64,
    pub(super) expires_at: i64,
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
    pub(super) fn has_room(&self, source: &Source) -> Result<(), CodeError> {
        self.kept().has_room(source)
    }

    /// Keeps a request, unless there are too many or its code is taken. Returns whether it is kept.
    ///
    /// # Errors
    /// [`CodeError::Busy`].
    pub(super) fn keep(&self, request: OpenRequest) -> Result<bool, CodeError> {
        let mut kept = self.kept();
        kept.has_room(&request.source)?;
        if kept.requests.values().any(|other| other.code == request.code) {
            return Ok(false);
        }
        kept.requests.insert(request.record.request_id, request);
        Ok(true)
    }

    /// Forgets a request: its beginning could not be recorded, or its end was.
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
        let request = kept.requests.get_mut(&id).filter(|request| now < request.expires_at);
        let request = request.ok_or(CodeError::Ended)?;
        // Digests of random secrets: the time of a comparison tells nothing.
        if Digest::of(secret.as_bytes()) != request.commitment {
            return Err(CodeError::Ended);
        }
        let OpenRequest { authority, key, nonce, .. } = *request;
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
        let shown = kept.open(code, by, now)?.shown.as_ref();
        if shown.is_none_or(|shown| shown.words != words) {
            kept.wrong.count(by, now);
            return Err(CodeError::OtherWords);
        }
        let request = kept.open(code, by, now)?;
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

    /// Returns the requests whose time is over and that nobody decided, and forgets those that were decided.
    pub(super) fn expired(&self, now: i64) -> Vec<EnrollmentRequestRecord> {
        let mut kept = self.kept();
        kept.requests.retain(|_, it| now < it.expires_at || it.state.is_open());
        // One that is being confirmed at this moment is settled first.
        let is_over = |it: &&OpenRequest| it.expires_at <= now && it.state == RequestState::Waiting;
        let over = kept.requests.values().filter(is_over);
        over.map(|it| it.record.clone()).collect()
    }
}

impl Kept {
    fn has_room(&self, source: &Source) -> Result<(), CodeError> {
        let open = || self.requests.values().filter(|it| it.state.is_open());
        if open().filter(|it| it.source == *source).count() >= MAX_OPEN_FROM_ONE {
            return Err(CodeError::Busy("from this address"));
        }
        if open().count() >= MAX_OPEN || self.requests.len() >= MAX_KEPT {
            return Err(CodeError::Busy("at this backend"));
        }
        Ok(())
    }

    fn open(
        &mut self,
        code: EnrollmentCode,
        by: &UserName,
        now: i64,
    ) -> Result<&mut OpenRequest, CodeError> {
        self.wrong.check(by, now)?;
        let is_it =
            |it: &&mut OpenRequest| it.code == code && now < it.expires_at && it.shown.is_some();
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
