//! Copies a folder: lists it, makes its folders, and copies one file after the other. Links and special files are left
//! out and named.

use std::fs;
use std::path::Path;

use orion_catalog::tools::list_directory::{Entry, EntryKind};
use orion_domain::Hint;
use orion_wire::v1;
use serde::Deserialize;
use serde_json::{Value, json};

use super::copied::{CopiedFolder, Copy, LeftOut};
use super::place::Place;
use super::{Copying, succeeded};
use crate::call_result::CallResult;
use crate::client::within;
use crate::failure::Failure;
use crate::text;

/// The most entries of one folder that is copied.
const MAX_ENTRIES: usize = 10_000;
/// The longest time of one listing, or of one new folder.
const CALL_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(60);

/// What a device lists, as far as it is used here: a device of another version may tell more or less beside it.
#[derive(Debug, Deserialize)]
struct Listed {
    path: String,
    entries: Vec<Entry>,
    truncated: bool,
}

/// What is below a folder: names from the folder down.
#[derive(Debug, Default)]
struct Listing {
    folders: Vec<Vec<String>>,
    files: Vec<Vec<String>>,
    left_out: Vec<LeftOut>,
}

impl Copying<'_> {
    /// Copies a folder, and returns the exit code.
    pub(super) async fn folder(&self, source: &Place, destination: &Place) -> Result<u8, Failure> {
        let listing = match source {
            Place::Here(path) => listed_here(path)?,
            Place::There { device, path } => self.listed_there(device, path).await?,
        };
        self.make_folder(destination).await?;
        for names in &listing.folders {
            refuse_links(destination, names)?;
            self.make_folder(&destination.join(&refs(names))).await?;
        }
        let (mut files, mut code) = (Vec::new(), 0);
        for names in &listing.files {
            let (from, to) = (source.join(&refs(names)), destination.join(&refs(names)));
            let copied = match refuse_links(destination, names) {
                Ok(()) => self.one(&from, &to).await,
                Err(failure) => Err(failure),
            };
            let copy = match copied {
                Ok(result) => {
                    if code == 0 {
                        code = result.exit_code();
                    }
                    Copy::of(&from, &to, &result)
                }
                Err(Failure::Interrupted) => return Err(Failure::Interrupted),
                Err(failure) => {
                    if code == 0 {
                        code = failure.exit_code();
                    }
                    Copy::failed(&from, &to, failure.to_string())
                }
            };
            self.say(&copy, &names.join("/"));
            files.push(copy);
        }
        let folder = CopiedFolder {
            source: source.shown(),
            destination: destination.shown(),
            bytes: files.iter().map(|copy| copy.size_bytes).sum(),
            failed: files.iter().filter(|copy| !copy.copied).count(),
            files,
            left_out: listing.left_out,
        };
        self.app.out.show(&folder, || summary(&folder))?;
        Ok(code)
    }

    fn say(&self, copy: &Copy, path: &str) {
        if !self.app.out.is_for_people() {
            return;
        }
        let path = text::one_line(path, 200);
        match &copy.error {
            None => self.app.out.note(&format!("copied {path}")),
            Some(error) => {
                self.app
                    .out
                    .error_line(&format!("not copied: {path}: {}", text::one_line(error, 400)));
            }
        }
    }

    /// Makes a folder, unless it is there.
    async fn make_folder(&self, place: &Place) -> Result<(), Failure> {
        match place {
            Place::Here(path) => fs::create_dir_all(path).map_err(|error| {
                let shown = text::one_line(&path.display().to_string(), 200);
                Failure::Failed(format!("the folder {shown} cannot be made: {error}"))
            }),
            Place::There { device, path } => {
                let arguments = json!({"path": path, "parents": true});
                self.call(device, "create_directory", &arguments).await.map(drop)
            }
        }
    }

    async fn listed_there(&self, device: &str, path: &str) -> Result<Listing, Failure> {
        let arguments = json!({"path": path, "recursive": true, "max_results": MAX_ENTRIES});
        let data = self.call(device, "list_directory", &arguments).await?;
        let Listed { path: root, entries, truncated } = serde_json::from_value(data)
            .map_err(|error| Failure::Failed(format!("the listing cannot be read: {error}")))?;
        if truncated {
            return Err(too_many());
        }
        let mut listing = Listing::default();
        for Entry { path, kind, .. } in entries {
            let Some(names) = below(&root, &path) else {
                listing.left_out.push(LeftOut { path, why: "its path cannot be written here" });
                continue;
            };
            match kind {
                EntryKind::Directory => listing.folders.push(names),
                EntryKind::File => listing.files.push(names),
                EntryKind::Link => {
                    listing.left_out.push(LeftOut { path: names.join("/"), why: "it is a link" });
                }
                EntryKind::Other => listing
                    .left_out
                    .push(LeftOut { path: names.join("/"), why: "it is no regular file" }),
            }
        }
        Ok(listing)
    }

    /// Makes a call that moves no content, and returns its data.
    async fn call(&self, device: &str, tool: &str, arguments: &Value) -> Result<Value, Failure> {
        let request = v1::CallToolRequest {
            tool: tool.to_owned(),
            device: device.to_owned(),
            arguments: arguments.to_string().into_bytes().into(),
            ..v1::CallToolRequest::default()
        };
        let called = within(CALL_TIMEOUT, self.client.tools().call_tool(request)).await?;
        let result = CallResult::of(called.call.unwrap_or_default())?;
        if succeeded(&result) {
            return Ok(result.envelope.data.unwrap_or_default());
        }
        Err(match result.envelope.error {
            Some(error) => Failure::Tool(Box::new(error)),
            None => Failure::Failed(format!("{tool} on {device} failed")),
        })
    }
}

