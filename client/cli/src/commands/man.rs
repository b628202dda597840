//! `orion man`: the manual pages, made of the same texts as the help.

use std::path::PathBuf;

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
            out.bytes(&orion_usage::manual_page(line))?;
            return Ok(0);
        };
        let written = orion_usage::write_manual_pages(&folder, line)
            .map_err(|error| unwritable(&folder.join("orion.1"), &error))?;
        out.note(&format!("{GOOD}✓{GOOD:#} {written} pages in {}", folder.display()));
        Ok(0)
    }
}
