//! The size of the terminal.

/// Returns how many columns the terminal of standard output has. `None` where it is none.
pub(crate) fn columns() -> Option<u16> {
    size().map(|(columns, _)| columns)
}

/// Returns how many lines the terminal of standard output has. `None` where it is none.
pub(crate) fn lines() -> Option<u16> {
    size().map(|(_, lines)| lines)
}

fn size() -> Option<(u16, u16)> {
    #[cfg(unix)]
    {
        let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
        Some((size.ws_col, size.ws_row)).filter(|(columns, lines)| *columns > 0 && *lines > 0)
    }
    #[cfg(not(unix))]
    None
}
