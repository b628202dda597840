//! Turns a sentence that matches into a plan: the meaning of its pattern with the values of its slots.
//!
//! A meaning is a name and arguments, each a slot or a literal. `call TOOL name=value …` is any tool by its own
//! arguments; the other names are those of [`calls`]. `ask QUESTION SLOT MEANING` lacks a slot.

use serde_json::{Value as Json, json};

use crate::calls;
use crate::file_names::{is_archive, is_file};
use crate::filled::Filled;
use crate::plan::{Missing, Placement, Plan, View, Which};
use crate::referents::Kind;
use crate::slots::Value;

/// Returns the plan of a meaning with the values of its slots.
pub(crate) fn plan_of(meaning: &'static str, filled: &Filled) -> Option<Plan> {
    if let Some(rest) = meaning.strip_prefix("ask ") {
        let (question, rest) = rest.split_once(' ')?;
        let (slot, meaning) = rest.split_once(' ')?;
        let (filled, placement) = (filled.clone(), Placement::default());
        return Some(Plan::Ask(Missing { question, slot, meaning, filled, placement }));
    }
    let unknown = filled.values().find(|(_, value)| **value == Value::Unknown);
    if let Some((slot, _)) = unknown {
        let (filled, placement) = (filled.clone(), Placement::default());
        let question = if slot == "it" { "what" } else { "which" };
        return Some(Plan::Ask(Missing { question, slot, meaning, filled, placement }));
    }
    let (name, rest) = meaning.split_once(' ').unwrap_or((meaning, ""));
    let arguments: Vec<String> = match name {
        "call" => Vec::new(),
        _ => rest.split(' ').map(|it| argument(it, filled)).collect::<Option<_>>()?,
    };
    let at = |nth: usize| arguments.get(nth).map(String::as_str).unwrap_or_default();
    let plan = match name {
        "call" => call(rest, filled)?,
        "about" => about(at(0), filled)?,
        "repeat" => {
            Plan::Repeat(Placement::default(), Some(at(0).to_owned()).filter(|it| !it.is_empty()))
        }
        // What the results show anyway.
        "shown" => Plan::Run(Vec::new(), View::Sentences),
        "undo" => Plan::Undo(Placement::default(), Which::Last),
        "undo_earlier" => Plan::Undo(Placement::default(), Which::Before),
        "account" => Plan::Account(Placement::default()),
        "help" => Plan::Help,
        "yes" => Plan::Yes,
        "no" => Plan::No,
        "cannot" => Plan::Cannot(rest),
        "info" if rest == "all" => calls::info(&["system", "cpu", "memory", "disk"]),
        "info" => calls::info(&[rest]),
        "count" => calls::count(at(0), at(1)),
        "compare" => calls::compare(at(0), at(1)),
        "move_each" => calls::each("move_path", at(0), at(1), at(2)),
        "copy_each" => calls::each("copy_path", at(0), at(1), at(2)),
        "command" => calls::command(at(0), at(1)),
        "port" => calls::port(at(0)),
        _ => of_files(name, at(0), at(1), at(2))?,
    };
    let host = filled.get("host").map(|host| host.text().to_owned());
    let device = host.or_else(|| {
        filled.values().find_map(|(_, value)| match value {
            Value::Referent(referent) => referent.device.clone(),
            Value::Text(_) | Value::Unknown => None,
        })
    });
    Some(plan.placed(&Placement { device, dry_run: false }))
}

