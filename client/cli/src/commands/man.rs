//! `orion man`: the manual pages, made of the same texts as the help.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};

use crate::failure::Failure;
use crate::input::unwritable;
use crate::output::{GOOD, Output};

/// Writes the manual pages.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion man | man -l -                                  read the page of `orion`
  orion man ~/.local/share/man/man1                     a page for each command, for `man orion-devices-list`")]
pub(crate) struct Man {
    /// The folder for a page of each command; without one, the page of `orion` is printed
    #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    folder: Option<PathBuf>,
}

impl Man {
    /// Runs the command, for this command line.
    ///
    /// # Errors
    /// The folder or the output cannot be written.
    pub(crate) fn run(self, out: &Output, line: clap::Command) -> Result<u8, Failure> {
        let Some(folder) = self.folder else {
            let mut page = Vec::new();
            // A vector takes everything.
            let _ = clap_mangen::Man::new(line).render(&mut page);
            out.bytes(&String::from_utf8_lossy(&page))?;
            return Ok(0);
        };
        let written =
            write(&folder, line).map_err(|error| unwritable(&folder.join("orion.1"), &error))?;
        out.note(&format!("{GOOD}✓{GOOD:#} {written} pages in {}", folder.display()));
        Ok(0)
    }
}

/// Writes a page of each command of a command line, and returns how many pages the folder has.
pub(crate) fn write(folder: &Path, line: clap::Command) -> std::io::Result<usize> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(line.disable_help_subcommand(true), folder)?;
    let pages = std::fs::read_dir(folder)?.filter_map(Result::ok);
    let is_page = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("orion");
    Ok(pages.filter(|page| is_page(&page.file_name())).count())
}
