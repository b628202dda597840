//! The first layer, disabled for tests: paths are joined, and the operating system follows every link. So
//! a test sees what the second layer stops alone.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use orion_domain::{DevicePath, PathStyle, ToolError};

use super::{FileKind, Located, Roots, Wanted, io_failure};

impl Roots {
    /// Returns the same roots, used only for their handles.
    pub(crate) fn naive(self) -> Self {
        Self { naive: true, ..self }
    }
}

pub(super) fn find(path: &DevicePath, follow_last: bool) -> Result<Located, ToolError> {
    let failed = |error: std::io::Error| io_failure(&error, Wanted::Path, path);
    let open = |at: &Path| Dir::open_ambient_dir(at, ambient_authority()).map_err(failed);
    let parse = |at: &Path| DevicePath::parse(PathStyle::Posix, at.to_str().unwrap()).unwrap();
    let text = PathBuf::from(path.to_string());
    let top = parse(Path::new("/"));
    let root_dir = Arc::new(open(Path::new("/"))?);
    let located = |dir, real, rest, found| Located {
        asked: path.clone(),
        dir,
        real,
        root: top.clone(),
        root_dir: Arc::clone(&root_dir),
        rest,
        found,
    };
    let whole = if follow_last { std::fs::canonicalize(&text).unwrap_or(text) } else { text };
    if follow_last && whole.is_dir() {
        return Ok(located(open(&whole)?, parse(&whole), Vec::new(), None));
    }
    let mut rest = Vec::new();
    let mut above = whole.as_path();
    // The tools expect the deepest existing folder.
    while let (Some(name), Some(parent)) = (above.file_name(), above.parent()) {
        rest.insert(0, name.to_str().unwrap_or("?").to_owned());
        above = parent;
        if above.is_dir() {
            break;
        }
    }
    let real = std::fs::canonicalize(above).map_err(failed)?;
    let found = match rest.first().map(|name| real.join(name).symlink_metadata()) {
        Some(Ok(metadata)) if metadata.is_file() => Some(FileKind::File),
        Some(Ok(metadata)) if metadata.is_dir() => Some(FileKind::Folder),
        Some(Ok(metadata)) if metadata.is_symlink() => Some(FileKind::Link),
        Some(Ok(_)) => Some(FileKind::Special),
        Some(Err(_)) | None => None,
    };
    Ok(located(open(&real)?, parse(&real), rest, found))
}
