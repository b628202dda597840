//! The calls that the planner can make.

use serde_json::{Value, json};

use crate::file_names::is_file;
use crate::plan::{Collection, Placement, Plan, PlannedCall, Step, View};

/// Returns the call that undoes another call.
pub(crate) fn undo(call_id: &str, paths: &[String], device: &str, dry_run: bool) -> PlannedCall {
    let placement = Placement { device: Some(device.to_owned()), dry_run };
    let arguments = vec![("call_id", json!(call_id)), ("paths", json!(paths))];
    PlannedCall { placement, ..planned("undo_call", arguments) }
}

/// Returns a call that may run anywhere.
pub(crate) fn planned(tool: &str, arguments: Vec<(&str, Value)>) -> PlannedCall {
    PlannedCall {
        tool: tool.to_owned(),
        placement: Placement::default(),
        arguments: arguments.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
    }
}

/// Returns the plan of one call.
pub(crate) fn call(tool: &str, arguments: Vec<(&str, Value)>) -> Plan {
    Plan::Run(vec![Step::Call(planned(tool, arguments))], View::Sentences)
}

/// Creates a folder, with its missing parents where the path has several parts.
pub(crate) fn create(path: &str) -> Plan {
    let is_absolute = path.starts_with(['/', '\\', '~']) || path.get(1..2) == Some(":");
    if !is_absolute && path.trim_end_matches(['/', '\\']).contains(['/', '\\']) {
        return nested(path);
    }
    call("create_directory", vec![("path", json!(path))])
}

/// Creates a folder with its missing parents.
pub(crate) fn nested(path: &str) -> Plan {
    call("create_directory", vec![("path", json!(path)), ("parents", json!(true))])
}

/// Creates a folder in an existing one.
pub(crate) fn create_in(parent: &str, name: &str) -> Plan {
    call("create_directory", vec![("path", json!(inside(parent, name)))])
}

/// Lists a folder.
pub(crate) fn list(path: &str) -> Plan {
    call("list_directory", vec![("path", json!(path))])
}

/// Lists a folder recursively.
pub(crate) fn list_deep(path: &str) -> Plan {
    call("list_directory", vec![("path", json!(path)), ("recursive", json!(true))])
}

/// Searches for files by a pattern or by name, below a folder. A name without an extension is a part of names.
pub(crate) fn search(query: &str, path: &str) -> Plan {
    if query.contains(['.', '*', '?', '[', '{']) {
        call("search_files", vec![("query", json!(query)), ("path", json!(path))])
    } else {
        search_part(query, path)
    }
}

/// Searches for files by a part of their names.
pub(crate) fn search_part(part: &str, path: &str) -> Plan {
    call("search_files", vec![("query", json!(format!("*{part}*"))), ("path", json!(path))])
}

/// Searches for folders by a part of their names, near a folder.
pub(crate) fn search_folder(name: &str, base: &str) -> Plan {
    call("search_directory", vec![("name", json!(name)), ("base", json!(base))])
}

