//! The folder `tools.d`: read only where nobody but its owner can have written it.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use orion_catalog::custom::Definition;

use super::manifest::parse;
use crate::config::distrust;
use crate::owner_file::open;

/// The most manifests that are read.
const MAX_FILES: usize = 64;
/// The most bytes of a manifest.
const MAX_BYTES: u64 = 64 * 1024;

/// What the folder holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Manifests {
    /// Whether there is a folder.
    pub is_there: bool,
    /// The definitions, by the names of their files.
    pub definitions: Vec<Definition>,
    /// Files that define no tool, each with the reason.
    pub faults: Vec<(PathBuf, String)>,
}

/// Reads every manifest of a folder. A folder that is not there holds none.
#[must_use]
pub fn read(folder: &Path) -> Manifests {
    let mut manifests = Manifests::default();
    let files = match files(folder) {
        Ok(Some(files)) => files,
        Ok(None) => return manifests,
        Err(why) => {
            manifests.is_there = true;
            manifests.faults.push((folder.to_owned(), why));
            return manifests;
        }
    };
    manifests.is_there = true;
    if files.len() > MAX_FILES {
        let why = format!("it holds more than {MAX_FILES} manifests, and only the first are read");
        manifests.faults.push((folder.to_owned(), why));
    }
    for file in files.into_iter().take(MAX_FILES) {
        match text(&file).and_then(|text| parse(&text)) {
            Ok(definition) => manifests.definitions.push(definition),
            Err(why) => manifests.faults.push((file, why)),
        }
    }
    manifests
}

/// Returns the manifests of a folder, sorted. `None` where there is no folder.
fn files(folder: &Path) -> Result<Option<Vec<PathBuf>>, String> {
    let metadata = match fs::symlink_metadata(folder) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.kind().to_string()),
    };
    if !metadata.is_dir() {
        return Err("it is no folder".to_owned());
    }
    if let Some((why, fix)) = distrust(folder, &metadata) {
        return Err(format!("it {why}, so no tool of it counts; {fix}"));
    }
    let entries = fs::read_dir(folder).map_err(|error| error.kind().to_string())?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .take(MAX_FILES + 1)
        .collect();
    files.sort();
    Ok(Some(files))
}

/// Reads the text of a manifest, if only its owner can have written it.
fn text(path: &Path) -> Result<String, String> {
    let failed = |error: io::Error| error.kind().to_string();
    let mut file = open(path).map_err(failed)?;
    // The open file is checked, because another one may have its name by now.
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err("it is no ordinary file".to_owned());
    }
    if metadata.len() > MAX_BYTES {
        return Err(format!("it has more than {MAX_BYTES} bytes"));
    }
    if let Some((why, fix)) = distrust(path, &metadata) {
        return Err(format!("it {why}; {fix}"));
    }
    let mut text = String::new();
    file.by_ref().take(MAX_BYTES).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn manifest(name: &str) -> String {
        format!("name = \"{name}\"\ndescription = \"Greets.\"\nprogram = \"/usr/bin/true\"\n")
    }

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn names(manifests: &Manifests) -> Vec<&str> {
        manifests.definitions.iter().map(|definition| definition.name.as_str()).collect()
    }

    #[test]
    fn only_files_that_nobody_else_can_write_define_tools() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("tools.d");
        assert_eq!(read(&folder), Manifests::default(), "a folder that is not there");
        fs::create_dir(&folder).unwrap();
        mode(&folder, 0o700);
        fs::write(folder.join("b.toml"), manifest("second")).unwrap();
        fs::write(folder.join("a.toml"), manifest("first")).unwrap();
        fs::write(folder.join("notes.txt"), "no manifest").unwrap();
        assert_eq!(names(&read(&folder)), ["first", "second"]);

        mode(&folder.join("a.toml"), 0o666);
        let found = read(&folder);
        assert_eq!(names(&found), ["second"]);
        assert!(found.faults[0].1.contains("everybody"), "{:?}", found.faults);
        mode(&folder.join("a.toml"), 0o644);

        let elsewhere = home.path().join("elsewhere.toml");
        fs::write(&elsewhere, manifest("linked")).unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder.join("c.toml")).unwrap();
        fs::write(folder.join("d.toml"), vec![b'#'; 70_000]).unwrap();
        fs::write(folder.join("e.toml"), "name = 1").unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.join("f.toml"), rustix::fs::Mode::RUSR)
            .unwrap();
        let found = read(&folder);
        assert_eq!(names(&found), ["first", "second"]);
        assert_eq!(found.faults.len(), 4, "{:?}", found.faults);

        mode(&folder, 0o777);
        let found = read(&folder);
        assert_eq!((names(&found).len(), found.faults.len()), (0, 1), "{found:?}");
    }

    #[test]
    fn of_too_many_the_first_count_and_the_rest_is_said() {
        let home = tempfile::tempdir().unwrap();
        mode(home.path(), 0o700);
        for number in 0..70 {
            fs::write(
                home.path().join(format!("{number:02}.toml")),
                manifest(&format!("tool_{number}")),
            )
            .unwrap();
        }
        let found = read(home.path());
        assert_eq!((found.definitions.len(), found.faults.len()), (MAX_FILES, 1));
    }
}
