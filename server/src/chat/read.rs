//! Splits an answer of a model into calls, unreadable calls and text.

use orion_domain::extract::{
    ExtractProblem, ExtractedCall, Extraction, SetAside, extract, from_native,
};

use super::error::ChatError;
use super::turn::Turn;
use crate::model::Answer;
use crate::pipeline;

/// What an answer holds.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) calls: Vec<ExtractedCall>,
    pub(super) problems: Vec<ExtractProblem>,
    /// What is written like a call and not meant as one.
    pub(super) set_aside: Vec<SetAside>,
    /// The text around the calls.
    pub(super) text: String,
}

impl Reading {
    fn of(answer: &Answer) -> Self {
        if answer.native_calls.is_empty() && !answer.offered_natively {
            let Extraction { calls, problems, set_aside, text } = extract(&answer.text);
            return Self { calls, problems, set_aside, text };
        }
        let mut reading = Self { text: answer.text.clone(), ..Self::default() };
        for call in &answer.native_calls {
            match from_native(Some(&call.id), &call.name, &call.arguments) {
                Ok(call) => reading.calls.push(call),
                Err(problem) => reading.problems.push(problem),
            }
        }
        // What looks like a call is said, and never made.
        if answer.offered_natively && has_call(&extract(&answer.text)) {
            reading.problems.push(ExtractProblem::WrittenAsText);
        }
        reading
    }
}

/// Returns whether a text has a call, or something that was meant as one.
fn has_call(found: &Extraction) -> bool {
    let is_call = |problem: &ExtractProblem| {
        !matches!(
            problem,
            ExtractProblem::UnfinishedThinking { .. } | ExtractProblem::TooLarge { .. }
        )
    };
    !found.calls.is_empty() || found.problems.iter().any(is_call)
}

impl Turn<'_> {
    /// Splits an answer into calls, unreadable calls and the text around them.
    ///
    /// # Errors
    /// The database cannot be read.
    pub(super) async fn read(&self, answer: &Answer) -> Result<Reading, ChatError> {
        if !self.pipeline.config.chat.tools_enabled {
            return Ok(Reading { text: answer.text.clone(), ..Reading::default() });
        }
        let mut reading = Reading::of(answer);
        for call in &mut reading.calls {
            *call = pipeline::extract::typed(self.pipeline, &self.caller, call.clone()).await?;
        }
        Ok(reading)
    }
}

/// Returns what the person is told of calls that were not made. `None` where there are none.
pub(super) fn told(set_aside: &[SetAside]) -> Option<String> {
    let mut reasons: Vec<&str> = set_aside.iter().map(|aside| aside.why.as_str()).collect();
    reasons.dedup();
    let reasons = reasons.join("; ");
    (!set_aside.is_empty()).then(|| {
        format!("The answer has what is written like a tool call, which was not made: {reasons}.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::NativeCall;

    const CALL: &str = r#"{"tool":"get_datetime"}"#;

    fn read(text: &str, offered_natively: bool, native: bool) -> (usize, Vec<ExtractProblem>) {
        let call =
            NativeCall { id: "a".into(), name: "get_datetime".into(), arguments: "{}".into() };
        let native_calls = if native { vec![call] } else { Vec::new() };
        let text = text.to_owned();
        let reading =
            Reading::of(&Answer { text, native_calls, offered_natively, ..Answer::default() });
        (reading.calls.len(), reading.problems)
    }

    #[test]
    fn text_is_searched_where_tools_were_not_offered_natively() {
        assert_eq!(read(CALL, false, false), (1, vec![]));
        assert_eq!(read("Hello.", false, false), (0, vec![]));
    }

    #[test]
    fn what_looks_like_a_call_beside_native_tools_is_a_problem_and_no_call() {
        let problem = vec![ExtractProblem::WrittenAsText];
        assert_eq!(read(CALL, true, false), (0, problem.clone()));
        assert_eq!(read(CALL, true, true), (1, problem.clone()));
        assert_eq!(read("{\"tool\":", true, false), (0, problem));
        assert_eq!(read("I will not run {\"tool\":\"x\"}", true, false), (0, vec![]));
        assert_eq!(read("Hello.", true, true), (1, vec![]));
    }

    #[test]
    fn a_native_answer_to_a_prompt_with_tools_as_text_is_taken() {
        assert_eq!(read(CALL, false, true), (1, vec![]));
    }
}
