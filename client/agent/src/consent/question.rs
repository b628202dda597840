//! A question to the person at the device: what would run, complete or said not to be, with nothing hidden.

use orion_domain::look_alike::look_alikes;
use orion_domain::touches::PathTouch;
use orion_domain::{Digest, Observation, Risk, ToolError, Touches, strip_hidden, visible};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::clock::shown;

/// The most characters of one argument that are shown.
const MAX_ARGUMENT: usize = 2_000;
/// The most characters of all arguments that are shown.
const MAX_ARGUMENTS: usize = 16_000;
/// The most paths and programs that are shown.
const MAX_TOUCHES: usize = 64;
/// The most characters of one of them.
const MAX_TOUCH: usize = 1_000;
/// The most lines of a preview that are shown.
const MAX_PREVIEW_LINES: usize = 60;
/// The most characters of one such line.
const MAX_PREVIEW_LINE: usize = 500;
/// The longest line of a shown question, in columns.
const WIDTH: usize = 76;
/// Begins each line of a shown question. No text of a call contains it.
const BAR: char = '▌';

/// What a call would do, and for whom.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) call: &'a str,
    pub(crate) tool: &'a str,
    pub(crate) risk: Risk,
    pub(crate) user: &'a str,
    /// Why the person is asked.
    pub(crate) why: &'a str,
    /// The arguments without secrets.
    pub(crate) arguments: &'a Map<String, Value>,
    /// SHA-256 of the arguments, secrets included.
    pub(crate) digest: Digest,
    pub(crate) touches: &'a Touches,
}

/// A question, as its file has it. Every text is one line without hidden characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Random, so that nobody can make two questions with one digest.
    nonce: Digest,
    /// The call's id.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// The risk of the call.
    pub risk: Risk,
    /// The person that the call is made for.
    pub user: String,
    /// Why the person at the device is asked.
    pub why: String,
    /// The arguments, in order.
    pub arguments: Vec<(String, String)>,
    /// How many characters of the arguments are left out.
    pub arguments_left_out: usize,
    /// SHA-256 of the arguments as they run.
    pub arguments_sha256: Digest,
    /// The paths and programs that the call touches.
    pub touches: Vec<String>,
    /// How many of them are left out.
    pub touches_left_out: usize,
    /// What the preview of the call says.
    pub preview: Vec<String>,
    /// How many lines of it are left out.
    pub preview_left_out: usize,
    /// When it was asked, Unix milliseconds.
    pub asked_at: i64,
    /// When no answer counts as no, Unix milliseconds.
    pub expires_at: i64,
}

impl Question {
    /// Creates the question about a call; `preview` is what its preview says, and `observed` what it saw.
    pub(crate) fn new(
        subject: Subject<'_>,
        preview: &str,
        observed: &[Observation],
        (asked_at, expires_at): (i64, i64),
    ) -> Self {
        let Subject { call, tool, risk, user, why, arguments, digest, touches } = subject;
        let mut left = MAX_ARGUMENTS;
        let mut arguments_left_out = 0;
        let shown_arguments = arguments.iter().map(|(name, value)| {
            let text = value.as_str().map_or_else(|| plain(&value.to_string()), plain);
            let length = text.chars().count();
            let most = left.min(MAX_ARGUMENT);
            left = left.saturating_sub(length);
            arguments_left_out += length.saturating_sub(most);
            (one_line(name, 100), text.chars().take(most).collect())
        });
        let arguments = shown_arguments.collect();
        let named = touches.paths.iter().map(|touch| path(touch, observed));
        let programs = touches.commands.iter().map(|command| {
            format!(
                "runs {} in {}",
                plain(&command.to_string()),
                plain(&command.folder.to_string())
            )
        });
        let named: Vec<String> = named.chain(programs).map(|it| cut(&it, MAX_TOUCH)).collect();
        let touches_left_out = named.len().saturating_sub(MAX_TOUCHES);
        let lines = preview.lines().count();
        Self {
            nonce: Digest::of(&rand::random::<[u8; 32]>()),
            call_id: one_line(call, 64),
            tool: one_line(tool, 64),
            risk,
            user: one_line(user, 64),
            why: one_line(why, 300),
            arguments,
            arguments_left_out,
            arguments_sha256: digest,
            touches: named.into_iter().take(MAX_TOUCHES).collect(),
            touches_left_out,
            preview: preview
                .lines()
                .take(MAX_PREVIEW_LINES)
                .map(|line| cut(line, MAX_PREVIEW_LINE))
                .collect(),
            preview_left_out: lines.saturating_sub(MAX_PREVIEW_LINES),
            asked_at,
            expires_at,
        }
    }

