//! Previews the steps of a plan that is made. What an earlier step changes cannot be previewed: it is
//! compared before that step runs.

use std::sync::Arc;

use orion_domain::evaluate::Decision;
use orion_domain::{Access, DevicePath, ErrorCode, Observation, ToolError, Touches};
use serde_json::Value;

use super::Planned;
use crate::pipeline::Pipeline;
use crate::pipeline::authorize::EvaluatedCall;
use crate::pipeline::preview::{Preview, PreviewResult, observe};
use crate::store::EarlierChanges;

/// Has the device preview a step.
pub(super) async fn preview(
    pipeline: &Arc<Pipeline>,
    evaluated: EvaluatedCall,
    earlier: &[Planned],
) -> Result<Planned, ToolError> {
    let changed = changed_before(&evaluated, earlier);
    let touched = evaluated.parsed.touches.paths.clone();
    let paths: Vec<&DevicePath> = touched.iter().map(|it| &it.path).collect();
    let meets =
        |path: &DevicePath, changed: &DevicePath| changed.contains(path) || path.contains(changed);
    let after = changed
        .iter()
        .filter(|(_, changed)| paths.iter().any(|path| meets(path, changed)))
        .map(|(number, _)| *number)
        .max();
    let seen = match observe(pipeline, &evaluated)
        .await
        .map_err(ToolError::from)
        .and_then(PreviewResult::comparable)
    {
        Ok(seen) => seen,
        Err(error) if is_missing(error.code) && is_made(&evaluated, &error, &changed) => {
            PreviewResult { preview: Preview::Missing, observed: Vec::new() }
        }
        Err(error) => return Err(error),
    };
    let mut counts = evaluated.counts.clone();
    counts.raises = seen.preview.raises();
    let evaluated = evaluated.with(counts);
    if evaluated.decision() == Decision::Deny {
        return Err(evaluated.refusal());
    }
    if evaluated.preview_first() && !matches!(seen.preview, Preview::Shown(_)) {
        return Err(ToolError::new(
            ErrorCode::PreconditionFailed,
            "A preview of this step must be shown first, and there is none.",
        )
        .hint("make it a call or a plan of its own"));
    }
    // What an earlier step changes must differ at this step's turn. It is compared before the first step
    // that changes any of it.
    let met = |seen: &Observation| {
        let path = paths.iter().find(|path| path.to_string() == seen.path)?;
        changed.iter().filter(|(_, it)| meets(path, it)).map(|(number, _)| *number).min()
    };
    let (observed, of_earlier): (Vec<_>, Vec<_>) =
        seen.observed.into_iter().partition(|seen| met(seen).is_none());
    let before = of_earlier.iter().filter_map(met).min();
    let earlier = before.map(|before| EarlierChanges { before, seen: of_earlier });
    let seen = PreviewResult { observed, ..seen };
    Ok(Planned { evaluated, seen, earlier, after })
}

/// Returns whether an earlier step touches the missing path or a folder that contains it.
fn is_made(evaluated: &EvaluatedCall, error: &ToolError, changed: &[(u32, DevicePath)]) -> bool {
    let touches = &evaluated.parsed.touches.paths;
    let reported = error.details.get("attempted_path").and_then(Value::as_str);
    let missing: Vec<DevicePath> = match (reported, touches.first()) {
        (Some(reported), Some(first)) => {
            DevicePath::parse(first.path.style(), reported).into_iter().collect()
        }
        (None | Some(_), _) => touches.iter().map(|it| it.path.clone()).collect(),
    };
    missing.iter().any(|path| changed.iter().any(|(_, changed)| changed.contains(path)))
}

/// Returns what earlier steps change on the same device, with the number of each step.
fn changed_before(evaluated: &EvaluatedCall, earlier: &[Planned]) -> Vec<(u32, DevicePath)> {
    let device = evaluated.target.device.id;
    let changes = |touches: &Touches| {
        let changed = touches.paths.iter().filter(|touch| touch.access != Access::Read);
        changed.map(|touch| touch.path.clone()).collect::<Vec<_>>()
    };
    (1_u32..)
        .zip(earlier)
        .filter(|(_, step)| {
            step.evaluated.target.device.id == device && step.evaluated.target.spec.has_effects
        })
        .flat_map(|(number, step)| {
            changes(&step.evaluated.parsed.touches).into_iter().map(move |path| (number, path))
        })
        .collect()
}

const fn is_missing(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::FileNotFound | ErrorCode::DirectoryNotFound | ErrorCode::PathNotFound)
}
