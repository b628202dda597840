//! Formats macros.

use orion_wire::v1;
use serde::Serialize;
use serde_json::Value;

use crate::output::{Output, table};
use crate::text;

/// A macro for programs; the comments in `proto/` describe the fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct MacroView {
    pub(crate) name: String,
    pub(crate) steps: Vec<MacroStepView>,
    pub(crate) parameters: Vec<String>,
    pub(crate) untrusted: bool,
    pub(crate) saved_at: i64,
}

/// A call of a macro.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct MacroStepView {
    pub(crate) tool: String,
    pub(crate) device: String,
    pub(crate) arguments: Value,
}

impl From<v1::Macro> for MacroView {
    fn from(kept: v1::Macro) -> Self {
        let v1::Macro { name, steps, parameters, untrusted, saved_at } = kept;
        let steps = steps.into_iter().map(|step| {
            let v1::MacroStep { tool, device, arguments } = step;
            let arguments = serde_json::from_slice(&arguments).unwrap_or_default();
            MacroStepView { tool, device, arguments }
        });
        Self { name, steps: steps.collect(), parameters, untrusted, saved_at }
    }
}

/// Formats macros.
pub(crate) fn macros_table(out: &Output, macros: &[MacroView]) -> String {
    if macros.is_empty() {
        return String::new();
    }
    let row = |kept: &MacroView| {
        let tools: Vec<_> = kept.steps.iter().map(|step| step.tool.as_str()).collect();
        vec![
            text::one_line(&kept.name, 40),
            kept.steps.len().to_string(),
            text::one_line(&tools.join(", "), 100),
            text::one_line(&kept.parameters.join(","), 60),
            text::when(&out.zone, kept.saved_at),
        ]
    };
    table(&["NAME", "CALLS", "TOOLS", "PARAMETERS", "SAVED"], macros.iter().map(row))
}

/// Formats one macro.
pub(crate) fn macro_page(out: &Output, kept: &MacroView) -> String {
    let row = |(number, step): (usize, &MacroStepView)| {
        let device = if step.device.is_empty() { "-" } else { &step.device };
        vec![
            (number + 1).to_string(),
            text::one_line(&step.tool, 64),
            text::one_line(device, 63),
            text::one_line(&step.arguments.to_string(), 200),
        ]
    };
    let steps =
        table(&["STEP", "TOOL", "DEVICE", "ARGUMENTS"], kept.steps.iter().enumerate().map(row));
    let parameters = match &kept.parameters[..] {
        [] => "none".to_owned(),
        names => text::one_line(&names.join(", "), 200),
    };
    let saved = text::when(&out.zone, kept.saved_at);
    let name = text::one_line(&kept.name, 40);
    format!("macro      {name}\nparameters {parameters}\nsaved      {saved}\n\n{steps}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global::Format;
    use crate::show::cells;

    const OUT: Output = Output::in_a_test(Format::Table);

    #[test]
    fn macros_stand_in_a_table_and_on_a_page() {
        let step = v1::MacroStep {
            tool: "create_directory".to_owned(),
            device: "laptop-123".to_owned(),
            arguments: br#"{"path":"{{folder}}"}"#.as_slice().into(),
        };
        let kept = MacroView::from(v1::Macro {
            name: "new-project".to_owned(),
            steps: vec![step],
            parameters: vec!["folder".to_owned()],
            untrusted: false,
            saved_at: 1_700_000_000_000,
        });
        assert_eq!(
            cells(&macros_table(&OUT, std::slice::from_ref(&kept))),
            [
                ["NAME", "CALLS", "TOOLS", "PARAMETERS", "SAVED"],
                ["new-project", "1", "create_directory", "folder", "2023-11-14 22:13:20"]
            ]
        );
        let page = macro_page(&OUT, &kept);
        let (head, steps) = page.split_once("\n\n").unwrap();
        assert_eq!(
            head.lines().collect::<Vec<_>>(),
            ["macro      new-project", "parameters folder", "saved      2023-11-14 22:13:20"]
        );
        assert_eq!(
            cells(steps),
            [
                ["STEP", "TOOL", "DEVICE", "ARGUMENTS"],
                ["1", "create_directory", "laptop-123", r#"{"path":"{{folder}}"}"#]
            ]
        );
        assert_eq!(macros_table(&OUT, &[]), "");
    }
}
