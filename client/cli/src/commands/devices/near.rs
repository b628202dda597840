//! Suggests device names similar to an unknown one.

use orion_domain::ErrorCode;
use orion_wire::v1;

use crate::client::Client;
use crate::failure::Failure;
use crate::text;

/// The minimum similarity of a suggested name.
const MIN_SIMILARITY: f64 = 0.6;
/// The maximum number of suggested names.
const MAX_SUGGESTIONS: usize = 3;

/// Adds the names of similar devices to a failure that says that there is no such device; returns any
/// other failure unchanged.
pub(super) async fn suggested(client: &Client, failure: Failure, wanted: &str) -> Failure {
    let Failure::Tool(mut error) = failure else { return failure };
    if error.code != ErrorCode::DeviceNotFound {
        return Failure::Tool(error);
    }
    error.message = format!("No device is called `{}`.", text::one_line(wanted, 64));
    let request = v1::ListDevicesRequest { pending_only: false };
    // Without a list, the failure is returned unchanged.
    if let Ok(list) = client.ask(client.devices().list_devices(request)).await {
        let near = nearest(wanted, list.devices.into_iter().map(|device| device.name));
        error = Box::new(error.suggesting(near));
    }
    Failure::Tool(error)
}

/// Returns the names most similar to this one, best first.
fn nearest(wanted: &str, names: impl Iterator<Item = String>) -> Vec<String> {
    // Longer names are near nothing, and the comparison is quadratic.
    if wanted.len() > 64 {
        return Vec::new();
    }
    // Names are in lower case.
    let wanted = wanted.to_lowercase();
    let alike = |name: String| (strsim::normalized_damerau_levenshtein(&wanted, &name), name);
    let mut near: Vec<_> = names.map(alike).filter(|(score, _)| *score > MIN_SIMILARITY).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    near.dedup_by(|a, b| a.1 == b.1);
    near.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name).collect()
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
        assert_eq!(near("KIOSK"), ["kiosk"]);
        assert_eq!(near("zzz"), Vec::<String>::new());
        assert_eq!(nearest("nowhere", ["other".to_owned()].into_iter()), Vec::<String>::new());
        assert_eq!(near(&"k".repeat(100_000)), Vec::<String>::new());
    }
}
