//! Runs an approved plan, step by step. Each step is evaluated again as any call at that moment, and its
//! device compares what the step touches with what was shown.

mod compare;
mod order;
mod recover;
mod step;

use std::sync::Arc;
use std::time::Duration;

use orion_domain::PlanId;

use super::end::{close_waiting, skipped};
use super::{is_good, publish};
use crate::bus::Change;
use crate::clock::now_ms;
use crate::pipeline::Pipeline;
use crate::store::{PlanState, StoreError};

use compare::compare;
use order::{NextStep, next_steps};
use recover::interrupt;
pub use recover::recover;
pub(super) use step::context;
use step::{end_of, one, unsent};

/// How long to wait before the database is tried again after a failure.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Runs an approved plan to its end.
pub(super) async fn run(pipeline: &Arc<Pipeline>, id: PlanId) {
    let Err(error) = steps(pipeline, id).await else { return };
    tracing::error!(plan = %id, %error, "a plan could not be recorded and goes no further");
    // The stored state is still `running`. The plan ends as soon as the database can be written, or at the
    // next start.
    while !pipeline.tasks.shutdown.is_cancelled() {
        tokio::time::sleep(RETRY_INTERVAL).await;
        let ended = async {
            let plan = pipeline.store.plan(id).await?;
            if plan.state == PlanState::Running {
                interrupt(pipeline, &plan).await?;
            }
            close_waiting(pipeline, &plan, &skipped(id, "the plan could not be recorded")).await?;
            publish(pipeline, &plan);
            Ok::<(), StoreError>(())
        };
        if ended.await.is_ok() {
            return;
        }
    }
}

async fn steps(pipeline: &Arc<Pipeline>, id: PlanId) -> Result<(), StoreError> {
    let plan = pipeline.store.plan(id).await?;
    let (mut state, mut why) = (PlanState::Succeeded, "");
    let mut done: Vec<u32> = Vec::new();
    for next in next_steps(&plan) {
        let step = next.step();
        if done.contains(&step.number) {
            continue;
        }
        if pipeline.tasks.shutdown.is_cancelled() {
            (state, why) = (PlanState::Interrupted, "the backend stopped while the plan ran");
            break;
        }
        let drifted = match next {
            NextStep::Run(_) => None,
            NextStep::Compare(step, earlier) => {
                match compare(pipeline, &plan, step, earlier).await? {
                    Ok(()) => continue,
                    Err(error) => Some(error),
                }
            }
        };
        if !pipeline.store.begin_step(id, step.number, now_ms()).await? {
            (state, why) = (PlanState::Cancelled, "the plan was stopped");
            break;
        }
        done.push(step.number);
        pipeline.bus.publish(Change::Plan(id));
        let view = match drifted {
            None => one(pipeline, &plan, step).await?,
            Some(error) => unsent(pipeline, &plan, step, error).await?,
        };
        let end = end_of(&view);
        let good = is_good(end.state);
        tracing::info!(plan = %id, step = step.number, state = end.state.as_str(), "a step ended");
        pipeline.store.end_step(id, step.number, end, now_ms()).await?;
        pipeline.bus.publish(Change::Plan(id));
        if !good {
            state = PlanState::Failed;
            if !plan.keep_going {
                why = "another step did not do what it should";
                break;
            }
        }
    }
    pipeline.store.end_plan(id, state, now_ms()).await?;
    close_waiting(pipeline, &plan, &skipped(id, why)).await?;
    publish(pipeline, &plan);
    Ok(())
}
