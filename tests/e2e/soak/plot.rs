//! The readings as a picture.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::reading::Reading;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Line = (&'static str, RGBColor, fn(&Reading) -> f64);

const SIZE: (u32, u32) = (960, 1_080);
const FONT: (&str, i32) = ("sans-serif", 14);
const DARK: RGBColor = RGBColor(0x1f, 0x4e, 0x8c);
const WARM: RGBColor = RGBColor(0xc2, 0x5a, 0x1b);
const GREEN: RGBColor = RGBColor(0x2f, 0x7d, 0x4f);

const PANELS: [(&str, &[Line]); 4] = [
    (
        "resident memory, MiB",
        &[
            ("backend", DARK, |reading| reading.memory),
            ("an agent, on average", WARM, |reading| reading.agent_memory),
        ],
    ),
    (
        "the backend's descriptors, tasks and threads",
        &[
            ("descriptors", DARK, |reading| reading.descriptors),
            ("tasks", WARM, |reading| reading.tasks),
            ("threads", GREEN, |reading| reading.threads),
        ],
    ),
    (
        "an agent's descriptors and threads, on average",
        &[
            ("descriptors", DARK, |reading| reading.agent_descriptors),
            ("threads", GREEN, |reading| reading.agent_threads),
        ],
    ),
    (
        "time of a call, ms",
        &[("p50", DARK, |reading| reading.p50), ("p99", WARM, |reading| reading.p99)],
    ),
];

/// Draws them, one panel above the other, over minutes.
pub(super) fn draw(
    file: &Path,
    readings: &[Reading],
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let root = SVGBackend::new(file, SIZE).into_drawing_area();
    root.fill(&WHITE).map_err(|error| error.to_string())?;
    for (area, (title, lines)) in root.split_evenly((PANELS.len(), 1)).iter().zip(PANELS) {
        panel(area, title, lines, readings).map_err(|error| error.to_string())?;
    }
    root.present().map_err(|error| error.to_string())?;
    Ok(())
}

fn panel<'a>(
    area: &Area<'a>,
    title: &str,
    lines: &[Line],
    readings: &[Reading],
) -> Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>> {
    let minutes = |reading: &Reading| reading.at / 60.0;
    let end = readings.last().map_or(1.0, minutes);
    let values = lines.iter().flat_map(|(_, _, figure)| readings.iter().map(figure));
    let most = values.fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(24)
        .y_label_area_size(52)
        .build_cartesian_2d(0.0..end, 0.0..most * 1.15)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(0xdd, 0xdd, 0xdd))
        .label_style(FONT)
        .x_label_formatter(&|minute| format!("{minute:.0} min"))
        .draw()?;
    for &(name, colour, figure) in lines {
        let points = readings.iter().map(|reading| (minutes(reading), figure(reading)));
        chart
            .draw_series(LineSeries::new(points, colour.stroke_width(2)))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .label_font(FONT)
        .background_style(WHITE.mix(0.8))
        .draw()
}
