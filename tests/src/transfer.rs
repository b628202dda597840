//! The content of files, moved as a person's client does.

use std::time::Duration;

use orion_catalog::{Content, MAX_PART_BYTES, find};
use orion_domain::CallState;
use orion_wire::v1;
use serde_json::{Value, json};
use tonic::{Code, Status};

use crate::call::Call;
use crate::client::Client;

/// What a test sends where it does not matter: the content of the example of `upload_file`.
pub const MILK: &[u8] = b"Milk\n";
/// How often a part is tried again while a link is lost.
const MAX_TRIES: u32 = 400;
/// The wait before the next try.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Returns whether a person's client has to move the content of a tool's calls.
pub(crate) fn needs_client(tool: &str) -> bool {
    find(tool).is_some_and(|(spec, _)| spec.content.needs_client())
}

impl Client {
    /// Makes a call whose content this client moves, and returns it once it runs, waits or has ended.
    ///
    /// # Errors
    /// The backend rejects it.
    pub async fn begin(&self, device: &str, tool: &str, arguments: &Value) -> Result<Call, Status> {
        self.ask(v1::CallToolRequest {
            tool: tool.to_owned(),
            device: device.to_owned(),
            arguments: arguments.to_string().into_bytes().into(),
            background: true,
            moves_content: true,
            ..Default::default()
        })
        .await
    }

    /// Makes a call, moves its content and returns it when it has ended.
    pub(crate) async fn moved(&self, device: &str, tool: &str, arguments: Value) -> Call {
        let call = self.begin(device, tool, &arguments).await.unwrap();
        if !matches!(call.state, CallState::Dispatched | CallState::Running) {
            return call;
        }
        let content = find(tool).map_or(Content::InCall, |(spec, _)| spec.content);
        match content {
            Content::ToPerson => drop(self.fetch(&call.id).await),
            Content::FromPerson => drop(self.send_content(&call.id, MILK).await),
            Content::InCall | Content::FromDevice => {}
        }
        self.ended(&call.id).await.unwrap()
    }

    /// Brings content to a device, and returns the ended call.
    ///
    /// # Panics
    /// The backend does not answer.
    pub async fn upload(&self, device: &str, path: &str, content: &[u8]) -> Call {
        let call = self.begin(device, "upload_file", &upload(path, content)).await.unwrap();
        if matches!(call.state, CallState::Dispatched | CallState::Running) {
            drop(self.send_content(&call.id, content).await);
        }
        self.ended(&call.id).await.unwrap()
    }

    /// Brings a file of a device here, and returns the ended call with the content.
    ///
    /// # Panics
    /// The backend does not answer.
    pub async fn download(&self, device: &str, path: &str) -> (Call, Vec<u8>) {
        let call = self.begin(device, "download_file", &json!({"path": path})).await.unwrap();
        let mut content = Vec::new();
        if matches!(call.state, CallState::Dispatched | CallState::Running) {
            content = self.fetch(&call.id).await.unwrap_or_default();
        }
        (self.ended(&call.id).await.unwrap(), content)
    }

    /// Sends the content of a running call.
    ///
    /// # Errors
    /// A part is refused.
    pub async fn send_content(&self, call: &str, content: &[u8]) -> Result<(), Status> {
        let mut offset = 0;
        while offset < content.len() {
            let end = content.len().min(offset + MAX_PART_BYTES);
            let part = content[offset..end].to_vec();
            let received = self.upload_part(call, offset as u64, &part).await?;
            offset = usize::try_from(received).unwrap();
        }
        Ok(())
    }

    /// Fetches the content of a running call, and ends the call.
    ///
    /// # Errors
    /// A part is refused.
    pub async fn fetch(&self, call: &str) -> Result<Vec<u8>, Status> {
        let mut content = Vec::new();
        loop {
            let part = self.download_part(call, content.len() as u64, false).await?;
            if part.is_empty() {
                break;
            }
            content.extend_from_slice(&part);
        }
        self.download_part(call, 0, true).await.map(|_| content)
    }

    /// Sends one part, and tries again while a link is lost. Returns how much the device has.
    ///
    /// # Errors
    /// The part is refused.
    pub async fn upload_part(
        &self,
        call: &str,
        offset: u64,
        content: &[u8],
    ) -> Result<u64, Status> {
        let mut tries = 0;
        loop {
            let content = content.to_vec().into();
            let request = v1::UploadPartRequest { call_id: call.to_owned(), offset, content };
            match self.transfers().upload_part(request).await {
                Ok(answer) => return Ok(answer.into_inner().received),
                Err(status) => wait(status, &mut tries).await?,
            }
        }
    }

    /// Fetches one part, and tries again while a link is lost.
    ///
    /// # Errors
    /// The part is refused.
    pub async fn download_part(
        &self,
        call: &str,
        offset: u64,
        done: bool,
    ) -> Result<Vec<u8>, Status> {
        let mut tries = 0;
        loop {
            let request = v1::DownloadPartRequest { call_id: call.to_owned(), offset, done };
            match self.transfers().download_part(request).await {
                Ok(answer) => return Ok(answer.into_inner().content.to_vec()),
                Err(status) => wait(status, &mut tries).await?,
            }
        }
    }
}

/// Returns the arguments of an upload of this content.
#[must_use]
pub fn upload(path: &str, content: &[u8]) -> Value {
    let digest = orion_domain::Digest::of(content).to_string();
    json!({"path": path, "size_bytes": content.len(), "sha256": digest})
}

/// Waits before the next try, or returns the status if another try would not help.
async fn wait(status: Status, tries: &mut u32) -> Result<(), Status> {
    *tries += 1;
    // A place among the transfers of the device becomes free.
    let is_full = status.code() == Code::ResourceExhausted;
    let is_lost = matches!(status.code(), Code::Unavailable | Code::Unknown | Code::Internal);
    let may_pass = is_full || is_lost;
    if !may_pass || *tries > MAX_TRIES {
        return Err(status);
    }
    tokio::time::sleep(RETRY_INTERVAL).await;
    Ok(())
}
