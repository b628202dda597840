//! Arguments of a call that were validated.

use orion_domain::{CanonicalArguments, ErrorCode, ToolError, ToolFacts, Touches, Undo};

/// Arguments that were validated against the tool's schema.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedCall {
    /// Every argument, defaults included, in the canonical form that is hashed and sent.
    pub arguments: CanonicalArguments,
    /// What the call would touch.
    pub touches: Touches,
    /// Whether `confirm` was given where it is required.
    pub confirmed: bool,
    /// What the policy needs to know about the call's effects.
    pub facts: ToolFacts<'static>,
    /// Why the call has its risk, where that depends on the arguments.
    pub reasons: Vec<String>,
    /// The effect of an undo call. `None` for other calls, and until the effect is known.
    pub undo: Option<Undo>,
}

impl ParsedCall {
    /// Adds the effect of an undo call. An undo that repeats a call is evaluated as that call and as
    /// itself: `touched` is what that call touched, and it was confirmed when it was made.
    ///
    /// # Errors
    /// `PRECONDITION_FAILED` where this version has no such tool.
    pub fn undoing(self, undo: Undo, touched: &Touches) -> Result<Self, ToolError> {
        if !undo.redo {
            return Ok(Self { undo: Some(undo), ..self });
        }
        let Some((spec, _)) = crate::find(&undo.tool) else {
            return Err(ToolError::new(
                ErrorCode::PreconditionFailed,
                "The call cannot be done again, because its tool is not known.",
            )
            .hint("make a new call"));
        };
        Ok(Self {
            facts: spec.facts().called_by(self.facts),
            touches: touched.clone().and(self.touches),
            undo: Some(undo),
            ..self
        })
    }
}
