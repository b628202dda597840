//! Logs of containers, through the command line of Docker or Podman.

use jiff::Timestamp;
use orion_catalog::tools::read_logs::LogLine;
use orion_domain::services::Service;
use orion_domain::{ErrorCode, ToolError};

use super::Wanted;
use super::newest::{Newest, Splitter};
use crate::process::Stream;
use crate::programs::{MAX_TIME, Query, listen};
use crate::sandbox::Network;
use crate::tools::service_managers::containers::{Engine, installed, is_not_found, names};
use crate::tools::service_managers::failed;

/// The most lines of a container in which an expression is looked for, the newest ones.
const MAX_SEARCHED: usize = 20_000;

/// Reads the log of a container, or of all containers of a compose service.
pub(super) fn read(service: &Service, wanted: &mut Wanted<'_>) -> Result<(), ToolError> {
    let engine = installed(wanted.context)?;
    let missing = || {
        let message = format!("There is no service {service} on this device.");
        ToolError::new(ErrorCode::ExecutionFailed, message)
    };
    let names = names(engine, service, wanted.context)?.ok_or_else(missing)?;
    for name in &names {
        let streams = read_one(engine, name, wanted)?.ok_or_else(missing)?;
        // What a container writes to its two streams comes in two, and each container comes alone.
        let mut merged = wanted.newest.empty();
        let of_others = std::mem::take(&mut wanted.newest.lines);
        let mut lines: Vec<_> = of_others
            .into_iter()
            .chain(streams.into_iter().flat_map(|it| it.newest.lines))
            .collect();
        lines.sort_by_cached_key(|line| line.time.as_deref().and_then(at));
        lines.into_iter().for_each(|line| merged.push(line));
        merged.truncated |= wanted.newest.truncated;
        wanted.newest = merged;
    }
    Ok(())
}

/// Reads the newest lines of a container by stream. `None` if there is no such container.
fn read_one(
    engine: Engine,
    name: &str,
    wanted: &mut Wanted<'_>,
) -> Result<Option<[Lines; 2]>, ToolError> {
    let Wanted { newest, since, memory, context } = wanted;
    let most = if newest.is_filtered() { MAX_SEARCHED } else { newest.max() } + 1;
    let (tail, since) = (most.to_string(), since.map(|second| second.to_string()));
    let (program, first) = engine.program();
    let mut arguments = first.to_vec();
    arguments.extend(["container", "logs", "--timestamps", "--tail", &tail]);
    arguments.extend(since.iter().flat_map(|since| ["--since", since]));
    arguments.extend(["--", name]);
    let query = Query {
        name: program,
        arguments: &arguments,
        network: Network::Services,
        reads: &[],
        memory: *memory,
        time: MAX_TIME,
    };
    let mut streams = [Lines::of(newest), Lines::of(newest)];
    let answer = listen(context, query, &mut |stream, piece| {
        let [out, error] = &mut streams;
        match stream {
            Stream::Out => out.feed(piece),
            Stream::Error => error.feed(piece),
        }
    })?;
    streams.iter_mut().for_each(Lines::finish);
    if !answer.is_ok() && is_not_found(&answer) {
        return Ok(None);
    }
    if !answer.is_ok() {
        return Err(failed(engine.title(), &answer));
    }
    let read: usize = streams.iter().map(|lines| lines.read).sum();
    let is_cut = streams.iter().any(|it| it.splitter.is_cut || it.newest.truncated);
    newest.truncated |= read >= most || is_cut;
    Ok(Some(streams))
}

/// The newest lines of one stream.
struct Lines {
    splitter: Splitter,
    newest: Newest,
    read: usize,
}

impl Lines {
    fn of(newest: &Newest) -> Self {
        Self { splitter: Splitter::default(), newest: newest.empty(), read: 0 }
    }

    fn feed(&mut self, piece: &[u8]) {
        let Self { splitter, newest, read } = self;
        splitter.feed(piece, &mut |line| *read += usize::from(take(line, newest)));
    }

    fn finish(&mut self) {
        let Self { splitter, newest, read } = self;
        splitter.finish(&mut |line| *read += usize::from(take(line, newest)));
    }
}

/// Takes a line that begins with its time. Anything else is what the program itself says, and not of the log.
fn take(line: &[u8], newest: &mut Newest) -> bool {
    let end = line.iter().position(|&byte| byte == b' ').unwrap_or(line.len());
    let (time, text) = line.split_at_checked(end).unwrap_or((line, &[]));
    let Some(time) = std::str::from_utf8(time).ok().and_then(at) else { return false };
    let text = newest.text(text.strip_prefix(b" ").unwrap_or(text));
    newest.push(LogLine { time: Some(time.to_string()), priority: None, text });
    true
}

fn at(time: &str) -> Option<Timestamp> {
    time.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_begins_with_its_time_and_what_the_program_says_does_not_count() {
        let mut newest = Newest::new(10, None);
        for (line, is_taken) in [
            ("2023-11-14T22:13:20.123456789Z started  now", true),
            ("2023-11-14T22:13:21+01:00 ", true),
            ("2023-11-14T22:13:22Z", true),
            (
                "Error response from daemon: configured logging driver does not support reading",
                false,
            ),
            ("", false),
        ] {
            assert_eq!(take(line.as_bytes(), &mut newest), is_taken, "{line}");
        }
        let lines: Vec<_> =
            newest.lines.into_iter().map(|it| (it.time.unwrap(), it.text)).collect();
        let expected = [
            ("2023-11-14T22:13:20.123456789Z", "started  now"),
            ("2023-11-14T21:13:21Z", ""),
            ("2023-11-14T22:13:22Z", ""),
        ];
        assert_eq!(lines, expected.map(|(time, text)| (time.to_owned(), text.to_owned())));
    }
}