fn listed_here(root: &Path) -> Result<Listing, Failure> {
    let shown = |path: &Path| text::one_line(&path.display().to_string(), 200);
    if !root.is_dir() {
        return Err(Failure::NotFound(format!("{} is no folder", shown(root)))
            .hint(Hint::new("leave out -r to copy a file")));
    }
    let mut listing = Listing::default();
    let mut open = vec![(root.to_owned(), Vec::<String>::new())];
    while let Some((folder, above)) = open.pop() {
        let unread = |error: std::io::Error| {
            Failure::Failed(format!("{} cannot be read: {error}", shown(&folder)))
        };
        for entry in fs::read_dir(&folder).map_err(unread)? {
            let entry = entry.map_err(unread)?;
            let Ok(name) = entry.file_name().into_string() else {
                let path = entry.path().display().to_string();
                listing.left_out.push(LeftOut { path, why: "its name is no text" });
                continue;
            };
            let names: Vec<String> = above.iter().cloned().chain([name]).collect();
            let kind = entry.file_type().map_err(unread)?;
            if kind.is_dir() {
                open.push((entry.path(), names.clone()));
                listing.folders.push(names);
            } else if kind.is_file() {
                listing.files.push(names);
            } else {
                let why = if kind.is_symlink() { "it is a link" } else { "it is no regular file" };
                listing.left_out.push(LeftOut { path: names.join("/"), why });
            }
            if listing.files.len() + listing.folders.len() > MAX_ENTRIES {
                return Err(too_many());
            }
        }
    }
    listing.folders.sort();
    listing.files.sort();
    Ok(listing)
}

/// Refuses names that lead through a link here: it could lead out of the folder that the person named.
fn refuse_links(destination: &Place, names: &[String]) -> Result<(), Failure> {
    let Place::Here(folder) = destination else { return Ok(()) };
    let mut step = folder.clone();
    for name in names {
        step.push(name);
        if fs::symlink_metadata(&step).is_ok_and(|found| found.file_type().is_symlink()) {
            let shown = text::one_line(&step.display().to_string(), 200);
            return Err(Failure::Conflict(format!("{shown} is a link, which is not followed"))
                .hint("copy to another folder"));
        }
    }
    Ok(())
}

/// Returns the names of a path below a folder of a device. None for a path that is not below it, or that would mean
/// another place here: what a device says of names is not trusted.
fn below(root: &str, path: &str) -> Option<Vec<String>> {
    let rest = path.strip_prefix(root.trim_end_matches(['/', '\\']))?;
    let separators: &[char] = if root.contains('/') { &['/'] } else { &['/', '\\'] };
    let rest = rest.strip_prefix(separators)?;
    let names: Vec<String> = rest.split(separators).map(str::to_owned).collect();
    let is_name = |name: &String| {
        let is_drive = cfg!(windows) && name.contains(':');
        let is_other = ["", ".", ".."].contains(&name.as_str());
        !is_drive && !is_other && !name.contains(['\0', '/', '\\'])
    };
    names.iter().all(is_name).then_some(names)
}

fn refs(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

fn too_many() -> Failure {
    Failure::Usage(format!("the folder has more than {MAX_ENTRIES} entries"))
        .hint("copy its folders one by one")
}

fn summary(folder: &CopiedFolder) -> String {
    let copied = folder.files.len() - folder.failed;
    let mut lines = vec![format!(
        "{}, {}, in {}",
        text::counted(copied as u64, "file", "files"),
        text::counted(folder.bytes, "byte", "bytes"),
        text::one_line(&folder.destination, 200)
    )];
    if folder.failed > 0 {
        lines.push(format!("{} not copied", folder.failed));
    }
    for LeftOut { path, why } in &folder.left_out {
        lines.push(format!("left out: {}: {why}", text::one_line(path, 200)));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_here_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("plain")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/", folder.path().join("link")).unwrap();
        let place = Place::Here(folder.path().to_owned());
        let names = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
        assert!(refuse_links(&place, &names("plain/new/file")).is_ok());
        #[cfg(unix)]
        for path in ["link", "link/tmp", "link/tmp/file"] {
            assert!(refuse_links(&place, &names(path)).is_err(), "{path}");
        }
    }

    #[test]
    fn a_name_of_a_device_leads_to_no_other_place() {
        let names = |path: &str| below("/home/ann/files", path);
        assert_eq!(names("/home/ann/files/a/b c").unwrap(), ["a", "b c"]);
        for path in ["/home/ann/files/../x", "/home/ann/files2/x", "/etc/passwd", "/home/ann/files"]
        {
            assert_eq!(names(path), None, "{path}");
        }
        for path in ["/home/ann/files//x", "/home/ann/files/a/./b", "/home/ann/files/a\\b"] {
            assert_eq!(names(path), None, "{path}");
        }
        let drive = below(r"C:\Users\ann", r"C:\Users\ann\a\b");
        assert_eq!(drive.unwrap(), ["a", "b"]);
    }

    #[test]
    fn links_and_special_files_are_left_out_and_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        fs::write(folder.path().join("sub/file"), "x").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc", folder.path().join("link")).unwrap();
        let listing = listed_here(folder.path()).unwrap();
        assert_eq!(listing.files, [["sub", "file"]]);
        assert_eq!(listing.folders, [["sub"]]);
        #[cfg(unix)]
        assert_eq!((listing.left_out.len(), listing.left_out[0].path.as_str()), (1, "link"));
    }
}
