//! Where examples run: a home of one's own with a working directory in it, beside a world.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use orion_tests::{PATIENCE, program};

use super::disk::Watched;
use super::sheet::Sheet;

/// Programs that would reach another machine or a desktop. They run here what they are given.
const STANDINS: [(&str, &str); 2] = [
    ("ssh", "#!/bin/sh\nshift\nORION_AGENT_STATE=\"$SCRATCH/over-ssh\" exec \"$@\"\n"),
    ("xdg-open", "#!/bin/sh\ncase $1 in *://*) echo \"opened $1\" ;; *) exit 2 ;; esac\n"),
];

/// The folders of one world's examples.
#[derive(Debug)]
pub(super) struct Ground {
    folder: PathBuf,
    /// The content of the person's context; empty for nobody.
    pub(super) context: String,
    /// Further environment variables, which the texts of rules may name too: `$LAPTOP`.
    pub(super) variables: BTreeMap<String, String>,
    /// The granted folder of each device.
    pub(super) devices: BTreeMap<String, PathBuf>,
    /// The backend's data folder.
    pub(super) data: Option<PathBuf>,
}

impl Ground {
    /// Makes the folders in one that exists.
    pub(super) fn new(folder: &Path) -> Self {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = folder.join("ground");
        for name in ["scratch", "programs", "tmp"] {
            std::fs::create_dir_all(folder.join(name)).unwrap();
        }
        for (name, script) in STANDINS {
            let path = folder.join("programs").join(name);
            std::fs::write(&path, script).unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut ground = Self {
            folder,
            context: String::new(),
            variables: BTreeMap::new(),
            devices: BTreeMap::new(),
            data: None,
        };
        let text = |path: PathBuf| path.display().to_string();
        let known = [
            ("HOME", text(ground.home())),
            ("TMPDIR", text(ground.folder.join("tmp"))),
            ("SCRATCH", text(ground.scratch())),
        ];
        ground.variables.extend(known.map(|(name, value)| (name.to_owned(), value)));
        ground
    }

    /// Sets a variable.
    pub(super) fn set(&mut self, name: &str, value: impl ToString) {
        self.variables.insert(name.to_owned(), value.to_string());
    }

    /// Adds a device, and the variable of its folder.
    pub(super) fn device(&mut self, name: &str, variable: &str, files: &Path) {
        self.devices.insert(name.to_owned(), files.to_owned());
        self.set(variable, files.display());
    }

    fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// Returns the working directory.
    pub(super) fn work(&self) -> PathBuf {
        self.home().join("work")
    }

    /// Returns the folder for what preparations need, which is not looked at.
    pub(super) fn scratch(&self) -> PathBuf {
        self.folder.join("scratch")
    }

    /// Returns the search path: what stands in, the real programs, and those of the system.
    pub(super) fn path(&self) -> std::ffi::OsString {
        let programs = program("orion").parent().unwrap().to_owned();
        let system = std::env::var_os("PATH").unwrap_or_default();
        let own = [self.folder.join("programs"), programs];
        std::env::join_paths(own.into_iter().chain(std::env::split_paths(&system))).unwrap()
    }

    /// Returns the folders that are looked at.
    pub(super) fn watched(&self) -> Vec<Watched> {
        let of = |name: &str, path: &Path, by_content| Watched {
            name: name.to_owned(),
            path: path.to_owned(),
            by_content,
        };
        let mut all =
            vec![of("~/", &self.home(), true), of("tmp:", &self.folder.join("tmp"), true)];
        all.extend(self.devices.iter().map(|(name, path)| of(&format!("{name}:"), path, true)));
        all.extend(self.data.iter().map(|path| of("data:", path, false)));
        all
    }

    /// Returns a text with the values of the variables that it names.
    pub(super) fn fill(&self, text: &str) -> String {
        let mut text = text.to_owned();
        // Of two names the longer one first, where one begins with the other.
        for (name, value) in self.variables.iter().rev() {
            text = text.replace(&format!("${name}"), value);
        }
        text
    }

    /// Makes a new home, and the devices' folders as they were.
    pub(super) fn reset(&self, sheet: &Sheet) {
        empty(&self.home());
        empty(&self.folder.join("tmp"));
        std::fs::create_dir_all(self.work()).unwrap();
        if !self.context.is_empty() {
            let folder = self.home().join(".config/orion");
            std::fs::create_dir_all(&folder).unwrap();
            let path = folder.join("context.toml");
            orion_mtls::secret_file::write(&path, self.context.as_bytes()).unwrap();
        }
        self.fill_folder(&self.work(), &sheet.work);
        for (name, path) in &self.devices {
            empty(path);
            let none = BTreeMap::new();
            self.fill_folder(path, sheet.devices.get(name).unwrap_or(&none));
        }
    }

    /// Writes files; a name that ends with a slash is a folder.
    fn fill_folder(&self, folder: &Path, files: &BTreeMap<String, String>) {
        for (name, content) in files {
            let path = folder.join(name);
            if name.ends_with('/') {
                std::fs::create_dir_all(path).unwrap();
                continue;
            }
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, self.fill(content)).unwrap();
        }
    }
}

/// Makes a folder empty. The folder itself stays: an agent holds it open.
fn empty(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            remove(&path);
        } else {
            std::fs::remove_file(path).unwrap();
        }
    }
}

/// Removes a folder with all in it. What the example before has ended may still write its last file.
fn remove(folder: &Path) {
    let began = std::time::Instant::now();
    while let Err(error) = std::fs::remove_dir_all(folder) {
        let is_filled_again = error.kind() == std::io::ErrorKind::DirectoryNotEmpty;
        assert!(is_filled_again && began.elapsed() < PATIENCE, "{}: {error}", folder.display());
        std::thread::yield_now();
    }
}
