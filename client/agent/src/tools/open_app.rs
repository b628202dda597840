//! Executes `open_app`.

use std::path::PathBuf;

use orion_catalog::tools::open_app::{ArgumentKind, Arguments, OpenApp, Returns, argument_kind};
use orion_domain::{Access, Actor, ErrorCode, Hint, ToolError};

use super::{AppContext, AppTool, Context, Outcome, invalid, nearby};
use crate::apps::{App, Takes, desktop_is_seen};
use crate::roots::{FileKind, Located, Wanted, refused};

const MAX_ARGUMENTS: usize = 16;
const MAX_URL_BYTES: usize = 2048;

impl AppTool for OpenApp {
    fn run(arguments: Arguments, context: &AppContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        let app = context.apps.get(&arguments.app)?;
        refuse_unsafe(app, &arguments.app, context)?;
        if arguments.args.len() > MAX_ARGUMENTS {
            return Err(invalid(format!("open_app takes at most {MAX_ARGUMENTS} arguments.")));
        }
        let given = arguments
            .args
            .iter()
            .map(|text| argument(app, &arguments.app, text, context))
            .collect::<Result<Vec<_>, _>>()?;
        let (given, folder) = place(app, &arguments.app, given, context)?;
        let executable = app.executable.display().to_string();
        let name = arguments.app;
        if context.dry_run {
            let message = format!("Would open {name} ({executable}).");
            return Ok(Outcome::new(message, Returns { pid: None, app: name, executable }));
        }
        context.check()?;
        let pid = Some(context.apps.start(app, &given, &folder)?);
        Ok(Outcome::new(format!("Opened {name}."), Returns { pid, app: name, executable }))
    }
}

/// Refuses a program that Orion found if a call could have changed it, or if there is no desktop. Accepts any
/// program that the owner chose.
fn refuse_unsafe(app: &App, name: &str, context: &Context<'_>) -> Result<(), ToolError> {
    if app.by_owner {
        return Ok(());
    }
    if context.roots.may_change(&app.executable) {
        return Err(ToolError::new(
            ErrorCode::PathNotAllowed,
            format!(
                "The program behind {name} is in a path that may be written to through Orion, so it is not started."
            ),
        ).hint(Hint::run("bind it under [apps]", "agent.toml on the device").by(Actor::Owner))
        .with("rule", "device: apps"));
    }
    if !desktop_is_seen() {
        return Err(ToolError::new(
            ErrorCode::NotSupported,
            format!("The agent sees no desktop to show {name} on."),
        )
        .hint(
            Hint::new("run the agent as a service of the person who is logged in").by(Actor::Owner),
        ));
    }
    Ok(())
}

/// Returns an argument for the program: a URL as given, a path as resolved.
fn argument(app: &App, name: &str, text: &str, context: &Context<'_>) -> Result<String, ToolError> {
    match argument_kind(text) {
        ArgumentKind::Option => Err(invalid(format!(
            "Options are not passed to {name}; give addresses and paths only."
        ))),
        ArgumentKind::Url if app.takes != Takes::Anything => {
            Err(invalid(format!("{name} opens folders, not addresses.")))
        }
        ArgumentKind::Url => url(text),
        ArgumentKind::Path => {
            let located = context.locate(text, Access::Read)?;
            existing(located, app, name, context)
        }
    }
}

fn url(text: &str) -> Result<String, ToolError> {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    if !matches!(scheme.as_deref(), Some("http" | "https")) {
        return Err(ToolError::new(
            ErrorCode::UrlForbidden,
            "Only http and https addresses may be opened.",
        ));
    }
    if text.len() > MAX_URL_BYTES || text.chars().any(|it| it.is_control() || it.is_whitespace()) {
        return Err(invalid(format!(
            "An address has at most {MAX_URL_BYTES} bytes and no spaces or control characters."
        )));
    }
    Ok(text.to_owned())
}

fn existing(
    located: Located,
    app: &App,
    name: &str,
    context: &Context<'_>,
) -> Result<String, ToolError> {
    let real = match (located.is_folder(), located.found, located.name()) {
        (true, _, _) => located.real.clone(),
        (false, None, _) => {
            let error = Wanted::Path.missing(&located.asked);
            return Err(nearby::suggest(error, &located, context));
        }
        (false, Some(FileKind::File), Some(name)) if app.takes == Takes::Anything => {
            located.real.join(name).map_err(|_| Wanted::Path.missing(&located.asked))?
        }
        (false, Some(FileKind::File), Some(_)) => {
            return Err(invalid(format!("{name} opens folders, and {} is a file.", located.asked)));
        }
        (false, Some(FileKind::Special), Some(_)) => {
            return Err(ToolError::new(
                ErrorCode::NotSupported,
                format!("{} is a FIFO, a socket or a device, and is not opened.", located.asked),
            ));
        }
        (false, Some(_), _) => return Err(located.no_folder()),
    };
    // The grant may apply to a link elsewhere, so the resolved path must be granted as well.
    if !context.roots.grants(&real, Access::Read) {
        return Err(refused(
            &located.asked,
            format!("{} really lies outside the allowed paths.", located.asked),
            "device: links",
        ));
    }
    Ok(real.to_string())
}

/// Returns the program's arguments, and the folder that it starts in.
fn place(
    app: &App,
    name: &str,
    given: Vec<String>,
    context: &Context<'_>,
) -> Result<(Vec<String>, PathBuf), ToolError> {
    let known = |path: &Option<orion_domain::DevicePath>| path.as_ref().map(ToString::to_string);
    let here = known(&context.places.workspace);
    let home = known(&context.places.home).map(PathBuf::from).filter(|home| home.is_dir());
    let home = home.unwrap_or_else(|| PathBuf::from(if cfg!(windows) { "C:/" } else { "/" }));
    match (app.takes, given.as_slice()) {
        (Takes::Folders, []) => Ok((here.into_iter().collect(), home)),
        (Takes::Anything | Takes::Folders, _) => Ok((given, home)),
        (Takes::StartFolder, []) => Ok((Vec::new(), home)),
        (Takes::StartFolder, [folder]) => Ok((Vec::new(), PathBuf::from(folder))),
        (Takes::StartFolder, _) => {
            Err(invalid(format!("{name} takes one folder to start in, and nothing else.")))
        }
    }
}

#[cfg(test)]
mod tests;
