//! What pronouns refer to: the things that calls of this chat were about.

use crate::file_names::is_file;

/// A kind of thing that a pronoun may refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    App,
    Service,
}

/// A thing that a call was about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Referent {
    /// What it is.
    pub(crate) kind: Kind,
    /// Its path or name, as the call has it.
    pub(crate) name: String,
    /// The device that it is on. None for a call of the same message.
    pub(crate) device: Option<String>,
}

/// What pronouns may refer to, the latest last.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Referents(Vec<Referent>);

impl Referents {
    /// Returns the latest thing of these kinds.
    pub(crate) fn latest(&self, kinds: &[Kind]) -> Option<Referent> {
        self.0.iter().rev().find(|it| kinds.contains(&it.kind)).cloned()
    }

    /// Forgets files and folders, so that a pronoun refers to none from before.
    pub(crate) fn forget_paths(&mut self) {
        self.0.retain(|it| !matches!(it.kind, Kind::File | Kind::Folder));
    }

    /// Adds what an undo took back. Of several paths, and of what is gone, none is meant.
    pub(crate) fn add_undone(&mut self, paths: &[&str], is_there: bool, device: Option<String>) {
        match *paths {
            [path] if is_there => {
                self.0.push(Referent { kind: of_path(path), name: path.to_owned(), device })
            }
            _ => self.forget_paths(),
        }
    }

    /// Adds what a call is about.
    pub(crate) fn add(
        &mut self,
        tool: &str,
        device: Option<String>,
        argument: impl Fn(&str) -> String,
    ) {
        let (kind, name) = match tool {
            "create_directory" | "list_directory" | "delete_directory" | "analyze_disk" => {
                (Kind::Folder, argument("path"))
            }
            "read_file" | "write_file" | "edit_file" | "delete_file" | "read_config"
            | "modify_config" => (Kind::File, argument("path")),
            "get_file_info" => (of_path(&argument("path")), argument("path")),
            "move_path" => (of_path(&argument("source")), argument("destination")),
            "calculate" | "get_datetime" => return,
            "open_app" | "close_app" => (Kind::App, argument("app")),
            "check_service" | "check_service_health" | "restart_service" => {
                (Kind::Service, argument("service"))
            }
            "read_logs" => (Kind::Service, argument("unit")),
            // The original or the copy, or which of those found? A pronoun then refers to nothing.
            _ => return self.forget_paths(),
        };
        if !name.is_empty() && name != "." {
            self.0.push(Referent { kind, name, device });
        }
    }
}

fn of_path(path: &str) -> Kind {
    if is_file(path) { Kind::File } else { Kind::Folder }
}
