//! The tokens and tags that models put around calls, reasoning, results and turns.

use super::forms::{DSML, FUNCTION, INVOKE, Xml};

/// What a marker means.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    /// Calls follow, up to its counterpart.
    Open,
    /// The calls end.
    Close,
    /// Calls follow that may be Python expressions.
    Python,
    /// Calls of GLM may follow, or JSON.
    OpenOrGlm,
    /// One call in XML.
    Xml(&'static Xml),
    /// One call of Gemma, with its closing token.
    Gemma(&'static str),
    /// One call of Kimi K2.
    Kimi,
    /// One call of DeepSeek.
    DeepSeek,
    /// Calls of Mistral in either form.
    Mistral,
    /// A message of Harmony.
    Harmony,
    /// Reasoning, up to this text.
    Thought(&'static str),
    /// The end of reasoning that started in the prompt.
    ThoughtEnd,
    /// What a tool or a person said, up to this text.
    Echo(&'static str),
    /// A comment, up to this text.
    Comment(&'static str),
    /// The header of a turn, with its role behind it.
    Turn,
    /// The turn of somebody else.
    Foreign,
    /// A token without a meaning for the text.
    Token,
    /// A token at the end of the text, and a tag elsewhere.
    Last,
}

use Meaning::{
    Close, Comment, DeepSeek, Echo, Foreign, Gemma, Harmony, Kimi, Last, Mistral, Open, OpenOrGlm,
    Python, Thought, ThoughtEnd, Token, Turn,
};

/// The markers that begin with `<`. Of two where one begins the other, the longer one is first.
const ANGLED: &[(&str, Meaning)] = &[
    ("<tool_call>", OpenOrGlm),
    ("</tool_call>", Close),
    ("<tool_calls>", Open),
    ("</tool_calls>", Close),
    ("<function_call>", Open),
    ("</function_call>", Close),
    ("<function_calls>", Open),
    ("</function_calls>", Close),
    ("<TOOLCALL>", Open),
    ("</TOOLCALL>", Close),
    ("<minimax:tool_call>", Open),
    ("</minimax:tool_call>", Close),
    ("<seed:tool_call>", Open),
    ("</seed:tool_call>", Close),
    ("<｜DSML｜function_calls>", Open),
    ("</｜DSML｜function_calls>", Close),
    (FUNCTION.open, Meaning::Xml(&FUNCTION)),
    (INVOKE.open, Meaning::Xml(&INVOKE)),
    (DSML.open, Meaning::Xml(&DSML)),
    ("<|tool_call|>", Open),
    ("<|/tool_call|>", Close),
    ("<|tool_call>", Gemma("<tool_call|>")),
    ("<start_function_call>", Gemma("<end_function_call>")),
    ("<|tool_calls_section_begin|>", Open),
    ("<|tool_calls_section_end|>", Close),
    ("<|tool_call_begin|>", Kimi),
    ("<｜tool▁calls▁begin｜>", Open),
    ("<｜tool▁calls▁end｜>", Close),
    ("<｜tool▁call▁begin｜>", DeepSeek),
    ("<|START_ACTION|>", Open),
    ("<|END_ACTION|>", Close),
    ("<|action_start|><|plugin|>", Open),
    ("<|action_end|>", Close),
    ("<|python_tag|>", Python),
    ("<|python_start|>", Python),
    ("<|python_end|>", Close),
    ("<think>", Thought("</think>")),
    ("</think>", ThoughtEnd),
    ("<thinking>", Thought("</thinking>")),
    ("</thinking>", ThoughtEnd),
    ("<thought>", Thought("</thought>")),
    ("<reasoning>", Thought("</reasoning>")),
    ("<seed:think>", Thought("</seed:think>")),
    ("<|channel>", Thought("<channel|>")),
    ("<|START_THINKING|>", Thought("<|END_THINKING|>")),
    ("<!--", Comment("-->")),
    ("<tool_response>", Echo("</tool_response>")),
    ("<tool_result>", Echo("</tool_result>")),
    ("<tool_results>", Echo("</tool_results>")),
    ("<tool_output>", Echo("</tool_output>")),
    ("<function_results>", Echo("</function_results>")),
    ("<function_response>", Echo("</function_response>")),
    ("<observation>", Echo("</observation>")),
    ("<blockquote>", Echo("</blockquote>")),
    ("<code>", Echo("</code>")),
    ("<pre>", Echo("</pre>")),
    ("<q>", Echo("</q>")),
    ("<example>", Echo("</example>")),
    ("<start_function_response>", Echo("<end_function_response>")),
    ("<|tool_response>", Echo("<tool_response|>")),
    ("<|START_TOOL_RESULT|>", Echo("<|END_TOOL_RESULT|>")),
    ("<｜tool▁outputs▁begin｜>", Echo("<｜tool▁outputs▁end｜>")),
    ("<｜tool▁output▁begin｜>", Echo("<｜tool▁output▁end｜>")),
    ("<|channel|>", Harmony),
    ("<|start|>", Harmony),
    ("<|im_start|>", Turn),
    ("<|start_header_id|>", Turn),
    ("<|header_start|>", Turn),
    ("<start_of_turn>", Turn),
    ("<|turn>", Turn),
    ("<|im_system|>", Foreign),
    ("<|im_user|>", Foreign),
    ("<|user|>", Foreign),
    ("<|system|>", Foreign),
    ("<|observation|>", Foreign),
    ("<｜User｜>", Foreign),
    ("<|im_assistant|>assistant<|im_middle|>", Token),
    ("<|assistant|>", Token),
    ("<｜Assistant｜>", Token),
    ("<|eom_id|>", Token),
    ("<|eot_id|>", Token),
    ("<|eot|>", Token),
    ("<|im_end|>", Token),
    ("<|end|>", Token),
    ("<|call|>", Token),
    ("<|return|>", Token),
    ("<|begin_of_text|>", Token),
    ("<|end_of_text|>", Token),
    ("<|endoftext|>", Token),
    ("<end_of_turn>", Token),
    ("<turn|>", Token),
    ("<｜begin▁of▁sentence｜>", Token),
    ("<｜end▁of▁sentence｜>", Token),
    ("</s>", Last),
    ("<eos>", Last),
];

/// The markers that begin with a bracket.
const BRACKETED: &[(&str, Meaning)] = &[
    ("[TOOL_CALLS]", Mistral),
    ("[THINK]", Thought("[/THINK]")),
    ("[TOOL_RESULTS]", Echo("[/TOOL_RESULTS]")),
    ("[AVAILABLE_TOOLS]", Echo("[/AVAILABLE_TOOLS]")),
    ("[INST]", Echo("[/INST]")),
];

/// Returns the marker with which a text begins.
pub(super) fn marker(rest: &str) -> Option<(&'static str, Meaning)> {
    let markers = if rest.starts_with('<') { ANGLED } else { BRACKETED };
    markers.iter().copied().find(|(token, _)| rest.starts_with(token))
}

/// Returns whether the role behind the header of a turn is the model's own, and the length of the header.
pub(super) fn own_turn(behind: &str) -> Option<usize> {
    let role = ["assistant", "model"].into_iter().find(|role| behind.starts_with(role))?;
    let rest = behind.get(role.len()..)?;
    let ends = ["<|end_header_id|>", "<|header_end|>", "\n"];
    let end = ends.into_iter().find(|end| rest.starts_with(end)).map_or(0, str::len);
    Some(role.len() + end)
}
