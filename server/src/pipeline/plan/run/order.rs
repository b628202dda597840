//! The order in which a plan runs: each step, and before it the comparison of later steps with what it
//! changes.

use crate::store::{EarlierChanges, PlanRow, StepRow};

/// The next action.
pub(super) enum NextStep<'a> {
    /// Compares a step with what it was shown with, before an earlier step changes that.
    Compare(&'a StepRow, &'a EarlierChanges),
    /// Runs a step.
    Run(&'a StepRow),
}

impl<'a> NextStep<'a> {
    pub(super) const fn step(&self) -> &'a StepRow {
        match self {
            Self::Compare(step, _) | Self::Run(step) => step,
        }
    }
}

/// Returns the steps in order. Before each step come the later ones that touch what it is the first to
/// change.
pub(super) fn next_steps(plan: &PlanRow) -> impl Iterator<Item = NextStep<'_>> {
    plan.steps.iter().flat_map(|step| {
        let later = plan.steps.iter().filter(|later| {
            later.earlier.as_ref().is_some_and(|earlier| earlier.before == step.number)
        });
        let compared =
            later.filter_map(|later| Some(NextStep::Compare(later, later.earlier.as_ref()?)));
        compared.chain([NextStep::Run(step)])
    })
}
