//! Brings a file of a device to this computer. It is written beside its place under a temporary name, and gets its name
//! when it is whole and its digest is right.

use std::io::Write;
use std::path::Path;

use orion_domain::Hasher;
use orion_wire::v1;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::begin::{Begun, begin};
use super::parts::{Part, end, part};
use super::{Copying, succeeded};
use crate::call_result::CallResult;
use crate::failure::Failure;
use crate::terminal::Bar;
use crate::text;

impl Copying<'_> {
    /// Brings a file from a device.
    pub(super) async fn download(
        &self,
        device: &str,
        path: &str,
        to: &Path,
    ) -> Result<CallResult, Failure> {
        let shown = text::one_line(&to.display().to_string(), 200);
        refuse_taken(to, &shown, self.overwrite)?;
        let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or_else(|| Path::new("."));
        let mut file = tempfile::Builder::new()
            .prefix(".orion-")
            .suffix(".part")
            .tempfile_in(folder)
            .map_err(|error| unwritable(&shown, &error))?;
        let call = match begin(self, "download_file", device, &json!({"path": path})).await? {
            Begun::Runs(call) => call,
            Begun::Ended(result) => return Ok(*result),
        };
        let bar = Bar::on(self.app.out, &format!("{device}:{path}"));
        let fetched = self.or_cancel(self.fetch(&call, &mut file, &shown, &bar)).await?;
        let (result, digest) = fetched;
        if !succeeded(&result) {
            return Ok(result);
        }
        let stated = result.envelope.data.as_ref().and_then(|data| data.get("sha256"));
        if stated.and_then(Value::as_str) != Some(digest.as_str()) {
            return Err(Failure::Conflict(format!(
                "what came of {path} has another SHA-256 than the file on {device}, so it was not kept"
            ))
            .hint("copy it again"));
        }
        keep(file, to, &shown, self.overwrite)?;
        Ok(result)
    }

    /// Returns the result of the call and the digest of what came.
    async fn fetch(
        &self,
        call: &str,
        file: &mut NamedTempFile,
        shown: &str,
        bar: &Bar,
    ) -> Result<(CallResult, String), Failure> {
        let (mut received, mut hasher) = (Received::default(), Hasher::default());
        let request = |offset: u64, done: bool| {
            let mut transfers = self.client.transfers();
            let call_id = call.to_owned();
            async move {
                transfers.download_part(v1::DownloadPartRequest { call_id, offset, done }).await
            }
        };
        loop {
            let content = match part(self, call, || request(received.bytes, false)).await? {
                Part::Moved(v1::DownloadPartResponse { content, size_bytes }) => {
                    received.add(content.len(), size_bytes)?;
                    bar.begin(shown, size_bytes);
                    content
                }
                Part::Ended(result) => return Ok((*result, String::new())),
            };
            if content.is_empty() {
                break;
            }
            file.write_all(&content).map_err(|error| unwritable(shown, &error))?;
            hasher.update(&content);
            bar.at(received.bytes);
        }
        let digest = hasher.finish().to_string();
        if let Part::Ended(result) = part(self, call, || request(received.bytes, true)).await? {
            return Ok((*result, digest));
        }
        let result = end(self, call, bar).await?;
        Ok((result, digest))
    }
}

/// How much of a file came.
#[derive(Debug, Default)]
struct Received {
    bytes: u64,
    /// How much it has in all, by its first part.
    size: Option<u64>,
}

impl Received {
    /// Adds a part of a file of this size.
    fn add(&mut self, bytes: usize, size: u64) -> Result<(), Failure> {
        let stated = *self.size.get_or_insert(size);
        self.bytes = self.bytes.saturating_add(bytes as u64);
        if size != stated || self.bytes > stated {
            return Err(Failure::Conflict(format!(
                "the file has {stated} bytes by its first part, and more came, so it was not kept"
            ))
            .hint("update the agent of that device, and copy the file again"));
        }
        Ok(())
    }
}

fn refuse_taken(to: &Path, shown: &str, overwrite: bool) -> Result<(), Failure> {
    match std::fs::symlink_metadata(to) {
        Ok(found) if found.is_dir() => {
            Err(Failure::Conflict(format!("{shown} is a folder")).hint("name the whole new path"))
        }
        Ok(_) if !overwrite => Err(Failure::Conflict(format!("{shown} is there already"))
            .hint("choose another name, or replace it with --overwrite")),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Gives the file its name.
fn keep(file: NamedTempFile, to: &Path, shown: &str, overwrite: bool) -> Result<(), Failure> {
    file.as_file().sync_all().map_err(|error| unwritable(shown, &error))?;
    let kept = if overwrite { file.persist(to) } else { file.persist_noclobber(to) };
    kept.map(drop).map_err(|error| unwritable(shown, &error.error))
}

fn unwritable(shown: &str, error: &std::io::Error) -> Failure {
    let kind = error.kind();
    if kind == std::io::ErrorKind::AlreadyExists {
        return Failure::Conflict(format!("{shown} is there already"))
            .hint("choose another name, or replace it with --overwrite");
    }
    if kind == std::io::ErrorKind::NotFound {
        return Failure::NotFound(format!("the folder of {shown} does not exist"))
            .hint("make it first");
    }
    Failure::Failed(format!("{shown} cannot be written: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_taken_than_the_first_part_states() {
        let added = |parts: &[(usize, u64)]| {
            let mut received = Received::default();
            let added = parts.iter().try_for_each(|&(bytes, size)| received.add(bytes, size));
            added.map(|()| received.bytes)
        };
        assert_eq!(added(&[(4, 10), (4, 10), (2, 10), (0, 10)]).unwrap(), 10);
        assert_eq!(added(&[(0, 0)]).unwrap(), 0);
        for parts in [&[(4, 10), (4, 10), (3, 10)][..], &[(1, 0)], &[(4, 8), (4, u64::MAX)]] {
            let error = added(parts).unwrap_err();
            assert_eq!(
                error.exit_code(),
                Failure::Conflict(String::new()).exit_code(),
                "{parts:?}"
            );
        }
    }
}
