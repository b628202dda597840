//! The manual pages of a program, made of the same texts as its help.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use clap::Command;

/// Returns the page of a program, in the format that `man -l -` reads.
#[must_use]
pub fn manual_page(line: Command) -> String {
    let mut page = Vec::new();
    // A vector takes everything.
    drop(clap_mangen::Man::new(line).render(&mut page));
    String::from_utf8_lossy(&page).into_owned()
}

/// Writes a page of each command of a program into a folder, and returns how many pages of the program it has.
///
/// # Errors
/// The folder or a page cannot be written.
pub fn write_manual_pages(folder: &Path, line: Command) -> io::Result<usize> {
    std::fs::create_dir_all(folder)?;
    let name = line.get_name().to_owned();
    clap_mangen::generate_to(line.disable_help_subcommand(true), folder)?;
    let is_page = |file: &OsStr| {
        let file = file.to_string_lossy();
        file.strip_prefix(&name).is_some_and(|rest| rest.starts_with(['.', '-']))
    };
    let pages = std::fs::read_dir(folder)?.filter_map(Result::ok);
    Ok(pages.filter(|page| is_page(&page.file_name())).count())
}
