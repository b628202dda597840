//! `orion cp`: copies files between this computer and devices, and from one device to another.
//!
//! Each file is a call of its own, of `upload_file`, `download_file` or `transfer_file`, through the same pipeline as
//! any call. Its content moves in parts beside the call, and continues where it was after a lost connection.

mod begin;
mod copied;
mod download;
mod folder;
mod parts;
mod place;
mod upload;

use std::sync::{Mutex, PoisonError};

use clap::Args;
use clap_complete::ArgValueCandidates;
use orion_wire::v1;
use serde_json::json;

use self::begin::{Begun, begin};
use self::place::Place;
use crate::app::App;
use crate::call_result::CallResult;
use crate::client::Client;
use crate::complete;
use crate::failure::Failure;
use crate::output::DIM;
use crate::terminal::Bar;
use crate::text;

/// Copies files between this computer and your devices.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion cp laptop-123:report.pdf .
  orion cp photo.jpg laptop-123:Pictures/
  orion cp laptop-123:a.txt server-1:Archive/a.txt
  orion cp -r Documents laptop-123:Backup/
  orion cp -r laptop-123:Pictures . -o json

A file on a device is written as DEVICE:PATH; a relative path starts in the device's workspace, the first
folder that its agent.toml allows. A destination that ends with a slash is a folder, and the file keeps its name in it.

Every file is a call like any other: grants, the device's ceiling, rules and approvals hold for it, and it
is in the record. A file that is there already stays, unless --overwrite is given; then it goes to Orion's
trash on a device. With -r, links and special files are left out, and named at the end.

A lost connection is waited for, up to two minutes and a half, and the copy continues where it was. The
SHA-256 of a file is checked before it gets its name.")]
pub(crate) struct Cp {
    /// The file or folder: a path here, or DEVICE:PATH
    #[arg(value_name = "SOURCE", add = ArgValueCandidates::new(complete::devices))]
    source: String,
    /// Where to: a path here, or DEVICE:PATH
    #[arg(value_name = "DESTINATION", add = ArgValueCandidates::new(complete::devices))]
    destination: String,
    /// Copy a folder with everything in it
    #[arg(short, long)]
    recursive: bool,
    /// Replace files that are there already
    #[arg(long)]
    overwrite: bool,
    /// Where a call waits for a person, wait too; the content moves only while this command runs
    #[arg(long)]
    wait: bool,
}

/// What every copy of one command shares.
struct Copying<'a> {
    app: &'a App<'a>,
    client: &'a Client,
    overwrite: bool,
    wait: bool,
    /// The call that is under way, which is cancelled where the person stops the program.
    current: Mutex<Option<String>>,
}

impl Cp {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, a place is wrong, or the backend fails. The failed call of a single file is no error here:
    /// its envelope is printed and its exit code returned.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let Self { source, destination, recursive, overwrite, wait } = self;
        let (source, destination) = (Place::parse(&source)?, Place::parse(&destination)?);
        if source.is_here() && destination.is_here() {
            return Err(Failure::Usage("both places are on this computer".to_owned())
                .hint("name a file on a device as DEVICE:PATH, such as laptop-123:report.pdf"));
        }
        let client = app.signed_in().await?;
        let copying = Copying { app, client, overwrite, wait, current: Mutex::new(None) };
        let destination = destination.of(&source)?;
        tokio::select! {
            biased;
            _ = tokio::signal::ctrl_c() => {
                copying.cancel().await;
                Err(Failure::Interrupted)
            }
            code = copying.all(&source, &destination, recursive) => code,
        }
    }
}

impl Copying<'_> {
    /// Copies a file or a folder, and returns the exit code.
    async fn all(
        &self,
        source: &Place,
        destination: &Place,
        recursive: bool,
    ) -> Result<u8, Failure> {
        if recursive {
            return self.folder(source, destination).await;
        }
        if let Place::Here(path) = source
            && path.is_dir()
        {
            let shown = text::one_line(&path.display().to_string(), 200);
            return Err(Failure::Usage(format!("{shown} is a folder"))
                .hint("copy it with everything in it by adding -r"));
        }
        let result = self.one(source, destination).await?;
        result.print(self.app.out)?;
        if let Place::Here(path) = destination
            && succeeded(&result)
            && self.app.out.is_for_people()
        {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            let shown = text::one_line(&path.display().to_string(), 400);
            self.app.out.note(&format!("saved as {shown}"));
        }
        if let Some(call) = result.undoable().filter(|_| self.app.out.is_for_people()) {
            let id = text::short_id(call);
            self.app.out.next(&format!("{DIM}undo:{DIM:#} orion undo {id}"));
        }
        Ok(result.exit_code())
    }

    /// Cancels the call that is under way.
    async fn cancel(&self) {
        let call = self.current.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(call_id) = call else { return };
        // The device ends a call by itself whose content does not move.
        let request = v1::CancelCallRequest { call_id };
        drop(self.client.ask(self.client.tools().cancel_call(request)).await);
    }

    /// Returns the result of moving the content of the call that is under way, and cancels the call if that fails.
    async fn or_cancel<T>(
        &self,
        moving: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let moved = moving.await;
        if moved.is_err() {
            self.cancel().await;
        }
        self.current.lock().unwrap_or_else(PoisonError::into_inner).take();
        moved
    }

    /// Copies one file, and returns the result of its call.
    async fn one(&self, source: &Place, destination: &Place) -> Result<CallResult, Failure> {
        match (source, destination) {
            (Place::Here(from), Place::There { device, path }) => {
                self.upload(from, device, path).await
            }
            (Place::There { device, path }, Place::Here(to)) => {
                self.download(device, path, to).await
            }
            (Place::There { device: from, path: from_path }, Place::There { device, path }) => {
                let arguments = json!({
                    "from_device": from, "from_path": from_path, "path": path,
                    "overwrite": self.overwrite,
                });
                match begin(self, "transfer_file", device, &arguments).await? {
                    Begun::Ended(result) => Ok(*result),
                    Begun::Runs(call) => {
                        let bar = Bar::on(self.app.out, &format!("{from}:{from_path}"));
                        self.or_cancel(parts::end(self, &call, &bar)).await
                    }
                }
            }
            (Place::Here(_), Place::Here(_)) => {
                Err(Failure::Usage("both places are on this computer".to_owned()))
            }
        }
    }
}

/// Returns whether a call succeeded.
fn succeeded(result: &CallResult) -> bool {
    result.envelope.success
}
