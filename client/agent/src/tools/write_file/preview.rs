//! Previews a write. Opens nothing for writing, and shows the old content only to callers who may read it.

use std::borrow::Cow;
use std::io::Read;

use cap_std::fs::OpenOptions;
use orion_catalog::tools::write_file::Arguments;
use orion_domain::{Access, ToolError};

use super::{on_own_line, refuse_hard_links, refuse_unwritable};
use crate::call::reserve_memory;
use crate::roots::{Located, Wanted, io_failure};
use crate::tools::difference::{MAX_COMPARED_BYTES, replaced, unified};
use crate::tools::{FileContext, regular};

/// Returns the new size of the file in bytes, and the difference.
pub(super) fn preview(
    located: &Located,
    content: &[u8],
    arguments: &Arguments,
    context: &FileContext<'_>,
) -> Result<(u64, String), ToolError> {
    let path = &located.asked;
    let append = arguments.append;
    let Some(name) = located.name().filter(|_| located.found.is_some()) else {
        let added = content.len() as u64;
        return Ok(match str::from_utf8(content).ok() {
            Some(text) => (added, unified(path, "", text, context)?),
            None => (added, format!("(not text: {added} bytes)\n")),
        });
    };
    let failed = |error: &std::io::Error| io_failure(error, Wanted::File, path);
    let metadata = located.dir.symlink_metadata(name).map_err(|error| failed(&error))?;
    refuse_hard_links(&metadata, path)?;
    refuse_unwritable(&located.dir, name, path)?;
    let content = if append && arguments.own_line {
        let (file, _) = regular::open(&located.dir, name, path, OpenOptions::new().read(true))?;
        on_own_line(&file, content).map_err(|error| failed(&error))?
    } else {
        Cow::Borrowed(content)
    };
    let (added, text) = (content.len() as u64, str::from_utf8(&content).ok());
    let before = metadata.len();
    let size = if append { before + added } else { added };
    let in_bytes = |why: &str| format!("({why}: {before} bytes before, {size} after)\n");
    let real = located.real.join(name).unwrap_or_else(|_| path.clone());
    if ![path, &real].iter().all(|path| context.roots.grants(path, Access::Read)) {
        return Ok((size, in_bytes("the old content may not be read here")));
    }
    reserve_memory(context, 2 * MAX_COMPARED_BYTES)?;
    let (file, _) = regular::open(&located.dir, name, path, OpenOptions::new().read(true))?;
    let mut bytes = Vec::new();
    file.take(MAX_COMPARED_BYTES + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    let small = bytes.len() as u64 <= MAX_COMPARED_BYTES && added <= MAX_COMPARED_BYTES;
    let diff = match (String::from_utf8(bytes).ok().filter(|_| small), text) {
        (Some(old), Some(text)) if append => {
            replaced(path, &old, old.len()..old.len(), text, context)?
        }
        (Some(old), Some(text)) => unified(path, &old, text, context)?,
        (Some(_) | None, _) => in_bytes("too large to compare, or not text"),
    };
    Ok((size, diff))
}
