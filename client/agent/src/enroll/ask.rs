//! The RPCs of an enrolment: the request, and the poll for its decision; and the same for a code.

use std::time::Duration;

use orion_domain::DeviceId;
use orion_domain::id::InviteId;
use orion_mtls::{Fingerprint, PinSet, Refusal};
use orion_wire::v1::enrollment_service_client::EnrollmentServiceClient;
use orion_wire::{tool_error_from, v1};
use tonic::transport::Channel;
use tonic::{Code, Status};

use super::EnrollError;
use crate::connect::dial::{Dialled, dial};
use crate::connect::{ConnectError, printable};

/// Timeout of one RPC.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A backend that matches the token's pins.
pub(super) struct Backend {
    dialled: Dialled,
    client: EnrollmentServiceClient<Channel>,
}

impl Backend {
    /// Dials the addresses in turn until the right backend answers.
    pub(super) async fn reach(addresses: &[String], pins: &PinSet) -> Result<Self, EnrollError> {
        let mut failure = EnrollError::Answer("address");
        for address in addresses {
            match dial(address, orion_mtls::pinned(pins.clone())?).await {
                Ok(dialled) => {
                    let client = EnrollmentServiceClient::new(dialled.channel.clone());
                    return Ok(Self { dialled, client });
                }
                Err(ConnectError::Certificate(refusal)) => {
                    failure = EnrollError::WrongBackend(refusal);
                }
                // A wrong backend is reported rather than an unreachable one.
                Err(error) if !matches!(failure, EnrollError::WrongBackend(_)) => {
                    failure = error.into();
                }
                Err(_) => {}
            }
        }
        Err(failure)
    }

    /// Dials a backend whose authority nobody has vouched for, and returns the authority that it has. Where one is
    /// given, no other is accepted.
    pub(super) async fn meet(
        address: &str,
        authority: Option<Fingerprint>,
    ) -> Result<(Self, Fingerprint), EnrollError> {
        if let Some(authority) = authority {
            let pins = PinSet::new([authority])?;
            return Ok((Self::reach(&[address.to_owned()], &pins).await?, authority));
        }
        let (tls, seen) = orion_mtls::first_seen()?;
        let dialled = match dial(address, tls).await {
            Ok(dialled) => dialled,
            Err(ConnectError::Certificate(refusal)) => {
                return Err(EnrollError::WrongBackend(refusal));
            }
            Err(error) => return Err(error.into()),
        };
        let authority = seen.authority().ok_or(EnrollError::Answer("certificate authority"))?;
        let client = EnrollmentServiceClient::new(dialled.channel.clone());
        Ok((Self { dialled, client }, authority))
    }

    /// Asks for a code.
    pub(super) async fn request(
        &mut self,
        request: v1::RequestEnrollmentRequest,
    ) -> Result<v1::RequestEnrollmentResponse, EnrollError> {
        let answer = tokio::time::timeout(TIMEOUT, self.client.request_enrollment(request)).await;
        if let Ok(Err(status)) = &answer
            && status.code() == Code::Unimplemented
        {
            return Err(EnrollError::NoCodes);
        }
        self.read_answer(answer).map_err(not_asked)
    }

    /// Returns whether an admin confirmed the code.
    pub(super) async fn confirmation(
        &mut self,
        request_id: InviteId,
        secret: &str,
    ) -> Result<v1::ConfirmationState, EnrollError> {
        let request = v1::AwaitConfirmationRequest {
            request_id: request_id.to_string(),
            secret: secret.to_owned(),
        };
        let answer = tokio::time::timeout(TIMEOUT, self.client.await_confirmation(request)).await;
        if let Ok(Err(status)) = &answer
            && status.code() == Code::NotFound
        {
            return Err(EnrollError::CodeEnded);
        }
        let v1::AwaitConfirmationResponse { state } =
            self.read_answer(answer).map_err(not_asked)?;
        v1::ConfirmationState::try_from(state).map_err(|_| EnrollError::Answer("state"))
    }

    pub(super) async fn enroll(
        &mut self,
        request: v1::EnrollRequest,
    ) -> Result<v1::EnrollResponse, EnrollError> {
        let answer = tokio::time::timeout(TIMEOUT, self.client.enroll(request)).await;
        self.read_answer(answer)
    }

    pub(super) async fn decision(
        &mut self,
        device_id: DeviceId,
        ticket: &str,
    ) -> Result<v1::GetEnrollmentResponse, EnrollError> {
        let request = v1::GetEnrollmentRequest {
            device_id: device_id.to_string(),
            ticket: ticket.to_owned(),
        };
        let answer = tokio::time::timeout(TIMEOUT, self.client.get_enrollment(request)).await;
        self.read_answer(answer)
    }

    fn read_answer<T>(
        &self,
        answer: Result<Result<tonic::Response<T>, Status>, tokio::time::error::Elapsed>,
    ) -> Result<T, EnrollError> {
        match answer {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => Err(refused(&status, self.dialled.verdict())),
            Err(_) => {
                let address = self.dialled.address.clone();
                Err(ConnectError::TimedOut { address }.into())
            }
        }
    }
}

/// The error of a request without a token.
fn not_asked(error: EnrollError) -> EnrollError {
    if let EnrollError::Refused(said) = error {
        return EnrollError::NotAsked(said);
    }
    error
}

fn refused(status: &Status, verdict: Option<Refusal>) -> EnrollError {
    if let Some(refusal) = verdict {
        return EnrollError::WrongBackend(refusal);
    }
    let said = || {
        let said = tool_error_from(status).map(|error| error.message);
        let said = printable(&said.unwrap_or_else(|| status.message().to_owned()));
        said.trim_end_matches('.').to_owned()
    };
    match status.code() {
        Code::InvalidArgument
        | Code::NotFound
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::Unauthenticated
        | Code::FailedPrecondition => EnrollError::Refused(said()),
        Code::ResourceExhausted => EnrollError::TooMany(said()),
        Code::Ok
        | Code::Cancelled
        | Code::Unknown
        | Code::DeadlineExceeded
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unimplemented
        | Code::Internal
        | Code::Unavailable
        | Code::DataLoss => ConnectError::from_status(status, None).into(),
    }
}
