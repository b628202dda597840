//! Formats stops: which calls do not run.

use orion_wire::v1;
use serde::Serialize;

use crate::output::{Output, table};
use crate::text;

/// A stop for programs; the comments in `proto/` describe the fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct StopView {
    pub(crate) user: String,
    pub(crate) device: String,
    pub(crate) stopped_by: String,
    pub(crate) stopped_at: i64,
    pub(crate) reason: String,
}

impl From<v1::Stop> for StopView {
    fn from(stop: v1::Stop) -> Self {
        let v1::Stop { user, device, stopped_by, stopped_at, reason } = stop;
        Self { user, device, stopped_by, stopped_at, reason }
    }
}

impl StopView {
    /// Returns the calls that it covers, as the subject of a sentence.
    pub(crate) fn sentence(&self) -> String {
        let whose = match self.user.as_str() {
            "" => "All calls".to_owned(),
            user => format!("The calls of {}", text::one_line(user, 80)),
        };
        match self.device.as_str() {
            "" => format!("{whose} on every device"),
            device => format!("{whose} on {}", text::one_line(device, 80)),
        }
    }
}

/// Formats stops.
pub(crate) fn stops_table(out: &Output, stops: &[StopView]) -> String {
    let row = |stop: &StopView| {
        let or = |text: &str, all: &str| {
            if text.is_empty() { all.to_owned() } else { text::one_line(text, 80) }
        };
        vec![
            or(&stop.user, "everybody"),
            or(&stop.device, "every device"),
            or(&stop.stopped_by, "-"),
            text::when(&out.zone, stop.stopped_at),
            or(&stop.reason, "-"),
        ]
    };
    table(&["CALLS OF", "ON", "STOPPED BY", "SINCE", "REASON"], stops.iter().map(row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global::Format;

    const OUT: Output = Output::in_a_test(Format::Table);

    #[test]
    fn stops_stand_in_a_table() {
        let stop = |user: &str, device: &str, reason: &str| StopView {
            user: user.to_owned(),
            device: device.to_owned(),
            stopped_by: "admin".to_owned(),
            stopped_at: 1_700_000_000_000,
            reason: reason.to_owned(),
        };
        let stops = [stop("", "", "too fast"), stop("ann", "kiosk", "")];
        insta::assert_snapshot!(stops_table(&OUT, &stops), @"
        CALLS OF   ON            STOPPED BY  SINCE                REASON
        everybody  every device  admin       2023-11-14 22:13:20  too fast
        ann        kiosk         admin       2023-11-14 22:13:20  -
        ");
    }
}
