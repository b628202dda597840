//! Formats memories.

use orion_wire::v1;
use serde::Serialize;

use crate::output::{Output, table};
use crate::text;

/// A memory for programs; the comments in `proto/` describe the fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct MemoryView {
    pub(crate) memory_id: String,
    pub(crate) text: String,
    pub(crate) tags: Vec<String>,
    pub(crate) untrusted: bool,
    pub(crate) created_at: i64,
}

impl From<v1::Memory> for MemoryView {
    fn from(memory: v1::Memory) -> Self {
        let v1::Memory { memory_id, text, tags, untrusted, created_at } = memory;
        Self { memory_id, text, tags, untrusted, created_at }
    }
}

/// Formats memories.
pub(crate) fn memories_table(out: &Output, memories: &[MemoryView]) -> String {
    if memories.is_empty() {
        return String::new();
    }
    let row = |memory: &MemoryView| {
        vec![
            memory.memory_id.chars().take(18).collect(),
            text::one_line(&memory.text, 100),
            text::one_line(&memory.tags.join(","), 60),
            if memory.untrusted { "untrusted" } else { "you" }.to_owned(),
            text::when(&out.zone, memory.created_at),
        ]
    };
    table(&["ID", "TEXT", "TAGS", "FROM", "WRITTEN"], memories.iter().map(row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global::Format;

    const OUT: Output = Output::in_a_test(Format::Table);

    #[test]
    fn memories_stand_in_a_table_and_their_text_on_one_line() {
        let memory = v1::Memory {
            memory_id: "01a2fc13-f72a-727b-b838-c743fc081867".to_owned(),
            text: "Backups run\nat 03:00.".to_owned(),
            tags: vec!["backup".to_owned(), "nas".to_owned()],
            untrusted: true,
            created_at: 1_700_000_000_000,
        };
        let shown = memories_table(&OUT, &[memory.into()]);
        let [head, row] = &shown.lines().collect::<Vec<_>>()[..] else { panic!("{shown}") };
        let cells = |line: &str| {
            line.split("  ")
                .map(|it| it.trim().to_owned())
                .filter(|it| !it.is_empty())
                .collect::<Vec<_>>()
        };
        assert_eq!(cells(head), ["ID", "TEXT", "TAGS", "FROM", "WRITTEN"]);
        let [id, _, tags, from, written] = &cells(row)[..] else { panic!("{row}") };
        assert_eq!(
            [id, tags, from, written],
            ["01a2fc13-f72a-727b", "backup,nas", "untrusted", "2023-11-14 22:13:20"]
        );
        assert_eq!(memories_table(&OUT, &[]), "");
    }
}
