//! `get_job`: how a call of the person who asks goes on.

use std::time::Duration;

use orion_catalog::tools::get_job::{Arguments, GetJob, Returns};
use orion_domain::{ErrorCode, Hint, ToolError};
use serde_json::Value;

use super::effect::failed;
use super::{Context, LocalTool, Outcome};
use crate::fleet::locked;
use crate::pipeline::calls::wait_until_closed;
use crate::store::StoreError;

/// The most bytes of a result that is returned.
const MAX_RESULT_BYTES: usize = 256 * 1024;
/// The most bytes of what programs printed.
const MAX_PROGRESS_BYTES: usize = 4 * 1024;

impl LocalTool for GetJob {
    async fn run(arguments: Arguments, context: Context) -> Result<Outcome<Returns>, ToolError> {
        let Arguments { job_id, wait_seconds } = arguments;
        let (pipeline, wait) = (&context.pipeline, Duration::from_secs(wait_seconds.into()));
        let view = wait_until_closed(pipeline, &context.caller, &job_id, wait).await;
        let view = view.map_err(no_job)?;
        let output = pipeline.fleet.waiting().output_of(view.call);
        let printed = output.and_then(|output| locked(&output).since(0)).map(|piece| {
            let start = piece.data.len().saturating_sub(MAX_PROGRESS_BYTES);
            String::from_utf8_lossy(piece.data.get(start..).unwrap_or_default()).into_owned()
        });
        let (state, ended) = (view.state.as_str(), view.state.is_closed());
        let truncated = view.result.len() > MAX_RESULT_BYTES;
        let result: Option<Value> =
            (ended && !truncated).then(|| serde_json::from_slice(&view.result).ok()).flatten();
        let data = Returns {
            job_id: view.call.to_string(),
            tool: view.tool,
            device: view.device.as_ref().map(ToString::to_string),
            state: state.to_owned(),
            ended,
            progress: if ended { None } else { printed },
            approval_id: view.approval.filter(|_| !ended).map(|id| id.to_string()),
            result,
        };
        Ok(Outcome { message: format!("The job is {state}."), data, truncated })
    }
}

/// Returns the error of a job that is not there, or not the caller's.
pub(super) fn no_job(error: StoreError) -> ToolError {
    let message = match error {
        StoreError::NotFound => "You have no such job.",
        StoreError::Ambiguous => "Several jobs have an id that begins like this.",
        StoreError::Conflict
        | StoreError::Unavailable
        | StoreError::Full
        | StoreError::KeyInUse
        | StoreError::OtherVersion
        | StoreError::Corrupt => return failed(error),
    };
    ToolError::new(ErrorCode::NotFound, message)
        .hint(Hint::run("list your calls", "orion calls list"))
}
