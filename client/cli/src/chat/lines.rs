//! The source of messages: a line editor on a terminal, standard input elsewhere.

use std::io::IsTerminal as _;

use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};

use super::Session;
use super::typed::Typed;
use crate::failure::Failure;
use crate::output::{DIM, Output};

/// The maximum length of a message, in bytes.
const MAX_INPUT_BYTES: u64 = 64 * 1024;

const HELP: &str = "\
Say what you want done, in your own words. Beside that:
  /new    begin a new conversation
  /help   show this
  /quit   end; so do Ctrl-D, and Ctrl-C twice on an empty line
Ctrl-C clears what is typed. During an answer it stops the answer and its calls.";

/// Reads messages until there are no more. On a terminal a failed message is shown and the chat
/// continues; elsewhere the last message's exit code is the program's.
///
/// # Errors
/// Standard input or output fails.
pub(crate) async fn converse(session: &mut Session<'_>) -> Result<u8, Failure> {
    if std::io::stdin().is_terminal() {
        at_terminal(session).await
    } else {
        from_pipe(session).await
    }
}

/// The line editor, with a history that ends with the chat.
type Editor = rustyline::Editor<Typed, DefaultHistory>;

async fn at_terminal(session: &mut Session<'_>) -> Result<u8, Failure> {
    let out = session.out;
    out.note(&format!("{DIM}/help shows what can be typed here{DIM:#}"));
    let broken =
        |error: &dyn std::fmt::Display| Failure::Failed(format!("the terminal fails: {error}"));
    let mut editor = Editor::new().map_err(|error| broken(&error))?;
    let typed = Typed::default();
    editor.set_helper(Some(typed.clone()));
    // Whether the line before was an empty one with Ctrl-C.
    let mut is_leaving = false;
    loop {
        typed.clear();
        // The editor blocks on input, so it runs on its own thread and is handed back.
        let reading = tokio::task::spawn_blocking(move || {
            let line = editor.readline("› ");
            (editor, line)
        });
        let (back, line) = reading.await.map_err(|error| broken(&error))?;
        editor = back;
        let line = match line {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) if !typed.is_empty() => {
                is_leaving = false;
                continue;
            }
            Err(ReadlineError::Interrupted) if !is_leaving => {
                is_leaving = true;
                out.note("Ctrl-C once more ends the chat");
                continue;
            }
            Err(ReadlineError::Eof | ReadlineError::Interrupted) => return Ok(0),
            Err(error) => return Err(broken(&error)),
        };
        is_leaving = false;
        let line = line.trim();
        match line {
            "" => continue,
            "/quit" | "/exit" => return Ok(0),
            "/help" => {
                out.note(HELP);
                continue;
            }
            "/new" => {
                session.reset();
                out.note("a new conversation");
                continue;
            }
            _ if line.starts_with('/') => {
                out.note(&format!("{line} is not known here; /help shows what is"));
                continue;
            }
            _ => {}
        }
        // A history that cannot be extended must not end the chat.
        let _ = editor.add_history_entry(line);
        match said(session, line).await {
            Ok(_) => {}
            Err(Failure::Interrupted) => out.note("stopped"),
            Err(failure @ Failure::ReaderGone) => return Err(failure),
            Err(failure) => out.failure(&failure),
        }
    }
}

async fn from_pipe(session: &mut Session<'_>) -> Result<u8, Failure> {
    let mut input = BufReader::new(tokio::io::stdin());
    let mut code = 0;
    loop {
        let mut line = Vec::new();
        let mut bounded = (&mut input).take(MAX_INPUT_BYTES + 1);
        let read = tokio::select! {
            read = bounded.read_until(b'\n', &mut line) => read,
            _ = tokio::signal::ctrl_c() => return Err(Failure::Interrupted),
        };
        let read = read
            .map_err(|error| Failure::Failed(format!("standard input cannot be read: {error}")))?;
        if read == 0 {
            return Ok(code);
        }
        if line.len() > usize::try_from(MAX_INPUT_BYTES).unwrap_or(usize::MAX) {
            return Err(Failure::Usage(format!(
                "a message is longer than {MAX_INPUT_BYTES} bytes"
            )));
        }
        let line = String::from_utf8(line)
            .map_err(|_| Failure::Usage("a message is not text in UTF-8".to_owned()))?;
        match line.trim() {
            "" => {}
            "/quit" | "/exit" => return Ok(code),
            message => code = said(session, message).await?,
        }
    }
}

/// Sends one message, prints the answer for programs, and returns the exit code.
///
/// # Errors
/// As [`Session::say`].
pub(crate) async fn said(session: &mut Session<'_>, message: &str) -> Result<u8, Failure> {
    let answer = session.say(message).await?;
    let out: &Output = session.out;
    if !out.is_for_people() {
        out.show_one_of_many(&answer, String::new)?;
    }
    Ok(answer.exit_code)
}
