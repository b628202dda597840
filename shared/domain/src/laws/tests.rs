//! The laws, checked with the seeds of the fuzz targets and with generated inputs.

use std::path::Path;

use proptest::prelude::*;

use super::{extractor, path_rules};

/// Returns the inputs from which a fuzz target starts, one file each.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/seeds").join(target);
    let files = std::fs::read_dir(folder).unwrap();
    let seeds: Vec<_> = files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
    assert!(seeds.len() >= 10, "too few seeds");
    seeds
}

#[test]
fn the_laws_of_paths_hold_for_every_seed() {
    seeds("path_rules").iter().for_each(|seed| path_rules(seed));
}

#[test]
fn the_laws_of_the_extractor_hold_for_every_seed() {
    seeds("extract").iter().for_each(|seed| extractor(seed));
}

fn soup(pieces: &'static [&'static str], most: usize) -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(pieces).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..most).prop_map(|pieces| pieces.concat())
}

const OF_PATHS: &[&str] = &[
    "/",
    "/",
    "/",
    "\\",
    "\n",
    "\n",
    "//",
    "C:",
    "c:/",
    "//s/h",
    "\\\\?\\",
    "..",
    "..",
    ".",
    "a",
    "A",
    "b",
    "...",
    " ",
    "~",
    "$HOME",
    "~/",
    "%USERPROFILE%",
    "*",
    "?",
    "**",
    "**/",
    "-",
    "<",
    "^",
    "+",
    "etc",
    "/etc",
    "var/lib",
    ".ssh",
    ".env",
    "id_rsa",
    "Windows",
    "srv/root",
    "home/ann",
    "Users/ann",
    "é",
    "e\u{301}",
    "İ",
    "ß",
    "\u{200c}",
    "\0",
    ":",
    "NUL",
    "PROGRA~1",
    "%2e%2e",
];

const OF_CALLS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    ":",
    ",",
    " ",
    "\n",
    "'",
    "`",
    "```",
    "```json\n",
    "```py\n",
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "\"tool\"",
    "\"name\"",
    "\"arguments\"",
    "\"parameters\"",
    "\"args\"",
    "\"device\"",
    "\"dry_run\"",
    "\"queue\"",
    "\"t\"",
    "\"{}\"",
    "{\"tool\":\"t\"}",
    "{\"name\":\"t\",\"arguments\":\"{}\"}",
    "\"tool_calls\"",
    "<function=t>",
    "<parameter=a>",
    "</parameter>",
    "</function>",
    "<arg_key>a</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "<|tool_call_begin|>functions.t:0<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "[TOOL_CALLS]",
    "t[ARGS]",
    "[t(a=",
    ")]",
    "<|channel|>commentary to=functions.t<|message|>",
    "<|channel|>analysis<|message|>",
    "<|tool_call>call:t{a:",
    "<|\"|>",
    "<tool_call|>",
    "<!--",
    "-->",
    "\n> ",
    " not ",
    "functools",
    "<|im_start|>user",
    "\"action\"",
    "\"id\"",
    "\"type\"",
    "\"function\"",
    "true",
    "null",
    "1e9",
    "1.1",
    "-",
    "0",
    "é",
    "“",
    "\u{0}",
    "prose",
];

proptest! {
    #[test]
    fn the_laws_of_paths_hold_for_soup(input in soup(OF_PATHS, 40)) {
        path_rules(input.as_bytes());
    }

    #[test]
    fn the_laws_of_paths_hold_for_bytes(input in prop::collection::vec(any::<u8>(), 0..200)) {
        path_rules(&input);
    }

    #[test]
    fn the_laws_of_the_extractor_hold_for_soup(input in soup(OF_CALLS, 60)) {
        extractor(input.as_bytes());
    }

    #[test]
    fn the_laws_of_the_extractor_hold_for_bytes(input in prop::collection::vec(any::<u8>(), 0..200)) {
        extractor(&input);
    }
}
