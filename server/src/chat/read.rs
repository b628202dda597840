//! Splits an answer of a model into calls, unreadable calls and text.

use orion_domain::extract::{ExtractProblem, ExtractedCall, extract, from_native};

use super::turn::Turn;
use crate::model::Answer;

impl Turn<'_> {
    /// Splits an answer into calls, unreadable calls and the text around them.
    pub(super) fn read(
        &self,
        answer: &Answer,
    ) -> (Vec<ExtractedCall>, Vec<ExtractProblem>, String) {
        if !self.pipeline.config.chat.tools_enabled {
            return (Vec::new(), Vec::new(), answer.text.clone());
        }
        if answer.native_calls.is_empty() {
            let extraction = extract(&answer.text);
            return (extraction.calls, extraction.problems, extraction.text);
        }
        let (mut calls, mut problems) = (Vec::new(), Vec::new());
        for call in &answer.native_calls {
            match from_native(Some(&call.id), &call.name, &call.arguments) {
                Ok(call) => calls.push(call),
                Err(problem) => problems.push(problem),
            }
        }
        (calls, problems, answer.text.clone())
    }
}