fn of_files(name: &str, one: &str, two: &str, three: &str) -> Option<Plan> {
    Some(match name {
        // An archive holds no text, and no call puts a file into one.
        "write" | "append_line" if is_archive(one) => return None,
        "write_in" | "copy_into" | "move_into" if is_archive(two) => return None,
        "create" => calls::create(one),
        "nested" => calls::nested(one),
        "create_in" => calls::create_in(one, two),
        "list" => calls::list(one),
        "list_deep" => calls::list_deep(one),
        "search" => calls::search(one, two),
        "search_part" => calls::search_part(one, two),
        "search_folder" => calls::search_folder(one, two),
        "search_text" => calls::search_text(one, two),
        "analyze" => calls::analyze(one),
        "file_info" => calls::file_info(one),
        "info_in" => calls::info_in(one, two),
        "info_of_it_in" => calls::info_of_it_in(one, two),
        "file_hash" => calls::file_hash(one),
        "read_config" => calls::read_config(one),
        "edit" => calls::edit(one, two, three),
        "copy" => calls::copy(one, two),
        "copy_into" => calls::copy_into(one, two),
        "move_to" => calls::move_to(one, two),
        "move_into" => calls::move_into(one, two),
        "rename" => calls::rename(one, two),
        "read" => calls::read(one),
        "read_lines" => calls::read_lines(one, two),
        "write" => calls::write(one, two),
        "write_in" => calls::write(&calls::inside(one, two), three),
        "append_line" => calls::append_line(one, two),
        "touch" => calls::touch(one),
        "touch_in" => calls::touch(&calls::inside(one, two)),
        "delete" => calls::delete(one),
        "delete_all" => calls::delete_all(one),
        "delete_file" => calls::delete_file(one),
        "delete_in" => calls::delete_file(&calls::inside(one, two)),
        "read_in" => calls::read(&calls::inside(one, two)),
        "open" => calls::open(one),
        "open_at" => calls::open_at(one, two),
        "close" => calls::close(one),
        _ => return None,
    })
}

/// Returns an argument: a literal, or the value of a slot. `None` for a slot without a value.
fn argument(word: &str, filled: &Filled) -> Option<String> {
    match word.strip_prefix('<').and_then(|it| it.strip_suffix('>')) {
        Some(slot) => filled.get(slot).map(|value| value.text().to_owned()),
        None => Some(word.to_owned()),
    }
}

/// Returns the call of any tool by its own arguments.
fn call(rest: &'static str, filled: &Filled) -> Option<Plan> {
    let mut words = rest.split(' ');
    let tool = argument(words.next()?, filled)?;
    let arguments = words.map(|word| {
        let (name, value) = word.split_once('=')?;
        let text = argument(value, filled)?;
        // A slot's value is text, also where it looks like another value; a count is a number.
        let value = match value {
            "<count>" => text.parse::<u32>().map_or(Json::Null, |count| json!(count)),
            _ if value.starts_with('<') => json!(text),
            _ => serde_json::from_str(&text).unwrap_or_else(|_| json!(text)),
        };
        Some((name, value))
    });
    Some(calls::call(&tool, arguments.collect::<Option<Vec<_>>>()?))
}

/// Returns the plan for a pronoun by what it refers to.
fn about(verb: &str, filled: &Filled) -> Option<Plan> {
    let value = filled.get("it")?;
    let name = value.text();
    let kind = match value {
        Value::Referent(referent) => referent.kind,
        Value::Text(text) if is_file(text) => Kind::File,
        Value::Text(_) => Kind::Folder,
        Value::Unknown => return None,
    };
    Some(match (verb, kind) {
        ("delete", Kind::File) => calls::delete_file(name),
        ("delete", Kind::Folder) => calls::delete(name),
        ("delete_all", Kind::Folder) => calls::delete_all(name),
        ("open" | "read", Kind::File) => calls::read(name),
        ("open" | "read" | "list", Kind::Folder) => calls::list(name),
        ("open", Kind::App) => calls::open(name),
        ("close", Kind::App) => calls::close(name),
        ("size", Kind::File) => calls::file_info(name),
        ("size", Kind::Folder) => calls::analyze(name),
        ("restart", Kind::Service) => {
            calls::call("restart_service", vec![("service", json!(name)), ("confirm", json!(true))])
        }
        ("status", Kind::Service) => calls::call("check_service", vec![("service", json!(name))]),
        ("logs", Kind::Service) => calls::call("read_logs", vec![("unit", json!(name))]),
        _ => return None,
    })
}

/// Returns whether a line of a phrase file is a meaning that can be planned.
#[cfg(test)]
pub(crate) fn is_known(line: &'static str) -> bool {
    let mut filled = Filled::default();
    for word in line.split([' ', '=']) {
        if let Some(slot) = word.strip_prefix('<').and_then(|it| it.strip_suffix('>')) {
            filled.set(slot, Value::Text("1".to_owned()));
        }
    }
    let is_about = line.starts_with("about ");
    is_about || plan_of(line, &filled).is_some()
}
