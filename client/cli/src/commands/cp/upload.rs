//! Brings a file of this computer to a device.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use orion_catalog::MAX_PART_BYTES;
use orion_domain::{Digest, Hasher, Hint};
use orion_wire::{Bytes, v1};
use serde_json::json;

use super::Copying;
use super::begin::{Begun, begin};
use super::parts::{Part, end, part};
use crate::call_result::CallResult;
use crate::failure::Failure;
use crate::terminal::Bar;
use crate::text;

impl Copying<'_> {
    /// Brings a file to a device. Its digest is a part of the call, so that what is approved is what arrives.
    pub(super) async fn upload(
        &self,
        from: &Path,
        device: &str,
        path: &str,
    ) -> Result<CallResult, Failure> {
        let shown = text::one_line(&from.display().to_string(), 200);
        let mut file = open(from, &shown)?;
        let bar = Bar::on(self.app.out, &format!("reading {shown}"));
        let (size, digest) = digest(&mut file, &shown, &bar)?;
        let arguments = json!({
            "path": path, "size_bytes": size, "sha256": digest.to_string(),
            "overwrite": self.overwrite,
        });
        let call = match begin(self, "upload_file", device, &arguments).await? {
            Begun::Runs(call) => call,
            Begun::Ended(result) => return Ok(*result),
        };
        bar.begin(&format!("{shown} to {device}"), size);
        self.or_cancel(self.send(&call, &mut file, &shown, size, &bar)).await
    }

    async fn send(
        &self,
        call: &str,
        file: &mut File,
        shown: &str,
        size: u64,
        bar: &Bar,
    ) -> Result<CallResult, Failure> {
        let mut offset = 0;
        while offset < size {
            let content = read_part(file, offset, shown)?;
            if content.is_empty() {
                return Err(Failure::Conflict(format!(
                    "{shown} became smaller while it was copied"
                ))
                .hint("copy it again when nothing writes to it"));
            }
            let request = || {
                let mut transfers = self.client.transfers();
                let content = content.clone();
                let call_id = call.to_owned();
                async move {
                    transfers.upload_part(v1::UploadPartRequest { call_id, offset, content }).await
                }
            };
            match part(self, call, request).await? {
                Part::Moved(v1::UploadPartResponse { received }) => offset = received,
                Part::Ended(result) => return Ok(*result),
            }
            bar.at(offset);
        }
        end(self, call, bar).await
    }
}

fn open(path: &Path, shown: &str) -> Result<File, Failure> {
    let failed = |error: std::io::Error| {
        if error.kind() != std::io::ErrorKind::NotFound {
            return unreadable(shown, &error);
        }
        Failure::NotFound(format!("{shown} does not exist"))
            .hint(Hint::new("check the path; a file on a device is written as DEVICE:PATH"))
    };
    // A pipe would block, and a device may have no end.
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() {
        return Err(Failure::Usage(format!("{shown} is no regular file")));
    }
    File::open(path).map_err(failed)
}

fn digest(file: &mut File, shown: &str, bar: &Bar) -> Result<(u64, Digest), Failure> {
    let mut hasher = Hasher::default();
    let mut buffer = vec![0; MAX_PART_BYTES];
    let mut size = 0;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok((size, hasher.finish())),
            Ok(read) => {
                hasher.update(buffer.get(..read).unwrap_or_default());
                size += read as u64;
                bar.at(size);
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(shown, &error)),
        }
    }
}

fn read_part(file: &mut File, offset: u64, shown: &str) -> Result<Bytes, Failure> {
    let mut content = Vec::with_capacity(MAX_PART_BYTES);
    file.seek(SeekFrom::Start(offset))
        .and_then(|_| file.take(MAX_PART_BYTES as u64).read_to_end(&mut content))
        .map_err(|error| unreadable(shown, &error))?;
    Ok(content.into())
}

fn unreadable(shown: &str, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("{shown} cannot be read: {error}"))
}
