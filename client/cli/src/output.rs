//! Writes data to standard output in the requested format, and everything else to standard error.
//! `anstream` handles colours, `NO_COLOR` and terminals.

mod pager;

use std::io::{self, Write as _};

use clap::Command;
use clap::builder::styling::{AnsiColor, Style};
use comfy_table::presets::NOTHING;
use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width};
use jiff::tz::TimeZone;
use orion_domain::{Hint, is_hidden};
use orion_usage::GivenOptions;
use serde::Serialize;

use crate::columns::columns;
use crate::failure::{Failure, Report};
use crate::global::{Format, Global};
use crate::text;

/// The colour of failures.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// The colour of successes.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// The colour of what needs a person's attention.
pub(crate) const ASKS: Style = AnsiColor::Yellow.on_default().bold();
/// The colour of what to do.
const HINT: Style = AnsiColor::Cyan.on_default();
/// The colour of secondary information.
pub(crate) const DIM: Style = Style::new().dimmed();

/// The streams and format of the output.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    /// The format of data.
    pub(crate) format: Format,
    /// Whether only data and errors are printed.
    pub(crate) quiet: bool,
    /// Whether details are printed.
    pub(crate) verbose: bool,
    /// Whether what is longer than the terminal is shown in a pager.
    pub(crate) pages: bool,
    /// The time zone of printed times.
    pub(crate) zone: TimeZone,
    /// The options that say which backend is meant, and as whom.
    pub(crate) options: GivenOptions,
}

impl Output {
    /// Creates the output that the command line requests.
    pub(crate) fn new(global: &Global, commands: &Command) -> Self {
        Self {
            format: global.output,
            quiet: global.quiet,
            verbose: global.verbose,
            pages: false,
            zone: TimeZone::system(),
            options: global.options(commands),
        }
    }

    /// Returns the output that unit tests look at.
    #[cfg(test)]
    pub(crate) const fn in_a_test(format: Format) -> Self {
        let options = GivenOptions::none();
        Self { format, quiet: false, verbose: false, pages: false, zone: TimeZone::UTC, options }
    }

    /// Returns whether data is formatted for people.
    pub(crate) const fn is_for_people(&self) -> bool {
        matches!(self.format, Format::Table | Format::Wide)
    }

    /// Returns whether every column is printed.
    pub(crate) const fn is_wide(&self) -> bool {
        matches!(self.format, Format::Wide)
    }

    /// Writes data at once, without a line break after it. Hidden characters are made visible for people
    /// and programs.
    ///
    /// # Errors
    /// The reader closed the output, or the disk is full.
    pub(crate) fn data(&self, text: &str) -> Result<(), Failure> {
        match self.format {
            Format::Table | Format::Wide => self.bytes(&text::netted(text)),
            Format::Json => self.bytes(&text::escaped_json(text)),
            Format::Yaml => self.bytes(text),
        }
    }

    /// Writes data byte for byte: signed data, and data for programs.
    ///
    /// # Errors
    /// As [`Output::data`].
    pub(crate) fn bytes(&self, text: &str) -> Result<(), Failure> {
        let mut out = anstream::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::ReaderGone),
            Err(error) => Err(Failure::Failed(format!("the output cannot be written: {error}"))),
        }
    }

    /// Writes data with a line break after it.
    ///
    /// # Errors
    /// As [`Output::data`].
    pub(crate) fn line(&self, text: &str) -> Result<(), Failure> {
        self.data(&format!("{text}\n"))
    }

    /// Writes a value: as `people` formats it, or as JSON or YAML.
    ///
    /// # Errors
    /// As [`Output::data`].
    pub(crate) fn show<T: Serialize>(
        &self,
        value: &T,
        people: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        match self.format {
            Format::Table | Format::Wide => match people() {
                text if text.is_empty() => Ok(()),
                text if self.pages => match text::netted(&format!("{text}\n")) {
                    text if pager::page(&text) => Ok(()),
                    text => self.bytes(&text),
                },
                text => self.line(&text),
            },
            Format::Json => self.line(&to_json(value)?),
            Format::Yaml => self.data(&format!("---\n{}", to_yaml(value)?)),
        }
    }

    /// Writes one value of a stream: a line of JSON, a YAML document, or as `people` formats it.
    ///
    /// # Errors
    /// As [`Output::data`].
    pub(crate) fn show_one_of_many<T: Serialize>(
        &self,
        value: &T,
        people: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        match self.format {
            Format::Json => {
                self.line(&serde_json::to_string(value).map_err(|error| unprintable(&error))?)
            }
            Format::Table | Format::Wide => match people() {
                text if text.is_empty() => Ok(()),
                text => self.line(&text),
            },
            Format::Yaml => self.show(value, people),
        }
    }

    /// Writes a note for people, which is not data.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            self.error_line(text);
        }
    }

    /// Writes a note that names a command, with the options that were given. The rest of it is the program's own text.
    pub(crate) fn next(&self, text: &str) {
        self.note(&self.options.add_to(text));
    }

    /// Writes a detail, only with `--verbose`.
    pub(crate) fn detail(&self, text: &str) {
        if self.verbose {
            self.error_line(&format!("{DIM}{text}{DIM:#}"));
        }
    }

    /// Writes a line to standard error in every format. An error of the write is ignored.
    pub(crate) fn error_line(&self, text: &str) {
        let _ = writeln!(anstream::stderr().lock(), "{}", text::netted(text));
    }

    /// Writes why the command failed.
    pub(crate) fn failure(&self, failure: &Failure) {
        match (self.format, failure) {
            (_, Failure::ReaderGone) => {}
            (Format::Json, _) => {
                self.error_line(&text::escaped_json(&format!("{:#}", failure.to_json())))
            }
            (Format::Table | Format::Wide | Format::Yaml, _) => {
                self.report(&failure.report(&self.zone, &self.options))
            }
        }
    }

    /// Writes a failure for people: the error, its facts, and each hint on a line of its own.
    pub(crate) fn report(&self, report: &Report) {
        self.lines(&format!("{BAD}error:{BAD:#} {}", report.message), report);
    }

    /// Writes what a call waits for, which is not a failure: as [`Output::report`], without `error:`.
    pub(crate) fn waits(&self, report: &Report) {
        self.lines(&report.message, report);
    }

    /// Writes what to do next, in every format.
    pub(crate) fn step(&self, hint: &Hint) {
        let hint = self.options.add_to(&hint.to_string());
        self.error_line(&format!("{HINT}hint:{HINT:#} {hint}"));
    }

    fn lines(&self, first: &str, Report { message: _, facts, hints }: &Report) {
        self.error_line(first);
        facts.iter().for_each(|fact| self.error_line(&format!("  {fact}")));
        hints.iter().for_each(|hint| self.error_line(&format!("{HINT}hint:{HINT:#} {hint}")));
    }
}

