//! What the planner has understood, and the calls that it can make.

use std::fmt;

use serde_json::{Value, json};

/// What to do about a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Plan {
    /// Call a tool.
    Call(PlannedCall),
    /// Say what can be asked.
    Help,
}

/// A call in the making; displayed as the JSON that a model would write.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlannedCall {
    tool: &'static str,
    device: Option<String>,
    arguments: Vec<(&'static str, Value)>,
    dry_run: bool,
}

impl fmt::Display for PlannedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{\"tool\":{}", Value::from(self.tool))?;
        if let Some(device) = &self.device {
            write!(f, ",\"device\":{}", Value::from(device.as_str()))?;
        }
        for (name, value) in &self.arguments {
            write!(f, ",{}:{value}", Value::from(*name))?;
        }
        if self.dry_run {
            f.write_str(",\"dry_run\":true")?;
        }
        f.write_str("}")
    }
}

impl Plan {
    /// The same on a device, and perhaps only as a preview.
    pub(super) fn placed(self, device: Option<String>, dry_run: bool) -> Self {
        match self {
            Self::Call(call) => Self::Call(PlannedCall { device, dry_run, ..call }),
            Self::Help => Self::Help,
        }
    }
}

fn call(tool: &'static str, arguments: Vec<(&'static str, Value)>) -> Plan {
    Plan::Call(PlannedCall { tool, device: None, arguments, dry_run: false })
}

/// A new folder, with those on the way where it lies below others.
pub(super) fn create(path: &str) -> Plan {
    let is_absolute = path.starts_with(['/', '\\', '~']) || path.get(1..2) == Some(":");
    if !is_absolute && path.trim_end_matches(['/', '\\']).contains(['/', '\\']) {
        return nested(path);
    }
    call("create_directory", vec![("path", json!(path))])
}

/// A new folder with those on the way.
pub(super) fn nested(path: &str) -> Plan {
    call("create_directory", vec![("path", json!(path)), ("parents", json!(true))])
}

/// A new folder in one that is there.
pub(super) fn create_in(parent: &str, name: &str) -> Plan {
    let separator = if parent.contains('\\') && !parent.contains('/') { '\\' } else { '/' };
    let path = format!("{}{separator}{name}", parent.trim_end_matches(separator));
    call("create_directory", vec![("path", json!(path))])
}

/// What is in a folder.
pub(super) fn list(path: &str) -> Plan {
    call("list_directory", vec![("path", json!(path))])
}

/// What is in a folder and below.
pub(super) fn list_deep(path: &str) -> Plan {
    call("list_directory", vec![("path", json!(path)), ("recursive", json!(true))])
}

/// Files by their names, from a folder downwards.
pub(super) fn search(query: &str, path: &str) -> Plan {
    call("search_files", vec![("query", json!(query)), ("path", json!(path))])
}

/// Files with a part of their names.
pub(super) fn search_part(part: &str, path: &str) -> Plan {
    search(&format!("*{part}*"), path)
}

/// The start of a file.
pub(super) fn read(path: &str) -> Plan {
    call("read_file", vec![("path", json!(path))])
}

/// The first lines of a file; `count` is one that a slot has read.
pub(super) fn read_lines(path: &str, count: &str) -> Plan {
    let limit: u32 = count.parse().unwrap_or(200);
    call("read_file", vec![("path", json!(path)), ("limit", json!(limit))])
}

/// A whole new content.
pub(super) fn write(path: &str, content: &str) -> Plan {
    call("write_file", vec![("path", json!(path)), ("content", json!(content))])
}

/// More at the end.
pub(super) fn append(path: &str, content: &str) -> Plan {
    call(
        "write_file",
        vec![("path", json!(path)), ("content", json!(content)), ("append", json!(true))],
    )
}

/// A line at the end.
pub(super) fn append_line(path: &str, line: &str) -> Plan {
    append(path, &format!("{line}\n"))
}

/// A file, which is left as it is where it is there already.
pub(super) fn touch(path: &str) -> Plan {
    append(path, "")
}

/// An empty folder away. The tool wants `confirm`, and a person is asked all the same.
pub(super) fn delete(path: &str) -> Plan {
    call("delete_directory", vec![("path", json!(path)), ("confirm", json!(true))])
}

/// A folder away with everything in it.
pub(super) fn delete_all(path: &str) -> Plan {
    call(
        "delete_directory",
        vec![("path", json!(path)), ("recursive", json!(true)), ("confirm", json!(true))],
    )
}

/// An application.
pub(super) fn open(app: &str) -> Plan {
    call("open_app", vec![("app", json!(app))])
}

/// An application with an address.
pub(super) fn open_at(app: &str, url: &str) -> Plan {
    call("open_app", vec![("app", json!(app)), ("args", json!([url]))])
}

/// What a device is and how it fares.
pub(super) fn info(sections: &[&str]) -> Plan {
    call("get_device_info", vec![("include", json!(sections))])
}

/// The date and time by the device's clock.
pub(super) fn clock() -> Plan {
    call("get_datetime", Vec::new())
}

/// The same elsewhere.
pub(super) fn clock_in(zone: &str) -> Plan {
    call("get_datetime", vec![("timezone", json!(zone))])
}
