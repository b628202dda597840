//! `orion extract`: extracts the tool calls from a model's text on standard input.

use clap::Args;
use orion_domain::Hint;
use orion_domain::extract::{ExtractedCall, Extraction, MAX_OUTPUT_BYTES, extract};
use serde_json::Value;

use crate::failure::Failure;
use crate::global::Format;
use crate::input;
use crate::json::FieldsFirst;
use crate::output::{BAD, Output};
use crate::text;

/// Prints the tool calls in a model's text, as JSON.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  printf '%s' 'Sure! {\"tool\":\"create_directory\",\"path\":\"Test\"} done' | orion extract
  orion extract --details < answer.txt

Reads JSON alone, in fences and in prose, and the forms of Hermes, Llama 3 and 4, Mistral, Qwen 2.5,
Qwen 3 and its coder, DeepSeek, Kimi K2, GLM 4, Gemma, gpt-oss (Harmony), MiniMax, Jamba, Phi 4 and
Nemotron. What the text denies, quotes, shows as an example or tells of is no call: it is noted on
standard error.

One call is printed as an object, several as a list. Without any call the exit code is 3; 1 when
something looked like a call and could not be read as one. Arguments in XML are printed as text.")]
pub(crate) struct Extract {
    /// Also say whether a call was picked out of prose, and whether its arguments are text of unknown types
    #[arg(long)]
    details: bool,
}

impl Extract {
    /// Runs the command.
    ///
    /// # Errors
    /// Standard input cannot be read, or holds no call.
    pub(crate) fn run(self, out: &Output) -> Result<u8, Failure> {
        let given = input::bounded(std::io::stdin().lock(), "standard input", MAX_OUTPUT_BYTES)?;
        if given.trim().is_empty() {
            return Err(Failure::NotFound("nothing came on standard input".to_owned())
                .hint(Hint::run("give it a model's answer", "orion extract < answer.txt")));
        }
        let Extraction { calls, text: _, problems, set_aside } = extract(&given);
        for problem in &problems {
            let problem = text::plain(&problem.to_string());
            out.error_line(&format!("{BAD}problem:{BAD:#} {problem}"));
        }
        for aside in &set_aside {
            out.error_line(&format!("no call at byte {}: {}", aside.start, aside.why.as_str()));
        }
        let details = self.details || out.is_wide();
        let calls: Vec<Value> = calls.iter().map(|call| form(call, details)).collect();
        match calls.as_slice() {
            [] if problems.is_empty() => {
                return Err(Failure::NotFound("there is no tool call in this text".to_owned()));
            }
            [] => return Ok(1),
            [call] => print(out, &ordered(call))?,
            calls => print(out, &calls.iter().map(ordered).collect::<Vec<_>>())?,
        }
        Ok(0)
    }
}

/// Prints the format for programs in every case, because a call has no other.
fn print<T: serde::Serialize>(out: &Output, value: &T) -> Result<(), Failure> {
    let format = match out.format {
        Format::Yaml => Format::Yaml,
        Format::Table | Format::Wide | Format::Json => Format::Json,
    };
    Output { format, ..out.clone() }.show(value, String::new)
}

fn form(call: &ExtractedCall, details: bool) -> Value {
    let mut form = call.flat();
    if details && let Some(object) = form.as_object_mut() {
        object.insert("recovered".to_owned(), call.recovered.into());
        if call.untyped {
            object.insert("untyped".to_owned(), true.into());
        }
    }
    form
}

const fn ordered(call: &Value) -> FieldsFirst<'_> {
    FieldsFirst(call, &["tool", "device"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_in_prose_keeps_the_order_that_people_write() {
        let text = r#"Sure! {"tool":"create_directory","device":"laptop-123","path":"C:/Users/ann/Test"} done"#;
        let calls = extract(text).calls;
        let plain = form(&calls[0], false);
        assert_eq!(
            serde_json::to_string(&ordered(&plain)).unwrap(),
            r#"{"tool":"create_directory","device":"laptop-123","path":"C:/Users/ann/Test"}"#
        );
        assert_eq!(form(&calls[0], true)["recovered"], true);
    }
}