fn unprintable(error: &dyn std::fmt::Display) -> Failure {
    Failure::Failed(format!("the answer cannot be printed: {error}"))
}

fn to_json<T: Serialize>(value: &T) -> Result<String, Failure> {
    serde_json::to_string_pretty(value).map_err(|error| unprintable(&error))
}

/// Formats YAML, with a line break at its end.
///
/// # Errors
/// The value cannot be expressed in YAML.
pub(crate) fn to_yaml<T: Serialize>(value: &T) -> Result<String, Failure> {
    let text = serde_yaml_ng::to_string(value).map_err(|error| unprintable(&error))?;
    if !text.chars().any(|c| is_hidden(c) && c != '\n') {
        return Ok(text);
    }
    // Plain YAML texts cannot be escaped; JSON can, and is YAML as well.
    Ok(format!("{}\n", text::escaped_json(&to_json(value)?)))
}

/// Formats rows under headings, without lines between them. Cells are made safe to print. A table that is wider
/// than the terminal has cells of several lines.
pub(crate) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    table_within(columns(), header, rows)
}

/// Formats rows in a width, where one is given. No word is broken: a table of long words is wider.
fn table_within(
    width: Option<u16>,
    header: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    const PADDING: u16 = 2;
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(header.to_vec());
    let longest_word = |text: &str| text.split(' ').map(|word| word.chars().count()).max();
    let mut words: Vec<_> = header.iter().map(|cell| longest_word(cell).unwrap_or(0)).collect();
    for row in rows {
        let row: Vec<_> = row.iter().map(|cell| text::one_line(cell, 2000)).collect();
        for (longest, cell) in words.iter_mut().zip(&row) {
            *longest = (*longest).max(longest_word(cell).unwrap_or(0));
        }
        table.add_row(row);
    }
    if table.is_empty() {
        return String::new();
    }
    table.column_iter_mut().for_each(|column| {
        column.set_padding((0, PADDING));
    });
    let shown = table.trim_fmt();
    let is_wider =
        |width: &u16| shown.lines().any(|line| line.chars().count() > usize::from(*width));
    let Some(width) = width.filter(is_wider) else { return shown };
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    for (column, longest) in table.column_iter_mut().zip(words) {
        let least = u16::try_from(longest).unwrap_or(u16::MAX).saturating_add(PADDING);
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
    }
    table.trim_fmt()
}

/// Formats names and values, one pair a line.
pub(crate) fn facts<'a>(facts: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let facts: Vec<_> = facts.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    let width = facts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let lines: Vec<_> = facts
        .iter()
        .map(|(name, value)| {
            let value = text::plain(value).replace('\n', &format!("\n{:width$}  ", ""));
            format!("{:width$}  {}", text::one_line(name, 80), value.trim_end())
        })
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_stands_in_columns_and_obeys_nothing() {
        let rows = [
            vec!["a".to_owned(), "x\x1b[1m".to_owned()],
            vec!["long-name".to_owned(), "y".to_owned()],
        ];
        assert_eq!(
            table(&["NAME", "WHAT"], rows),
            "NAME       WHAT\na          x\u{fffd}[1m\nlong-name  y"
        );
        assert_eq!(table(&["NAME"], []), "");
    }

    #[test]
    fn a_table_fits_a_terminal_and_breaks_no_word() {
        let row =
            ["0199b2c4-7f3e-7c11", "2023-11-14 22:13:20", "read /home/ann/notes.txt on laptop"];
        let rows = || [row.map(str::to_owned).to_vec()];
        let shown = table_within(Some(60), &["ID", "AT", "WHAT"], rows());
        assert!(shown.lines().count() > 2, "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= 60), "{shown}");
        let words: Vec<_> = shown.split_whitespace().collect();
        assert!(
            row.iter().flat_map(|cell| cell.split(' ')).all(|it| words.contains(&it)),
            "{shown}"
        );
        // Words that are longer than the terminal stay whole.
        let narrow = table_within(Some(10), &["ID", "AT", "WHAT"], rows());
        assert!(narrow.contains("0199b2c4-7f3e-7c11"), "{narrow}");
        assert_eq!(table_within(None, &["ID"], [vec!["a b".to_owned()]]), "ID\na b");
    }

    #[test]
    fn facts_stand_below_one_another_and_empty_ones_are_left_out() {
        let text = facts([
            ("name", "demo".to_owned()),
            ("none", String::new()),
            ("fingerprint", "a\nb".to_owned()),
        ]);
        assert_eq!(text, "name         demo\nfingerprint  a\n             b");
    }
}
