//! Which file a name leads to, and how it is observed.

use std::os::unix::fs::PermissionsExt as _;

use orion_domain::Places;
use orion_domain::grants::Grants;
use serde_json::json;
use tempfile::TempDir;

use super::*;

struct Ground {
    temp: TempDir,
    programs: Programs,
    roots: Roots,
}

impl Ground {
    fn new() -> Self {
        let temp = TempDir::new().unwrap();
        for folder in ["bin", "files/bin"] {
            std::fs::create_dir_all(temp.path().join(folder)).unwrap();
        }
        let at = |name: &str| temp.path().join(name);
        let path = std::env::join_paths([at("bin"), at("files/bin"), PathBuf::from("relative")]);
        let programs =
            Programs::new(Some(&path.unwrap()), None, at("scratch"), Launcher::default());
        let grants: Grants =
            serde_json::from_value(json!({"paths": [at("files").to_str().unwrap()]})).unwrap();
        let places = Places::bare(PathStyle::Posix);
        let (scope, bad) = grants.compile(&places);
        assert_eq!(bad, []);
        Self { roots: Roots::open(&scope, &scope, &[]), temp, programs }
    }

    fn write(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.temp.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path.canonicalize().unwrap()
    }

    fn folder(&self) -> DevicePath {
        device_path(&self.temp.path().join("files")).unwrap()
    }

    fn find(&self, word: &str) -> Result<PathBuf, ErrorCode> {
        let found = self.programs.find(&Program::from_word(word), &self.folder(), &self.roots);
        found.map(|found| found.file).map_err(|error| error.code)
    }
}

#[test]
fn a_name_leads_to_the_first_program_of_the_search_path_and_never_to_the_folder_of_the_command() {
    let ground = Ground::new();
    let own = ground.write("bin/tool", "", 0o755);
    ground.write("bin/data", "", 0o644);
    ground.write("files/own-script", "", 0o755);
    assert_eq!(ground.find("tool"), Ok(own));
    assert_eq!(ground.find("data"), Err(ErrorCode::NotSupported), "it is not executable");
    assert_eq!(ground.find("own-script"), Err(ErrorCode::NotSupported), "it is not in the path");
    assert!(ground.find("ls").is_ok(), "the system's folders are always there");
    assert!(ground.programs.path.iter().all(|folder| folder.is_absolute()));
}

#[test]
fn a_name_that_leads_to_a_file_that_calls_may_write_is_not_started() {
    let ground = Ground::new();
    let script = ground.write("files/bin/tool", "", 0o755);
    assert_eq!(ground.find("tool"), Err(ErrorCode::PathNotAllowed));
    assert_eq!(ground.find("bin/tool"), Ok(script.clone()), "its path says which file it is");
    std::os::unix::fs::symlink(&script, ground.temp.path().join("bin/linked")).unwrap();
    assert_eq!(ground.find("linked"), Err(ErrorCode::PathNotAllowed));
}

#[test]
fn a_program_is_observed_by_its_content() {
    let ground = Ground::new();
    ground.write("bin/tool", "one", 0o755);
    let observe = || ground.programs.observe("tool", &ground.folder(), &ground.roots).unwrap();
    let before = observe();
    assert_eq!((before.path.as_str(), before.bytes, before.mode), ("tool", 3, 0o755));
    assert_eq!(before.drift(&observe()), None);
    ground.write("bin/tool", "two", 0o755);
    assert!(before.drift(&observe()).is_some());
}