/// Searches for lines with these words; characters of regular expressions are escaped.
pub(crate) fn search_text(words: &str, path: &str) -> Plan {
    let mut pattern = String::with_capacity(words.len());
    for letter in words.chars() {
        if letter.is_ascii_punctuation() {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    call("search_text", vec![("pattern", json!(pattern)), ("path", json!(path))])
}

/// Shows the disk usage of every size.
pub(crate) fn analyze(path: &str) -> Plan {
    call("analyze_disk", vec![("path", json!(path)), ("threshold_mb", json!(0))])
}

/// Shows a path's metadata.
pub(crate) fn file_info(path: &str) -> Plan {
    call("get_file_info", vec![("path", json!(path))])
}

/// Shows the metadata of a name in a folder, or of a path that needs none.
pub(crate) fn info_in(name: &str, folder: &str) -> Plan {
    let is_whole = name.starts_with(['/', '\\', '~']) || name.get(1..2) == Some(":");
    if is_whole || name.starts_with(&inside(folder, "")) {
        file_info(name)
    } else {
        file_info(&inside(folder, name))
    }
}

/// Shows the metadata of what has the last name of a path in a folder.
pub(crate) fn info_of_it_in(path: &str, folder: &str) -> Plan {
    file_info(&inside(folder, last_name(path)))
}

/// Shows a path's metadata with the digest of its content.
pub(crate) fn file_hash(path: &str) -> Plan {
    call("get_file_info", vec![("path", json!(path)), ("sha256", json!(true))])
}

/// Reads a configuration file.
pub(crate) fn read_config(path: &str) -> Plan {
    call("read_config", vec![("path", json!(path))])
}

/// Replaces a text in a file.
pub(crate) fn edit(path: &str, old: &str, new: &str) -> Plan {
    call(
        "edit_file",
        vec![("path", json!(path)), ("old_text", json!(old)), ("new_text", json!(new))],
    )
}

/// Copies to a path.
pub(crate) fn copy(source: &str, target: &str) -> Plan {
    moved("copy_path", source, &whole(source, target))
}

/// Copies into a folder.
pub(crate) fn copy_into(source: &str, folder: &str) -> Plan {
    moved("copy_path", source, &inside(folder, last_name(source)))
}

/// Moves to a path.
pub(crate) fn move_to(source: &str, target: &str) -> Plan {
    moved("move_path", source, &whole(source, target))
}

/// Moves into a folder.
pub(crate) fn move_into(source: &str, folder: &str) -> Plan {
    moved("move_path", source, &inside(folder, last_name(source)))
}

/// Renames within the same folder.
pub(crate) fn rename(source: &str, name: &str) -> Plan {
    let folder = source.trim_end_matches(SEPARATORS).rsplit_once(SEPARATORS);
    let target = match folder {
        Some((folder, _)) if !name.contains(SEPARATORS) => inside(folder, name),
        _ => name.to_owned(),
    };
    moved("move_path", source, &target)
}

fn moved(tool: &'static str, source: &str, destination: &str) -> Plan {
    call(tool, vec![("source", json!(source)), ("destination", json!(destination))])
}

/// The separators of a path's names.
const SEPARATORS: [char; 2] = ['/', '\\'];

/// Returns the complete target path. A file's target without an extension is a folder. Where that folder is
/// missing, the call does nothing; the other reading would create a file of that name.
fn whole(source: &str, target: &str) -> String {
    let is_folder = target.ends_with(SEPARATORS)
        || matches!(target, "." | ".." | "~")
        || (is_file(last_name(source)) && !is_file(last_name(target)));
    if is_folder { inside(target, last_name(source)) } else { target.to_owned() }
}

fn last_name(path: &str) -> &str {
    let path = path.trim_end_matches(SEPARATORS);
    path.rsplit_once(SEPARATORS).map_or(path, |(_, name)| name)
}

pub(crate) fn inside(folder: &str, name: &str) -> String {
    let separator = if folder.contains('\\') && !folder.contains('/') { '\\' } else { '/' };
    format!("{}{separator}{name}", folder.trim_end_matches(separator))
}

/// Reads the start of a file.
pub(crate) fn read(path: &str) -> Plan {
    call("read_file", vec![("path", json!(path))])
}

/// Reads the first lines of a file; `count` is the value of a slot.
pub(crate) fn read_lines(path: &str, count: &str) -> Plan {
    let limit: u32 = count.parse().unwrap_or(200);
    call("read_file", vec![("path", json!(path)), ("limit", json!(limit))])
}

/// Replaces a file's content.
pub(crate) fn write(path: &str, content: &str) -> Plan {
    call("write_file", vec![("path", json!(path)), ("content", json!(content))])
}

/// Appends a line to a file, on a line of its own.
pub(crate) fn append_line(path: &str, line: &str) -> Plan {
    let content = format!("{line}\n");
    call(
        "write_file",
        vec![
            ("path", json!(path)),
            ("content", json!(content)),
            ("append", json!(true)),
            ("own_line", json!(true)),
        ],
    )
}

/// Creates a file; an existing file stays unchanged.
pub(crate) fn touch(path: &str) -> Plan {
    call("write_file", vec![("path", json!(path)), ("content", json!("")), ("append", json!(true))])
}

/// Deletes an empty folder. The tool requires `confirm`; a person must approve nonetheless.
pub(crate) fn delete(path: &str) -> Plan {
    call("delete_directory", vec![("path", json!(path)), ("confirm", json!(true))])
}

/// Deletes a folder with its content.
pub(crate) fn delete_all(path: &str) -> Plan {
    call(
        "delete_directory",
        vec![("path", json!(path)), ("recursive", json!(true)), ("confirm", json!(true))],
    )
}

/// Deletes a file.
pub(crate) fn delete_file(path: &str) -> Plan {
    call("delete_file", vec![("path", json!(path)), ("confirm", json!(true))])
}

/// Opens an application.
pub(crate) fn open(app: &str) -> Plan {
    call("open_app", vec![("app", json!(app))])
}

/// Opens an application with a URL.
pub(crate) fn open_at(app: &str, url: &str) -> Plan {
    call("open_app", vec![("app", json!(app)), ("args", json!([url]))])
}

/// Closes an application.
pub(crate) fn close(app: &str) -> Plan {
    call("close_app", vec![("app", json!(app)), ("confirm", json!(true))])
}

/// Shows a device's facts and status.
pub(crate) fn info(sections: &[&str]) -> Plan {
    call("get_device_info", vec![("include", json!(sections))])
}

/// Returns what listens on a port.
pub(crate) fn port(number: &str) -> Plan {
    let port: u16 = number.parse().unwrap_or_default();
    call("check_ports", vec![("ports", json!([port]))])
}

/// Runs a command, in a folder where one is given.
pub(crate) fn command(command: &str, folder: &str) -> Plan {
    let mut arguments = vec![("command", json!(command))];
    if !folder.is_empty() {
        arguments.push(("workdir", json!(folder)));
    }
    arguments.push(("confirm", json!(true)));
    call("execute_command", arguments)
}

/// Counts what is in a folder.
pub(crate) fn count(path: &str, pattern: &str) -> Plan {
    let mut arguments = vec![("path", json!(path))];
    if !pattern.is_empty() {
        arguments.push(("pattern", json!(pattern)));
    }
    Plan::Run(vec![Step::Call(planned("list_directory", arguments))], View::Count)
}

/// Compares two files by their digests.
pub(crate) fn compare(one: &str, other: &str) -> Plan {
    let facts = |path: &str| {
        Step::Call(planned("get_file_info", vec![("path", json!(path)), ("sha256", json!(true))]))
    };
    Plan::Run(vec![facts(one), facts(other)], View::Comparison)
}

/// Copies or moves every file of a kind from one folder into another.
pub(crate) fn each(tool: &'static str, glob: &str, from: &str, to: &str) -> Plan {
    let arguments = vec![("path", json!(from)), ("pattern", json!(glob))];
    let listing = planned("list_directory", arguments);
    let all = Collection { listing, tool, from: from.to_owned(), to: to.to_owned() };
    Plan::Run(vec![Step::ForEach(all)], View::Sentences)
}

impl Collection {
    /// Returns the call for one file of the listing.
    pub(crate) fn call(&self, name: &str) -> PlannedCall {
        let source = if self.from == "." { name.to_owned() } else { inside(&self.from, name) };
        let destination = inside(&self.to, name);
        let arguments = vec![("source", json!(source)), ("destination", json!(destination))];
        PlannedCall { placement: self.listing.placement.clone(), ..planned(self.tool, arguments) }
    }
}
