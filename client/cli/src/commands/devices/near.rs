//! Names of devices that are near to one that there is not.

use orion_domain::ErrorCode;
use orion_wire::v1;

use crate::client::Client;
use crate::failure::Failure;

/// How alike two names are that may be taken for one another.
const ALIKE: f64 = 0.75;
/// How many names are suggested.
const SUGGESTED: usize = 3;

/// The same failure; where it says that there is no such device, with the names of those whose name
/// is near.
pub(super) async fn suggested(client: &Client, failure: Failure, wanted: &str) -> Failure {
    let Failure::Tool(mut error) = failure else { return failure };
    if error.code != ErrorCode::DeviceNotFound {
        return Failure::Tool(error);
    }
    let request = v1::ListDevicesRequest { pending_only: false };
    // Without a list there is still the failure.
    if let Ok(list) = client.ask(client.devices().list_devices(request)).await {
        error.suggestions = nearest(wanted, list.devices.into_iter().map(|device| device.name));
    }
    Failure::Tool(error)
}

/// The names most like this one, best first.
fn nearest(wanted: &str, names: impl Iterator<Item = String>) -> Vec<String> {
    // Past this length nothing is near, and the comparison is quadratic.
    if wanted.len() > 64 {
        return Vec::new();
    }
    let alike = |name: String| (strsim::jaro_winkler(wanted, &name), name);
    let mut near: Vec<_> = names.map(alike).filter(|(score, _)| *score > ALIKE).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    near.dedup_by(|a, b| a.1 == b.1);
    near.into_iter().take(SUGGESTED).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelled_device_is_near_to_the_right_one() {
        let names = ["laptop-123", "kiosk", "laptop-124", "kiosk"].map(str::to_owned);
        let near = |wanted: &str| nearest(wanted, names.clone().into_iter());
        assert_eq!(near("kisok"), ["kiosk"]);
        assert_eq!(near("laptop-12"), ["laptop-123", "laptop-124"]);
        assert_eq!(near("zzz"), Vec::<String>::new());
        assert_eq!(near(&"k".repeat(100_000)), Vec::<String>::new());
    }
}
