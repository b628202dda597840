//! The Service Control Manager: makes, starts, stops and removes the service of the system.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use windows_service::service::{
    Service, ServiceAccess, ServiceAction, ServiceActionType, ServiceErrorControl,
    ServiceFailureActions, ServiceFailureResetPeriod, ServiceInfo, ServiceStartType, ServiceState,
    ServiceType,
};
use windows_service::service_manager::{ServiceManager, ServiceManagerAccess};

use super::{NAME, RunAs, Unit, failed, process};
use crate::service::ServiceError;

/// The account of the service, which has no password and is no other service's.
const ACCOUNT: &str = r"NT SERVICE\orion-agent";
const SHOWN: &str = "Orion agent";
const DESCRIPTION: &str =
    "Runs tool calls of an Orion backend on this device, as far as its owner allows.";

const ACCESS_DENIED: i32 = 5;
const INVALID_LEVEL: i32 = 124;
const NO_SUCH_SERVICE: i32 = 1060;
const CANNOT_ACCEPT: i32 = 1061;
const NOT_ACTIVE: i32 = 1062;
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long the service may take to start, to stop, or to be forgotten.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How long Windows waits before it starts the service again.
const RESTART_DELAY: Duration = Duration::from_secs(5);
/// After this time without a failure, failures are counted from the beginning.
const RESET_AFTER: Duration = Duration::from_hours(1);

/// The Service Control Manager, for changes.
pub struct Control(ServiceManager);

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Control").finish()
    }
}

/// A service that was put in place.
#[derive(Debug)]
pub(in super::super) struct Placed {
    is_new: bool,
}

impl Control {
    pub(super) fn open() -> Result<Self, ServiceError> {
        let access = ServiceManagerAccess::CONNECT | ServiceManagerAccess::CREATE_SERVICE;
        match ServiceManager::local_computer(None::<&str>, access) {
            Ok(manager) => Ok(Self(manager)),
            Err(error) if code_of(&error) == Some(ACCESS_DENIED) => Err(ServiceError::NeedsRoot),
            Err(error) => {
                Err(failed("the Service Control Manager does not answer")(message_of(&error)))
            }
        }
    }

    /// Returns the service. None if there is none.
    pub(super) fn service(&self) -> Result<Option<Service>, ServiceError> {
        match self.0.open_service(NAME, ServiceAccess::ALL_ACCESS) {
            Ok(service) => Ok(Some(service)),
            Err(error) if code_of(&error) == Some(NO_SUCH_SERVICE) => Ok(None),
            Err(error) => {
                Err(failed("the service orion-agent cannot be opened")(message_of(&error)))
            }
        }
    }

    pub(super) fn place(&self, unit: &Unit) -> Result<Placed, ServiceError> {
        let cannot = |error| failed("the service orion-agent cannot be made")(message_of(&error));
        let info = ServiceInfo {
            name: OsString::from(NAME),
            display_name: OsString::from(SHOWN),
            service_type: ServiceType::OWN_PROCESS,
            start_type: ServiceStartType::AutoStart,
            error_control: ServiceErrorControl::Normal,
            executable_path: unit.program.clone(),
            launch_arguments: unit.run(RunAs::Service).into_iter().map(OsString::from).collect(),
            dependencies: Vec::new(),
            account_name: Some(OsString::from(ACCOUNT)),
            account_password: None,
        };
        let earlier = self.service()?;
        let is_new = earlier.is_none();
        let service = match earlier {
            Some(service) => service.change_config(&info).map(|()| service),
            None => self.0.create_service(&info, ServiceAccess::ALL_ACCESS),
        };
        let service = service.map_err(cannot)?;
        let restart =
            ServiceAction { action_type: ServiceActionType::Restart, delay: RESTART_DELAY };
        let actions = ServiceFailureActions {
            reset_period: ServiceFailureResetPeriod::After(RESET_AFTER),
            reboot_msg: None,
            command: None,
            actions: Some(vec![restart; 3]),
        };
        let described = service.set_description(DESCRIPTION).and_then(|()| {
            let restarts = service
                .update_failure_actions(actions)
                .and_then(|()| service.set_failure_actions_on_non_crash_failures(true));
            // Wine's manager knows nothing of failures; a service without restarts is better there than none.
            restarts.or_else(|error| {
                if code_of(&error) == Some(INVALID_LEVEL) { Ok(()) } else { Err(error) }
            })
        });
        if let Err(error) = described {
            if is_new {
                // The first error is the one to report.
                drop(service.delete());
            }
            return Err(cannot(error));
        }
        Ok(Placed { is_new })
    }

    /// Removes the service, unless there was one before: that has the same program and account.
    pub(super) async fn undo(&self, placed: Placed) -> Result<(), ServiceError> {
        if placed.is_new { self.remove().await.map(drop) } else { Ok(()) }
    }

    pub(super) async fn start(&self) -> Result<(), ServiceError> {
        let cannot = |why: String| failed("the service orion-agent does not start")(why);
        let Some(service) = self.service()? else {
            return Err(cannot("it is not there".to_owned()));
        };
        service.start::<&str>(&[]).map_err(|error| cannot(message_of(&error)))?;
        let until = Instant::now() + TIMEOUT;
        loop {
            let status = service.query_status().map_err(|error| cannot(message_of(&error)))?;
            if status.current_state == ServiceState::Running {
                return Ok(());
            }
            if status.current_state == ServiceState::Stopped || Instant::now() >= until {
                let why = "it ended or takes too long; `orion-agent run` says why";
                return Err(cannot(why.to_owned()));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Stops the service, if it runs, and waits for its process.
    pub(super) async fn stop(&self) -> Result<(), ServiceError> {
        let cannot =
            |error| failed("the service orion-agent cannot be stopped")(message_of(&error));
        let Some(service) = self.service()? else { return Ok(()) };
        let pid = service.query_status().map_err(cannot)?.process_id;
        let until = Instant::now() + TIMEOUT;
        loop {
            match service.stop().map_err(|error| (code_of(&error), error)) {
                Ok(_) | Err((Some(NOT_ACTIVE), _)) => break,
                // It starts or stops just now.
                Err((Some(CANNOT_ACCEPT), _)) if Instant::now() < until => {
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
                Err((_, error)) => return Err(cannot(error)),
            }
        }
        match pid {
            Some(pid) if !process::is_gone(pid, TIMEOUT).await => {
                Err(ServiceError::NotStopped { pid })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Removes the service, and waits until Windows has forgotten it. Returns whether there was one.
    pub(super) async fn remove(&self) -> Result<bool, ServiceError> {
        let cannot = |why: String| failed("the service orion-agent cannot be removed")(why);
        let Some(service) = self.service()? else { return Ok(false) };
        service.delete().map_err(|error| cannot(message_of(&error)))?;
        drop(service);
        let until = Instant::now() + TIMEOUT;
        // An open window of services keeps its name.
        while self.0.open_service(NAME, ServiceAccess::QUERY_STATUS).is_ok() {
            if Instant::now() >= until {
                let why = "another program has it open, such as the window of services; close it";
                return Err(cannot(why.to_owned()));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(true)
    }
}

fn code_of(error: &windows_service::Error) -> Option<i32> {
    if let windows_service::Error::Winapi(error) = error { error.raw_os_error() } else { None }
}

/// Returns the error as Windows tells it.
fn message_of(error: &windows_service::Error) -> String {
    if let windows_service::Error::Winapi(error) = error {
        error.to_string()
    } else {
        error.to_string()
    }
}