    /// Returns whether everything of the call is shown.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.arguments_left_out == 0 && self.touches_left_out == 0 && self.preview_left_out == 0
    }

    /// Returns the lines that a person reads.
    fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            format!("May {} run on this device? It is of {} risk.", self.tool, self.risk),
            format!("for      {}", self.user),
            format!("asked    because {}", self.why),
        ];
        lines.extend(
            self.arguments.iter().map(|(name, value)| format!("with     {name} = {value}")),
        );
        if self.arguments_left_out > 0 {
            let (more, digest) = (self.arguments_left_out, self.arguments_sha256);
            lines.push(format!(
                "NOT ALL OF THE ARGUMENTS IS SHOWN: {more} characters are left out. SHA-256 of all: {digest}"
            ));
        }
        lines.extend(self.touches.iter().map(|touch| format!("touches  {touch}")));
        if self.touches_left_out > 0 {
            let more = self.touches_left_out;
            lines.push(format!("NOT EVERY PATH IS SHOWN: {more} are left out."));
        }
        lines.extend(self.preview.iter().map(|line| format!("preview  {line}")));
        if self.preview_left_out > 0 {
            let more = self.preview_left_out;
            lines.push(format!("NOT ALL OF THE PREVIEW IS SHOWN: {more} lines are left out."));
        }
        let texts = self.arguments.iter().flat_map(|(name, value)| [name, value]);
        let texts = texts.chain(&self.touches).chain(&self.preview).map(String::as_str);
        lines.extend(look_alikes(texts).into_iter().map(|it| format!("beware   {it}")));
        lines.push(format!("until    {}. No answer is no.", shown(self.expires_at)));
        lines
    }
}

/// A question as a person sees it: framed, so that no text of it can look like another line of it.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a>(pub &'a Question);

impl std::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for line in self.0.lines() {
            let mut columns = 0;
            write!(f, "{BAR} ")?;
            for c in line.chars() {
                let width = if c.is_ascii() { 1 } else { 2 };
                if columns + width > WIDTH {
                    write!(f, "\n{BAR}          ")?;
                    columns = 9;
                }
                columns += width;
                write!(f, "{c}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

fn path(touch: &PathTouch, observed: &[Observation]) -> String {
    let (named, access) = (touch.path.to_string(), touch.access.as_str());
    let seen = observed.iter().find(|seen| seen.path == named);
    match seen {
        Some(seen) if seen.real != named => {
            format!("{access} {}, which leads to {}", plain(&named), plain(&seen.real))
        }
        Some(_) | None => format!("{access} {}", plain(&named)),
    }
}

/// Returns the begin of a text as one line, and says how much is missing.
fn cut(text: &str, most: usize) -> String {
    let text = plain(text);
    let more = text.chars().count().saturating_sub(most);
    let kept: String = text.chars().take(most).collect();
    if more == 0 { kept } else { format!("{kept} … {more} more characters") }
}

/// Returns a text as one line that hides nothing and does not imitate the frame.
pub(crate) fn plain(text: &str) -> String {
    visible(text).chars().map(|c| if is_like_a_bar(c) { '|' } else { c }).collect()
}

const fn is_like_a_bar(c: char) -> bool {
    matches!(c, '\u{2580}'..='\u{259f}' | '\u{2503}' | '\u{2502}' | '\u{275a}' | '\u{1fb70}'..='\u{1fb8b}')
}

fn one_line(text: &str, most: usize) -> String {
    plain(&strip_hidden(text, most))
}

/// Returns the observations to compare when the call runs: what the backend's preview saw where it is given, and what
/// this device saw before the question otherwise.
///
/// # Errors
/// `PRECONDITION_FAILED` where the two differ: then another state was shown to an approver than to this person.
pub(crate) fn to_compare(
    sent: &[Observation],
    seen: Vec<Observation>,
) -> Result<Vec<Observation>, ToolError> {
    for before in sent {
        let now = seen.iter().find(|now| now.path == before.path);
        if let Some(change) = now.and_then(|now| before.drift(now)) {
            return Err(crate::observe::drifted(&before.path, &change));
        }
    }
    let more = seen.into_iter().filter(|seen| !sent.iter().any(|it| it.path == seen.path));
    Ok(sent.iter().cloned().chain(more).collect())
}

#[cfg(test)]
mod tests;
