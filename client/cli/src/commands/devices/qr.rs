//! A QR code in the terminal, two of its rows in one line of text.

use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;

use crate::columns::columns;

/// The QR code of a text. None if the text does not fit into one.
pub(super) fn qr(text: &str) -> Option<String> {
    let code = QrCode::with_error_correction_level(text, qrcode::EcLevel::L).ok()?;
    // Light modules are drawn, as terminals are mostly dark. A scanner reads either.
    let mut image = code.render::<Dense1x2>();
    Some(image.dark_color(Dense1x2::Light).light_color(Dense1x2::Dark).build())
}

/// Returns whether standard output is a terminal in which this QR code fits.
pub(super) fn fits(code: &str) -> bool {
    let width = code.lines().map(|line| line.chars().count()).max().unwrap_or_default();
    columns().is_some_and(|columns| usize::from(columns) >= width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_becomes_a_square_and_what_is_too_long_none() {
        let code = qr("curl -fsSL https://orion.example/install.sh | sh -s -- orion1.x").unwrap();
        let widths: std::collections::BTreeSet<_> =
            code.lines().map(|line| line.chars().count()).collect();
        assert_eq!(widths.len(), 1, "{code}");
        let (width, height) = (*widths.first().unwrap(), code.lines().count());
        assert_eq!(height, width.div_ceil(2), "{code}");
        assert_eq!(qr(&"x".repeat(3000)), None);
    }
}
