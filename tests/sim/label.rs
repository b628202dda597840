//! Labels of messages for the trace: their kind and their call, and nothing that differs from run to
//! run.

use orion_wire::v1::link_request::Message as FromDevice;
use orion_wire::v1::link_response::Message as ToDevice;
use orion_wire::{call_state_from, v1};

use crate::call::Calls;

/// A message with a label.
pub(crate) trait Reports {
    fn label(&self, calls: &Calls) -> String;

    /// Returns the call of the message, if it has one. Separate tasks send messages about different
    /// calls, so their order within one moment is not determined.
    fn call(&self) -> Option<&str>;
}

impl Reports for v1::LinkRequest {
    fn label(&self, calls: &Calls) -> String {
        let about = self.call().map(|id| calls.name(id)).unwrap_or_default();
        match &self.message {
            None => "nothing".to_owned(),
            Some(FromDevice::Hello(_)) => "hello".to_owned(),
            Some(FromDevice::PolicyAck(_)) => "policy ack".to_owned(),
            Some(FromDevice::CallStarted(_)) => format!("started {about}"),
            Some(FromDevice::CallProgress(_)) => format!("progress {about}"),
            Some(FromDevice::CallOutput(_)) => format!("output {about}"),
            Some(FromDevice::CallResult(result)) => {
                format!("result {about} {}", call_state_from(result.state).unwrap())
            }
            Some(FromDevice::CeilingUpdate(_)) => "ceiling".to_owned(),
            Some(FromDevice::CustomTools(_)) => "custom tools".to_owned(),
            Some(FromDevice::CallsNotSeen(v1::CallsNotSeen { call_ids })) => {
                format!("not seen {}", calls.names(call_ids))
            }
        }
    }

    fn call(&self) -> Option<&str> {
        match self.message.as_ref()? {
            FromDevice::CallStarted(v1::CallStarted { call_id, .. })
            | FromDevice::CallProgress(v1::CallProgress { call_id, .. })
            | FromDevice::CallOutput(v1::CallOutput { call_id, .. })
            | FromDevice::CallResult(v1::CallResult { call_id, .. }) => Some(call_id),
            FromDevice::Hello(_)
            | FromDevice::PolicyAck(_)
            | FromDevice::CeilingUpdate(_)
            | FromDevice::CallsNotSeen(_)
            | FromDevice::CustomTools(_) => None,
        }
    }
}

impl Reports for Result<v1::LinkResponse, tonic::Status> {
    fn label(&self, calls: &Calls) -> String {
        let about = self.call().map(|id| calls.name(id)).unwrap_or_default();
        let message = match self {
            Ok(response) => response.message.as_ref(),
            Err(status) => return format!("refusal {:?}", status.code()),
        };
        match message {
            None => "nothing".to_owned(),
            Some(ToDevice::Welcome(_)) => "welcome".to_owned(),
            Some(ToDevice::PolicyUpdate(_)) => "policy".to_owned(),
            Some(ToDevice::Dispatch(_)) => format!("dispatch {about}"),
            Some(ToDevice::CancelCall(_)) => format!("cancel {about}"),
            Some(ToDevice::ResultAck(_)) => format!("ack {about}"),
            Some(ToDevice::Drain(_)) => "drain".to_owned(),
            Some(ToDevice::CeilingAck(_)) => "ceiling ack".to_owned(),
            Some(ToDevice::RenewCertificate(_)) => "renew".to_owned(),
            Some(ToDevice::CustomToolsRefused(_)) => "tools refused".to_owned(),
            Some(ToDevice::CallQuery(v1::CallQuery { call_ids })) => {
                format!("query {}", calls.names(call_ids))
            }
        }
    }

    fn call(&self) -> Option<&str> {
        match self.as_ref().ok()?.message.as_ref()? {
            ToDevice::Dispatch(v1::Dispatch { call_id, .. })
            | ToDevice::CancelCall(v1::CancelCall { call_id, .. })
            | ToDevice::ResultAck(v1::ResultAck { call_id, .. }) => Some(call_id),
            ToDevice::CallQuery(v1::CallQuery { call_ids }) => match &call_ids[..] {
                [one] => Some(one),
                _ => None,
            },
            ToDevice::Welcome(_)
            | ToDevice::PolicyUpdate(_)
            | ToDevice::Drain(_)
            | ToDevice::CeilingAck(_)
            | ToDevice::RenewCertificate(_)
            | ToDevice::CustomToolsRefused(_) => None,
        }
    }
}
