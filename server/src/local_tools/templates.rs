//! Code from templates: what a few words describe is written out with its measures, and nothing is guessed.

mod arduino;
mod openscad;
mod words;

use orion_catalog::generated_code::{Arguments, Returns};
use orion_catalog::tools::generate_arduino_code::GenerateArduinoCode;
use orion_catalog::tools::generate_openscad::GenerateOpenscad;
use orion_catalog::tools::planned_call::PlannedCall;
use orion_domain::{CallState, Envelope, ErrorCode, ToolError, visible};
use serde_json::{Map, Value};

use super::own_calls::OwnCalls;
use super::{Context, Effect, LocalTool, Outcome};
use words::Words;

/// What is unknown of a call that was broken off while it saved its code.
const BROKEN_OFF: Effect = Effect::Outside {
    unknown: "Whether the code was saved is not known.",
    hint: "look at the file, or make the call again",
};

impl LocalTool for GenerateOpenscad {
    const EFFECT: Effect = BROKEN_OFF;

    async fn run(arguments: Arguments, context: Context) -> Result<Outcome<Returns>, ToolError> {
        let code = openscad::write(&Words::of(&arguments.description));
        finish(code, openscad::FORMS, arguments, &context).await
    }
}

impl LocalTool for GenerateArduinoCode {
    const EFFECT: Effect = BROKEN_OFF;

    async fn run(arguments: Arguments, context: Context) -> Result<Outcome<Returns>, ToolError> {
        let code = arduino::write(&Words::of(&arguments.description));
        finish(code, arduino::FORMS, arguments, &context).await
    }
}

/// Puts the description before the code, and saves it as the arguments say.
async fn finish(
    code: Option<String>,
    forms: &[&str],
    arguments: Arguments,
    context: &Context,
) -> Result<Outcome<Returns>, ToolError> {
    let Some(code) = code else {
        let message = "This template does not know how to write that.";
        return Err(ToolError::new(ErrorCode::InvalidArgument, message)
            .with("understands", forms)
            .hint(
                "describe it in one of these forms, or write the code and save it with write_file",
            ));
    };
    // One line, so that no word of the description becomes code.
    let described = visible(&arguments.description).replace(['\n', '\r'], " ");
    let code = format!("// {described}\n\n{code}");
    let mut data = Returns {
        code,
        checked: false,
        check_output:
            "Not checked: the backend runs no programs. Open the file in its program to check it."
                .to_owned(),
        saved_call_id: None,
        saved_state: None,
    };
    let (Some(device), Some(path)) = (arguments.save_on, arguments.path) else {
        let message = "The code is written. No compiler has checked it.".to_owned();
        return Ok(Outcome { message, data, truncated: false });
    };
    if context.dry_run {
        let message =
            format!("The code would be saved as {} on {}.", visible(&path), visible(&device));
        return Ok(Outcome { message, data, truncated: false });
    }
    let mut write = Map::new();
    write.insert("path".to_owned(), path.into());
    write.insert("content".to_owned(), data.code.clone().into());
    let call =
        PlannedCall { tool: "write_file".to_owned(), device: Some(device), arguments: write };
    let view = OwnCalls::of(context, false).await?.make(&call).await?;
    let envelope: Option<Envelope> = serde_json::from_slice(&view.result).ok();
    if view.state != CallState::Succeeded {
        let error = envelope.and_then(|envelope| envelope.error).unwrap_or_else(|| {
            ToolError::new(ErrorCode::ExecutionFailed, "The code was not saved.")
        });
        return Err(error.with("saved_call_id", view.call.to_string()));
    }
    let message = envelope.map(|envelope| envelope.message).unwrap_or_default();
    data.saved_call_id = Some(view.call.to_string());
    data.saved_state = Some(view.state.as_str().to_owned());
    let message = format!("The code is written and saved. {message}");
    Ok(Outcome { message, data, truncated: false })
}

/// Returns a number without more digits than it needs.
fn number(value: f64) -> Value {
    serde_json::Number::from_f64((value * 1000.0).round() / 1000.0)
        .map_or(Value::Null, Value::Number)
}
