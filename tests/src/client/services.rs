//! Clients of further services.

use orion_wire::v1;

use super::{Client, Signed};

impl Client {
    /// Returns `InsightService`.
    #[must_use]
    pub fn insights(&self) -> v1::insight_service_client::InsightServiceClient<Signed> {
        v1::insight_service_client::InsightServiceClient::new(self.signed())
    }

    /// Returns `ScheduleService`.
    #[must_use]
    pub fn schedules(&self) -> v1::schedule_service_client::ScheduleServiceClient<Signed> {
        v1::schedule_service_client::ScheduleServiceClient::new(self.signed())
    }

    /// Returns `MacroService`.
    #[must_use]
    pub fn macros(&self) -> v1::macro_service_client::MacroServiceClient<Signed> {
        v1::macro_service_client::MacroServiceClient::new(self.signed())
    }
}
