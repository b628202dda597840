//! How long the extractor reads text that holds no call, however it is written: the worst of these takes the longest.

use std::hint::black_box;
use std::time::Instant;

use orion_domain::extract::{MAX_OUTPUT_BYTES, extract};
use serde_json::{Value, json};

use super::measure::median;

/// How many bytes are read in a round: ten of the longest outputs that are accepted.
const OUTPUTS: usize = 10;
/// How many rounds there are.
const ROUNDS: usize = 5;
/// What is repeated to fill an output, by its name.
const KINDS: [(&str, &str); 8] = [
    ("prose", "the quick brown fox jumps over the lazy dog "),
    ("open braces", "{"),
    ("open keys", "{\"a\":"),
    ("open lists in fences", "```a\n[1,\""),
    ("tokens of a form", "<tool_call>{"),
    ("tags that never close", "<function=a><parameter=b>"),
    ("small objects", "{\"tool\":1} "),
    ("signs", "é}\\\"`<|,:"),
];

/// Measures, and prints a table.
#[expect(clippy::print_stdout, reason = "the table is what was asked for")]
pub(crate) fn run() -> Value {
    println!("\n10 MiB without a call, in ten outputs; medians of {ROUNDS}, with spread");
    let mut rows = serde_json::Map::new();
    for (name, unit) in KINDS {
        let text = unit.repeat(MAX_OUTPUT_BYTES / unit.len());
        let times = (0..ROUNDS).map(|_| {
            let began = Instant::now();
            for _ in 0..OUTPUTS {
                black_box(extract(black_box(&text)));
            }
            began.elapsed().as_secs_f64() * 1e3
        });
        let (time, least, most) = median(times.collect());
        println!("{name:<34}{time:>14.0} ms ({least:.0}–{most:.0})");
        rows.insert(name.to_owned(), json!({"median_ms": time, "most_ms": most}));
    }
    Value::Object(rows)
}
