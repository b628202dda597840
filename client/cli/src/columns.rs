//! The width of the terminal.

/// Returns how many columns the terminal of standard output has. `None` where it is none.
pub(crate) fn columns() -> Option<u16> {
    #[cfg(unix)]
    {
        let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
        Some(size.ws_col).filter(|columns| *columns > 0)
    }
    #[cfg(not(unix))]
    None
}
