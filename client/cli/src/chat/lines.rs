//! The source of messages: a line editor on a terminal, standard input elsewhere.

use std::io::IsTerminal as _;

use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};

use orion_domain::Hint;
use orion_wire::v1;

use super::slash::{Names, Slash, help, slash};
use super::typed::Typed;
use super::{ChatAnswer, Session};
use crate::failure::Failure;
use crate::output::{DIM, Output};
use crate::text;

/// The maximum length of a message, in bytes.
const MAX_INPUT_BYTES: u64 = 64 * 1024;

/// What a person can ask for at the prompt that is a command of its own elsewhere.
pub(crate) trait Aside {
    /// Takes back what a turn changed.
    async fn undo(&self, turn: String) -> Result<u8, Failure>;
    /// Shows what allowed or denied a call.
    async fn why(&self, call: v1::Call) -> Result<u8, Failure>;
}

/// Reads messages until there are no more. On a terminal a failed message is shown and the chat
/// continues; elsewhere the last message's exit code is the program's, or `code` where there is none.
///
/// # Errors
/// Standard input or output fails.
pub(crate) async fn converse(
    aside: &impl Aside,
    session: &mut Session<'_>,
    code: u8,
) -> Result<u8, Failure> {
    if std::io::stdin().is_terminal() {
        at_terminal(aside, session).await
    } else {
        from_pipe(session, code).await
    }
}

/// The line editor, with a history that ends with the chat.
type Editor = rustyline::Editor<Typed, DefaultHistory>;

async fn at_terminal(aside: &impl Aside, session: &mut Session<'_>) -> Result<u8, Failure> {
    let out = session.out;
    out.note(&format!("{DIM}/help shows what can be typed here{DIM:#}"));
    let broken =
        |error: &dyn std::fmt::Display| Failure::Failed(format!("the terminal fails: {error}"));
    let mut editor = Editor::new().map_err(|error| broken(&error))?;
    let typed = Typed::completing(names(session).await);
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
        if line.is_empty() {
            continue;
        }
        // A history that cannot be extended must not end the chat.
        let _ = editor.add_history_entry(line);
        let done = match slash(line) {
            Some(Slash::Quit) => return Ok(0),
            Some(command) => obey(aside, session, line, command).await,
            None => said(session, line).await.map(drop),
        };
        match done {
            Ok(()) => {}
            Err(Failure::Interrupted) => out.note("stopped"),
            Err(failure @ Failure::ReaderGone) => return Err(failure),
            Err(failure) => out.failure(&failure),
        }
    }
}

/// Does what a command at the prompt says.
async fn obey(
    aside: &impl Aside,
    session: &mut Session<'_>,
    line: &str,
    command: Slash,
) -> Result<(), Failure> {
    let out = session.out;
    let list = |names: &[String]| {
        out.note(&if names.is_empty() { "there are none".to_owned() } else { names.join("\n") });
    };
    match command {
        Slash::Help => out.note(&help()),
        Slash::New => {
            session.reset();
            out.note("a new conversation");
        }
        Slash::Model(name) if name.is_empty() => list(&names(session).await.models),
        Slash::Assistant(name) if name.is_empty() => list(&names(session).await.assistants),
        Slash::Model(name) => {
            if !names(session).await.models.contains(&name) {
                return Err(Failure::NotFound(format!(
                    "there is no model {name}; /model lists them"
                )));
            }
            out.note(&format!("{name} answers from now on"));
            session.model = name;
        }
        Slash::Assistant(name) => {
            if !names(session).await.assistants.contains(&name) {
                return Err(Failure::NotFound(format!(
                    "there is no assistant {name}; /assistant lists them"
                )));
            }
            session.reset();
            out.note(&format!("a new conversation with {name}"));
            session.assistant = name;
        }
        Slash::Device(name) if name.is_empty() => {
            out.note("no device is added to your messages");
            session.device = name;
        }
        Slash::Device(name) => {
            let client = session.client;
            let request = v1::ListDevicesRequest::default();
            let list = client.ask(client.devices().list_devices(request)).await?;
            if !list.devices.iter().any(|it| it.name == name) {
                let shown = text::one_line(&name, 80);
                return Err(Failure::NotFound(format!("there is no device {shown}"))
                    .hint(Hint::run("list the devices", "orion devices list")));
            }
            out.note(&format!("your messages are about {name}"));
            session.device = name;
        }
        Slash::Undo => match session.last_turn.clone() {
            turn if turn.is_empty() => out.note("nothing was answered here yet"),
            turn => drop(aside.undo(turn).await?),
        },
        Slash::Why => match session.last_call.clone() {
            Some(call) => drop(aside.why(call).await?),
            None => out.note("no call was made here yet"),
        },
        Slash::Quit | Slash::Unknown => {
            out.note(&format!("{line} is not known here; /help shows what is"));
        }
    }
    Ok(())
}

/// Returns the names that commands take. A backend that does not tell them completes none.
async fn names(session: &Session<'_>) -> Names {
    let client = session.client;
    let known = client.ask(client.chat().list_models(v1::ListModelsRequest {})).await;
    let known = known.unwrap_or_default();
    let devices =
        client.ask(client.devices().list_devices(v1::ListDevicesRequest::default())).await;
    Names {
        models: known.models.into_iter().map(|it| it.name).collect(),
        assistants: known.assistants.into_iter().map(|it| it.name).collect(),
        devices: devices.unwrap_or_default().devices.into_iter().map(|it| it.name).collect(),
    }
}

async fn from_pipe(session: &mut Session<'_>, mut code: u8) -> Result<u8, Failure> {
    let mut input = BufReader::new(tokio::io::stdin());
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
            // A word may be the answer to a question.
            line if line.starts_with('/') && slash(line) == Some(Slash::Quit) => return Ok(code),
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
    shown(session, &answer)
}

/// Prints an answer for programs, and returns its exit code.
///
/// # Errors
/// Standard output fails.
pub(crate) fn shown(session: &Session<'_>, answer: &ChatAnswer) -> Result<u8, Failure> {
    let out: &Output = session.out;
    if !out.is_for_people() {
        out.show_one_of_many(answer, String::new)?;
    }
    Ok(answer.exit_code)
}
