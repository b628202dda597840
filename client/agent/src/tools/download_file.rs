//! Executes `download_file`: opens the file once and reads the parts that the person's client wants from that
//! handle. A file that changes before the end ends the call.

#[cfg(test)]
mod tests;

use std::io::{Read, Seek, SeekFrom};

use cap_std::fs::{File, OpenOptions};
use orion_catalog::tools::download_file::{Arguments, DownloadFile, Returns};
use orion_catalog::{Content, MAX_PART_BYTES};
use orion_domain::{Access, DevicePath, Digest, ErrorCode, Hasher, ToolError};

use super::counted::counted;
use super::{Context, FileContext, FileTool, Outcome, nearby};
use crate::call::reserve_memory;
use crate::entry::FileStamp;
use crate::roots::{Wanted, io_failure};
use crate::transfer::{ContentAnswer, ContentRequest};

impl FileTool for DownloadFile {
    fn run(arguments: Arguments, context: &FileContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        let located = context.locate(&arguments.path, Access::Read)?;
        let path = &located.asked;
        let mut options = OpenOptions::new();
        let (file, _) = nearby::open(&located, options.read(true), context)?;
        reserve_memory(context, 4 * MAX_PART_BYTES as u64)?;
        let mut source = Source::of(file, path)?;
        let mut exchange = context.installation.transfers.begin(context.call, Content::ToPerson)?;
        loop {
            match exchange.next(&|| context.check())? {
                ContentRequest::Read { offset, max_bytes } => {
                    let content = source.part(offset, max_bytes)?;
                    let (done, size) = (offset + content.len() as u64, source.before.bytes);
                    exchange.answer(ContentAnswer::Part { offset, content, size });
                    (context.progress)(done.min(size), Some(size), "bytes");
                }
                ContentRequest::Done(_) => break,
                ContentRequest::Failed(error) => return Err(error),
                ContentRequest::Write { .. } => {
                    return Err(super::invalid("A download takes no content."));
                }
            }
        }
        let size_bytes = source.before.bytes;
        let sha256 = source.digest(context)?;
        let message = format!("Downloaded {path}, {}.", counted(size_bytes, "byte"));
        let data = Returns { path: path.to_string(), size_bytes, sha256: sha256.to_string() };
        Ok(Outcome::new(message, data))
    }
}

/// The file that is read.
struct Source<'a> {
    file: File,
    path: &'a DevicePath,
    /// What the file was when it was opened.
    before: FileStamp,
    hasher: Hasher,
    /// How many bytes were hashed, from the beginning.
    hashed: u64,
}

impl<'a> Source<'a> {
    fn of(file: File, path: &'a DevicePath) -> Result<Self, ToolError> {
        let before =
            FileStamp::of_file(&file).map_err(|error| io_failure(&error, Wanted::File, path))?;
        Ok(Self { file, path, before, hasher: Hasher::default(), hashed: 0 })
    }

    /// Returns the part of the file at `offset`, empty behind its end.
    fn part(&mut self, offset: u64, max_bytes: usize) -> Result<Vec<u8>, ToolError> {
        self.refuse_changed()?;
        let failed = |error: &std::io::Error| io_failure(error, Wanted::File, self.path);
        let left = self.before.bytes.saturating_sub(offset);
        let wanted = left.min(max_bytes.min(MAX_PART_BYTES) as u64);
        let mut content = Vec::with_capacity(usize::try_from(wanted).unwrap_or(0));
        self.file.seek(SeekFrom::Start(offset)).map_err(|error| failed(&error))?;
        (&self.file).take(wanted).read_to_end(&mut content).map_err(|error| failed(&error))?;
        if content.len() as u64 != wanted {
            return Err(self.changed());
        }
        self.refuse_changed()?;
        // A part that is read again is hashed once.
        let known = self.hashed.checked_sub(offset).and_then(|known| usize::try_from(known).ok());
        if let Some(new) = known.and_then(|known| content.get(known..)) {
            self.hasher.update(new);
            self.hashed += new.len() as u64;
        }
        Ok(content)
    }

    /// Returns the digest of the whole file.
    fn digest(mut self, context: &Context<'_>) -> Result<Digest, ToolError> {
        while self.hashed < self.before.bytes {
            context.check()?;
            self.part(self.hashed, MAX_PART_BYTES)?;
        }
        self.refuse_changed()?;
        Ok(self.hasher.finish())
    }

    fn refuse_changed(&self) -> Result<(), ToolError> {
        let now = FileStamp::of_file(&self.file)
            .map_err(|error| io_failure(&error, Wanted::File, self.path))?;
        if self.before.is_same(&now) { Ok(()) } else { Err(self.changed()) }
    }

    fn changed(&self) -> ToolError {
        ToolError::new(
            ErrorCode::PreconditionFailed,
            format!("{} changed while it was read.", self.path),
        )
        .hint("copy it again when nothing writes to it")
        .with("attempted_path", self.path.to_string())
    }
}
