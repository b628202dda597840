//! Changes of devices that a requester who goes away does not cut short.

use tonic::Status;

use super::status;
use crate::fleet::Devices;
use crate::store::StoreError;

/// Makes a change to its end, even if the requester disconnects: what was stored is then also in force.
pub(super) async fn to_its_end<T, F>(
    devices: &Devices,
    change: impl FnOnce(Devices) -> F,
) -> Result<T, Status>
where
    T: Send + 'static,
    F: Future<Output = Result<T, Status>> + Send + 'static,
{
    let work = change(devices.clone());
    let whole = devices.tasks.run_to_completion(async { Ok::<_, StoreError>(work.await) });
    whole.await.map_err(status::store)?
}
