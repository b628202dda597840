//! Logs of units of systemd, through `journalctl`.

use orion_catalog::tools::read_logs::LogLine;
use orion_domain::ToolError;
use orion_domain::services::Service;
use serde::Deserialize;
use serde_json::Value;

use super::Wanted;
use super::newest::{Newest, Splitter};
use crate::process::Stream;
use crate::programs::{MAX_TIME, Query, listen};
use crate::sandbox::Network;
use crate::tools::service_managers::{failed, unread};

const MANAGER: &str = "systemd's journal";
const PROGRAM: &str = "journalctl";
/// Where the journal is, and the name of this machine in it.
const JOURNALS: &[&str] = &["/var/log/journal", "/run/log/journal", "/etc/machine-id"];
/// The most lines in which an expression is looked for, the newest ones.
const MAX_SEARCHED: usize = 20_000;

/// Reads the log of a unit. Returns what the journal has to say where it gave nothing.
pub(super) fn read(unit: &Service, wanted: &mut Wanted<'_>) -> Result<String, ToolError> {
    let Wanted { newest, since, memory, context } = wanted;
    // One more than wanted, to know whether there are more.
    let most = if newest.is_filtered() { MAX_SEARCHED } else { newest.max() } + 1;
    let (unit, lines) = (format!("--unit={}", unit.name()), format!("--lines={most}"));
    let since = since.map(|second| format!("--since=@{second}"));
    let mut arguments =
        vec!["--no-pager", "--output=json", "--output-fields=MESSAGE,PRIORITY", &unit, &lines];
    arguments.extend(since.as_deref());
    let query = Query {
        name: PROGRAM,
        arguments: &arguments,
        network: Network::Nothing,
        reads: JOURNALS,
        memory: *memory,
        time: MAX_TIME,
    };
    let (mut splitter, mut read, mut is_read) = (Splitter::default(), 0, true);
    let mut each = |line: &[u8]| {
        // The program says so where there is nothing.
        if !line.is_empty() && !line.starts_with(b"-- ") {
            read += 1;
            is_read &= entry(line, newest).map(|line| newest.push(line)).is_some();
        }
    };
    let answer = listen(context, query, &mut |stream, piece| match stream {
        Stream::Out => splitter.feed(piece, &mut each),
        Stream::Error => {}
    })?;
    splitter.finish(&mut each);
    if !answer.is_ok() {
        return Err(failed(MANAGER, &answer));
    }
    if !is_read && !splitter.is_cut {
        return Err(unread(MANAGER));
    }
    newest.truncated |= splitter.is_cut || read >= most;
    if newest.lines.is_empty() && read == 0 && !answer.complaint.is_empty() {
        return Ok(format!(" {MANAGER} says: {}", answer.complaint));
    }
    Ok(String::new())
}

/// An entry of the journal, as far as it is read.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "__REALTIME_TIMESTAMP")]
    microseconds: String,
    #[serde(rename = "MESSAGE", default)]
    message: Value,
    #[serde(rename = "PRIORITY", default)]
    priority: Value,
}

/// Parses an entry. `None` for anything else.
fn entry(line: &[u8], newest: &mut Newest) -> Option<LogLine> {
    let entry: Entry = serde_json::from_slice(line).ok()?;
    let time = jiff::Timestamp::from_microsecond(entry.microseconds.parse().ok()?).ok()?;
    let text = if entry.message.is_null() {
        // The journal leaves out what is longer than 4,096 bytes.
        newest.truncated = true;
        String::new()
    } else {
        newest.text(&bytes(&entry.message)?)
    };
    let priority = entry.priority.as_str().and_then(|text| text.parse().ok());
    Some(LogLine { time: Some(time.to_string()), priority: priority.filter(|it| *it < 8), text })
}

/// Returns the bytes of a field: it is text, or a list of bytes where it is none, or a list of both where an
/// entry has the field several times, of which the first counts.
fn bytes(field: &Value) -> Option<Vec<u8>> {
    let byte = |it: &Value| u8::try_from(it.as_u64()?).ok();
    match field {
        Value::String(text) => Some(text.clone().into_bytes()),
        Value::Array(items) => match items.first() {
            Some(first @ Value::String(_)) => bytes(first),
            Some(Value::Array(first)) => first.iter().map(byte).collect(),
            Some(_) | None => items.iter().map(byte).collect(),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<(LogLine, bool)> {
        let mut newest = Newest::new(10, None);
        let line = entry(text.as_bytes(), &mut newest)?;
        Some((line, newest.truncated))
    }

    #[test]
    fn messages_come_as_text_as_bytes_and_several_times() {
        let of = |message: &str| {
            let text = format!(
                r#"{{"__CURSOR":"s=1","__REALTIME_TIMESTAMP":"1700000000123456","PRIORITY":"6","MESSAGE":{message}}}"#
            );
            parsed(&text).map(|(line, cut)| (line.text, cut))
        };
        for (message, text) in [
            (r#""started""#, "started"),
            (r#""one\ntwo""#, "one\ntwo"),
            ("[27,91,51,49,109,104,105]", "\u{1b}[31mhi"),
            ("[104,255]", "h\u{fffd}"),
            (r#"["first","second"]"#, "first"),
            ("[[104,105],[111]]", "hi"),
            ("[]", ""),
        ] {
            assert_eq!(of(message), Some((text.to_owned(), false)), "{message}");
        }
        assert_eq!(of("null"), Some((String::new(), true)), "too long for the journal");
        for wrong in ["5", "true", "{}", "[256]", "[-1]", r#"[1,"a"]"#] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn entries_are_read_strictly_with_their_time() {
        let text = r#"{"__REALTIME_TIMESTAMP":"1700000000123456","PRIORITY":"3","MESSAGE":"a"}"#;
        let (line, _) = parsed(text).unwrap();
        assert_eq!(line.time.as_deref(), Some("2023-11-14T22:13:20.123456Z"));
        assert_eq!(line.priority, Some(3));
        for priority in [r#""9""#, r#""err""#, "null", r#"["3"]"#, "3"] {
            let (line, _) = parsed(&text.replace(r#""3""#, priority)).unwrap();
            assert_eq!(line.priority, None, "{priority}");
        }
        for wrong in
            ["", "[]", "{}", r#"{"MESSAGE":"a"}"#, &text.replace("1700000000123456", "now")]
        {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }
}
