//! What a chat used of language models, for people and programs.

use orion_wire::v1;
use serde::Serialize;

/// What was used; the comments in `proto/` describe the fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct UsageView {
    input_tokens: u64,
    output_tokens: u64,
    cached_tokens: u64,
    estimated: bool,
    cost_nanos: u64,
}

impl From<v1::Usage> for UsageView {
    fn from(usage: v1::Usage) -> Self {
        let v1::Usage { input_tokens, output_tokens, cached_tokens, estimated, cost_nanos } = usage;
        Self { input_tokens, output_tokens, cached_tokens, estimated, cost_nanos }
    }
}

impl UsageView {
    /// Formats it in one line.
    pub(crate) fn line(&self) -> String {
        let about = if self.estimated { "about " } else { "" };
        let cached = match self.cached_tokens {
            0 => String::new(),
            tokens => format!(" ({tokens} from the cache)"),
        };
        let cost = match self.cost_nanos / 1000 {
            0 => String::new(),
            millionths => {
                format!(", cost {}.{:06}", millionths / 1_000_000, millionths % 1_000_000)
            }
        };
        format!("{about}{} tokens in{cached}, {} out{cost}", self.input_tokens, self.output_tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_what_is_known() {
        let usage = UsageView {
            input_tokens: 1200,
            output_tokens: 34,
            cached_tokens: 0,
            estimated: false,
            cost_nanos: 0,
        };
        assert_eq!(usage.line(), "1200 tokens in, 34 out");
        let usage =
            UsageView { cached_tokens: 900, cost_nanos: 1_002_500_999, estimated: true, ..usage };
        assert_eq!(
            usage.line(),
            "about 1200 tokens in (900 from the cache), 34 out, cost 1.002500"
        );
    }
}
