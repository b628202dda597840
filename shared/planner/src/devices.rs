//! The device that a request names, and requests that name several.

use crate::function_words::{is_joining, is_restricting};
use crate::polite::after;
use crate::words::Word;

/// Returns the words without the device, and the device. The device is at the end, at the start or, as in
/// Dutch, after the verb. "On this computer" names none.
pub(crate) fn device(text: &str, words: &[Word]) -> (Vec<Word>, Option<String>) {
    let ends = (2..=4).filter_map(|length| words.len().checked_sub(length));
    let starts: Vec<usize> = ends.chain(0..words.len().min(4)).collect();
    for start in starts {
        let Some(tail) = words.get(start..) else { continue };
        let Some((rest, device)) = on(text, tail) else { continue };
        if start > 3 && !rest.is_empty() {
            continue;
        }
        let around = [words.get(..start).unwrap_or_default(), rest].concat();
        return (around, device);
    }
    (words.to_vec(), None)
}

/// Returns what follows "on DEVICE", and the device. None where words do not begin so.
fn on<'a>(text: &str, words: &'a [Word]) -> Option<(&'a [Word], Option<String>)> {
    const ON: &[&str] = &[
        "on_the_device",
        "on_device",
        "on_the_computer",
        "on_the",
        "on_my",
        "on_this",
        "on",
        "from_my_device",
        "op_het_apparaat",
        "op_apparaat",
        "op_de_computer",
        "op_de",
        "op_het",
        "op_mijn",
        "op_deze",
        "op_dit",
        "op",
    ];
    ON.iter().find_map(|phrase| {
        let (name, rest) = after(words, phrase)?.split_first()?;
        match name.key.as_str() {
            "computer" | "pc" | "device" | "machine" | "system" | "apparaat" | "disk"
            | "schijf" | "systeem" | "here" => Some((rest, None)),
            key if NO_DEVICES.contains(&key) => None,
            _ => device_name(text, name).map(|device| (rest, Some(device))),
        }
    })
}

/// Returns a device's name, or a selector such as `label:env=lab`.
pub(crate) fn device_name(text: &str, word: &Word) -> Option<String> {
    let name = text.get(word.start..word.end)?;
    if word.quoted.is_none() && (is_joining(&word.key) || is_restricting(&word.key)) {
        return None;
    }
    let fits = name.len() <= 128
        && name.starts_with(|letter: char| letter.is_ascii_alphanumeric())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._:=-".contains(&b));
    fits.then(|| name.to_owned())
}

/// Words that name no device.
const NO_DEVICES: &[&str] = &[
    "all",
    "every",
    "each",
    "both",
    "any",
    "alle",
    "alles",
    "elke",
    "iedere",
    "beide",
    "it",
    "that",
    "this",
    "them",
    "top",
    "time",
    "port",
    "line",
    "a",
    "an",
    "the",
    "my",
    "desktop",
    "bureaublad",
    "which",
    "what",
    "welke",
    "welk",
    "poort",
    "een",
    "de",
    "het",
    "dit",
    "dat",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "maandag",
    "dinsdag",
    "woensdag",
    "donderdag",
    "vrijdag",
    "zaterdag",
    "zondag",
    "slot",
    "zich",
];

/// Returns why a request for several devices at once is not made, if it is one.
pub(crate) fn several_devices(words: &[Word]) -> Option<&'static str> {
    const LEADS: &[&str] = &[
        "on_all",
        "on_every",
        "on_each",
        "on_both",
        "on_my_laptops",
        "on_the_laptops",
        "op_alle",
        "op_elke",
        "op_elk",
        "op_iedere",
        "op_ieder",
        "op_al",
        "op_beide",
        "everywhere",
        "overal",
        "on_any",
    ];
    let starts = (0..words.len()).filter_map(|start| words.get(start..));
    let found = starts
        .flat_map(|tail| LEADS.iter().map(move |lead| after(tail, lead)))
        .any(|it| it.is_some());
    found.then_some("several_devices")
}
