//! Which processes run on this machine.

/// Returns how many processes have this text in their arguments.
///
/// # Panics
/// The system shows no processes.
#[must_use]
pub fn running(text: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines =
        entries.map(|entry| std::fs::read(entry.path().join("cmdline")).unwrap_or_default());
    lines.filter(|line| String::from_utf8_lossy(line).contains(text)).count()
}
