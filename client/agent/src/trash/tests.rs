//! What stays in the trash, and for how long.

use orion_domain::PathStyle;
use orion_domain::grants::Scope;

use super::*;
use crate::roots::Roots;

const HOUR_MS: i64 = 60 * 60 * 1000;
const GIB: u64 = 1024 * 1024 * 1024;

struct Bin {
    temp: tempfile::TempDir,
    trash: Trash,
    roots: Roots,
}

impl Bin {
    fn new() -> Self {
        let temp = tempfile::TempDir::new().unwrap();
        let trash = Trash::open(temp.path()).unwrap();
        Self { temp, trash, roots: Roots::open(&Scope::nothing(), &Scope::nothing(), &[]) }
    }

    fn put(&self, bytes: u64, at_hour: i64) -> String {
        let parent = Dir::open_ambient_dir(self.temp.path(), ambient_authority()).unwrap();
        parent.create_dir_all("old/inner").unwrap();
        let path = DevicePath::parse(PathStyle::Posix, "/srv/old").unwrap();
        let discarded = Discarded {
            root: &parent,
            parent: &parent,
            name: "old",
            path: &path,
            real_path: &path,
            entries: 2,
            bytes,
        };
        self.trash.take(&discarded, at(at_hour)).unwrap().to_string()
    }

    fn sweep(&self, at_hour: i64) -> Swept {
        self.trash.sweep(&self.roots, at(at_hour)).unwrap()
    }

    fn holds(&self, id: &str) -> bool {
        self.temp.path().join("trash").join(id).join("content/inner").exists()
    }
}

fn at(hour: i64) -> Timestamp {
    Timestamp::from_millisecond(hour * HOUR_MS).unwrap()
}

#[test]
fn things_stay_a_week() {
    let bin = Bin::new();
    let (first, second) = (bin.put(10, 0), bin.put(20, 1));
    let all = Swept { removed: 0, failed: 0, kept: 2, kept_bytes: 30 };
    assert_eq!(bin.sweep(7 * 24 - 1), all);
    let one = Swept { removed: 1, failed: 0, kept: 1, kept_bytes: 20 };
    assert_eq!(bin.sweep(7 * 24), one);
    assert_eq!((bin.holds(&first), bin.holds(&second)), (false, true));
    assert_eq!(bin.sweep(7 * 24 + 1), Swept { removed: 1, ..Swept::default() });
}

#[test]
fn beyond_a_gibibyte_the_oldest_go_and_the_last_stays() {
    let bin = Bin::new();
    let first = bin.put(GIB / 2, 0);
    let second = bin.put(GIB / 2, 1);
    assert_eq!(bin.sweep(2), Swept { kept: 2, kept_bytes: GIB, ..Swept::default() });
    let third = bin.put(3 * GIB, 2);
    let swept = Swept { removed: 2, failed: 0, kept: 1, kept_bytes: 3 * GIB };
    assert_eq!(bin.sweep(3), swept);
    assert_eq!([first, second, third].map(|id| bin.holds(&id)), [false, false, true]);
}

#[test]
fn what_has_no_record_stays_as_long_as_anything_else() {
    let bin = Bin::new();
    let stray = bin.temp.path().join("trash/stray");
    std::fs::create_dir(&stray).unwrap();
    let now = Timestamp::now();
    assert_eq!(bin.trash.sweep(&bin.roots, now).unwrap().kept, 1);
    let later = Timestamp::from_millisecond(now.as_millisecond() + 7 * 24 * HOUR_MS).unwrap();
    assert_eq!(bin.trash.sweep(&bin.roots, later).unwrap().removed, 1);
    assert!(!stray.exists());
}

#[test]
fn a_thing_that_is_not_there_leaves_nothing_behind() {
    let bin = Bin::new();
    let parent = Dir::open_ambient_dir(bin.temp.path(), ambient_authority()).unwrap();
    let path = DevicePath::parse(PathStyle::Posix, "/srv/old").unwrap();
    let discarded = Discarded {
        root: &parent,
        parent: &parent,
        name: "none",
        path: &path,
        real_path: &path,
        entries: 1,
        bytes: 0,
    };
    let error = bin.trash.take(&discarded, at(0)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert_eq!(std::fs::read_dir(bin.temp.path().join("trash")).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn a_record_that_is_no_file_is_not_waited_for() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let bin = Bin::new();
    let place = bin.temp.path().join("trash/odd");
    std::fs::create_dir(&place).unwrap();
    mknodat(CWD, place.join(RECORD), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    assert_eq!(bin.sweep(0), Swept { removed: 0, failed: 0, kept: 1, kept_bytes: 0 });
}

#[cfg(unix)]
#[test]
fn the_trash_is_for_the_agents_account_alone() {
    use std::os::unix::fs::PermissionsExt;
    let bin = Bin::new();
    let id = bin.put(1, 0);
    for name in ["trash".to_owned(), format!("trash/{id}")] {
        let mode = std::fs::metadata(bin.temp.path().join(&name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{name}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_lies_on_another_file_system_goes_to_a_hidden_folder_there() {
    use std::os::unix::fs::MetadataExt;
    let bin = Bin::new();
    let Ok(other) = tempfile::TempDir::new_in("/dev/shm") else { return };
    let device = |path: &Path| std::fs::metadata(path).unwrap().dev();
    if device(other.path()) == device(bin.temp.path()) {
        return;
    }
    let root = Dir::open_ambient_dir(other.path(), ambient_authority()).unwrap();
    root.create_dir_all("a/old/inner").unwrap();
    let path = DevicePath::parse(PathStyle::Posix, "/srv/a/old").unwrap();
    let discarded = Discarded {
        root: &root,
        parent: &root.open_dir("a").unwrap(),
        name: "old",
        path: &path,
        real_path: &path,
        entries: 2,
        bytes: 0,
    };
    let id = bin.trash.take(&discarded, at(0)).unwrap();
    assert!(other.path().join(LOCAL_TRASH).join(id.to_string()).join("content/inner").exists());
    assert!(!other.path().join("a/old").exists());
    assert_eq!(std::fs::read_dir(bin.temp.path().join("trash")).unwrap().count(), 0);
}
