//! `cancel_job`: cancels a call of the person who asks; an admin cancels anybody's.

use orion_catalog::tools::cancel_job::{Arguments, CancelJob, Returns};
use orion_domain::{CallState, ErrorCode, ToolError};

use super::effect::failed;
use super::get_job::no_job;
use super::{Context, Effect, LocalTool, Outcome};
use crate::pipeline::{CallView, calls, cancel};

impl LocalTool for CancelJob {
    const EFFECT: Effect = Effect::Outside {
        unknown: "Whether the job was cancelled is not known.",
        hint: "look at the job with get_job, and cancel it again if it runs",
    };

    async fn run(arguments: Arguments, context: Context) -> Result<Outcome<Returns>, ToolError> {
        let (pipeline, caller) = (&context.pipeline, &context.caller);
        let row = calls::visible(pipeline, caller, &arguments.job_id).await.map_err(no_job)?;
        if row.id == context.call {
            let message = "A call does not cancel itself.";
            return Err(ToolError::new(ErrorCode::InvalidArgument, message)
                .hint("give the id of another call"));
        }
        let was_over = row.state.is_closed() && row.state != CallState::Unknown;
        let view = if context.dry_run || was_over {
            CallView::from(row)
        } else {
            cancel::cancel(pipeline, caller, row).await.map_err(failed)?
        };
        let (state, ended) = (view.state.as_str().to_owned(), view.state.is_closed());
        let message = match (was_over, context.dry_run, ended) {
            (true, ..) => "The job has ended already.",
            (false, true, _) => "The job would be cancelled.",
            (false, false, true) => "The job is cancelled.",
            (false, false, false) => "Its device is asked to end the job.",
        };
        let data = Returns { job_id: view.call.to_string(), tool: view.tool, state, ended };
        Ok(Outcome { message: message.to_owned(), data, truncated: false })
    }
}
