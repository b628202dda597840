//! The program that the Service Control Manager has started: says when it runs, and stops when it is told to.

use std::ffi::OsString;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windows_service::service::{
    ServiceControl, ServiceControlAccept, ServiceExitCode, ServiceState, ServiceStatus, ServiceType,
};
use windows_service::service_control_handler::{self, ServiceControlHandlerResult};
use windows_service::{define_windows_service, service_dispatcher};

use super::{NAME, failed};
use crate::service::ServiceError;

/// How long the agent may take to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// What the service does until it is stopped. Returns its exit code.
type Work = Box<dyn FnOnce(CancellationToken) -> u8 + Send>;

/// Windows calls a function without arguments of ours.
static WORK: Mutex<Option<Work>> = Mutex::new(None);

define_windows_service!(service_entry, service_main);

/// Does the work of the service until the Service Control Manager stops it.
///
/// # Errors
/// This program was not started by the Service Control Manager.
pub fn serve(
    work: impl FnOnce(CancellationToken) -> u8 + Send + 'static,
) -> Result<(), ServiceError> {
    *WORK.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(work));
    let what = "the Service Control Manager did not start this program";
    service_dispatcher::start(NAME, service_entry).map_err(failed(what))
}

fn service_main(_: Vec<OsString>) {
    let Some(work) = WORK.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
    let shutdown = CancellationToken::new();
    let stopping = shutdown.clone();
    let handle = service_control_handler::register(NAME, move |control| {
        if matches!(control, ServiceControl::Stop | ServiceControl::Shutdown) {
            stopping.cancel();
        } else if control != ServiceControl::Interrogate {
            return ServiceControlHandlerResult::NotImplemented;
        }
        ServiceControlHandlerResult::NoError
    });
    let Ok(handle) = handle else { return };
    // What cannot be said to the manager is seen by it: it watches the process.
    drop(handle.set_service_status(status(ServiceState::Running, 0)));
    let code = work(shutdown);
    drop(handle.set_service_status(status(ServiceState::Stopped, code)));
}

fn status(state: ServiceState, code: u8) -> ServiceStatus {
    let accepted = if state == ServiceState::Running {
        ServiceControlAccept::STOP | ServiceControlAccept::SHUTDOWN
    } else {
        ServiceControlAccept::empty()
    };
    ServiceStatus {
        service_type: ServiceType::OWN_PROCESS,
        current_state: state,
        controls_accepted: accepted,
        exit_code: match code {
            0 => ServiceExitCode::NO_ERROR,
            code => ServiceExitCode::ServiceSpecific(u32::from(code)),
        },
        checkpoint: 0,
        wait_hint: STOP_TIMEOUT,
        process_id: None,
    }
}
