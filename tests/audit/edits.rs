//! Single changes of an export: of bytes, of lines, and those of somebody who computes every hash anew
//! and lacks nothing but the keys: a device's export is signed anew with another one.

use orion_audit::device::{ChainHeader, ChainLine, DeviceChain, DeviceEntry, DeviceSigner};
use orion_domain::audit::{AuditHead, AuditRow};
use serde_json::Value;

use crate::sample::device_key;

/// Numbers that look drawn and are the same each time (`SplitMix64`).
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn byte(&mut self) -> u8 {
        self.next().to_be_bytes()[0]
    }
}

const KINDS: [&str; 14] = [
    "byte",
    "bit",
    "insert byte",
    "delete byte",
    "delete",
    "insert",
    "swap",
    "cut",
    "cut lines",
    "edit and relink",
    "delete and relink",
    "insert and relink",
    "cut and relink",
    "begin later and relink",
];

/// One change, and what kind it was; it may come out as what it was.
pub(crate) fn edit(chance: &mut Chance, data: &[u8], is_device: bool) -> (&'static str, Vec<u8>) {
    let kind = KINDS[chance.below(KINDS.len())];
    let mut bytes = data.to_vec();
    let at = chance.below(bytes.len());
    match kind {
        "byte" => bytes[at] = chance.byte(),
        "bit" => bytes[at] ^= 1 << chance.below(8),
        "insert byte" => bytes.insert(at, b" \n0a\""[chance.below(5)]),
        "delete byte" => drop(bytes.remove(at)),
        "cut" => bytes.truncate(at),
        _ => bytes = edit_lines(chance, data, is_device, kind),
    }
    (kind, bytes)
}

fn edit_lines(chance: &mut Chance, data: &[u8], is_device: bool, kind: &str) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> =
        data.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let inner = lines.len() - 2;
    let (at, other) = (1 + chance.below(inner), 1 + chance.below(inner));
    match kind {
        "delete" | "delete and relink" => drop(lines.remove(at)),
        "insert" | "insert and relink" => lines.insert(at, lines[other].clone()),
        "swap" => lines.swap(at, other),
        "cut lines" => lines.truncate(at),
        "cut and relink" => {
            let last = lines.pop().unwrap();
            lines.truncate(at);
            lines.push(last);
        }
        "begin later and relink" => drop(lines.drain(1..=at)),
        _ => lines[at] = edit_field(chance, &lines[at]),
    }
    if kind.ends_with("relink") {
        let relinked = if is_device {
            let begins_later = kind.starts_with("begin").then_some(at);
            relink_device(chance, data, &lines, begins_later)
        } else {
            relink(&lines)
        };
        return relinked.unwrap_or_else(|| lines.concat());
    }
    lines.concat()
}

/// Changes one letter or number of one field.
fn edit_field(chance: &mut Chance, line: &[u8]) -> Vec<u8> {
    let Ok(Value::Object(mut object)) = serde_json::from_slice(line) else { return line.to_vec() };
    let field = chance.below(object.len());
    match object.values_mut().nth(field) {
        Some(Value::String(text)) if !text.is_empty() => {
            let mut letters: Vec<char> = text.chars().collect();
            let at = chance.below(letters.len());
            letters[at] = ['a', 'b', '0', '7'][chance.below(4)];
            *text = letters.into_iter().collect();
        }
        Some(value @ Value::Number(_)) => {
            *value = Value::from(value.as_i64().unwrap() + 1);
        }
        _ => return line.to_vec(),
    }
    // The keys of a row stand in another order now, which says nothing; a row is written as rows are.
    let text = serde_json::to_vec(&object).unwrap();
    let row = serde_json::from_slice::<AuditRow>(&text).map(|row| serde_json::to_vec(&row));
    let mut line = row.map_or_else(
        |_| {
            let entry = serde_json::from_slice::<DeviceEntry>(&text);
            entry.map_or(text.clone(), |entry| serde_json::to_vec(&entry).unwrap())
        },
        Result::unwrap,
    );
    line.push(b'\n');
    line
}

/// Makes the rows a chain again, and the header fit.
fn relink(lines: &[Vec<u8>]) -> Option<Vec<u8>> {
    let mut head = AuditHead::EMPTY;
    let mut out = Vec::new();
    for line in lines.iter().skip(1) {
        match serde_json::from_slice::<AuditRow>(line) {
            Ok(row) => {
                let row = AuditRow::link(head, row.at, &row.kind, &row.call_id, row.body);
                head = row.head();
                out.extend(serde_json::to_vec(&row).ok()?);
                out.push(b'\n');
            }
            Err(_) => out.extend_from_slice(line),
        }
    }
    let first: Value = serde_json::from_slice(lines.first()?).ok()?;
    let export = &first["export"];
    let mut text = format!(
        "{{\"export\":{{\"format\":1,\"key\":{},\"head\":{},\"at\":{}}}}}\n",
        export["key"],
        serde_json::to_string(&head).ok()?,
        export["at"]
    )
    .into_bytes();
    text.extend(out);
    Some(text)
}

/// The same for the file of a device, ended as it was or signed by somebody else. Where so many of its
/// entries are gone from its beginning it goes on from the last of them, as it may.
fn relink_device(
    chance: &mut Chance,
    data: &[u8],
    lines: &[Vec<u8>],
    gone: Option<usize>,
) -> Option<Vec<u8>> {
    let end = data.split_inclusive(|byte| *byte == b'\n').next_back()?;
    let chain = match gone {
        Some(gone) => {
            let before = data.strip_suffix(end)?;
            without_beginning(&DeviceChain::read(before).ok()?, gone)
        }
        None => {
            let Some(ChainLine::Header(header)) = ChainLine::from_line(lines.first()?) else {
                return None;
            };
            let mut chain = DeviceChain { header, entries: Vec::new() };
            for line in lines.iter().skip(1) {
                let Ok(entry) = serde_json::from_slice::<DeviceEntry>(line) else { continue };
                let DeviceEntry { what, backend, .. } = entry;
                let head = chain.head();
                chain.push(DeviceEntry::link(&chain.header.device, head, backend, what)).ok()?;
            }
            chain
        }
    };
    let at = serde_json::from_slice::<Value>(end).ok()?["end"]["at"].as_i64()?;
    if chance.below(2) == 0 {
        return Some(SOMEBODY.with(|key| key.export(&chain, at)).ok()?.into_bytes());
    }
    // The head fits, and the signature is what it was.
    let end: Value = serde_json::from_slice(end).ok()?;
    let end = &end["end"];
    let end = format!(
        "{{\"end\":{{\"head\":{},\"at\":{at},\"key\":{},\"signature\":{}}}}}\n",
        serde_json::to_string(&chain.head()).ok()?,
        end["key"],
        end["signature"]
    );
    Some((chain.to_lines() + &end).into_bytes())
}

thread_local! {
    /// A key that no device enrolled with.
    static SOMEBODY: DeviceSigner = device_key();
}

/// A chain of which the first entries are gone, as one of which they were dropped.
pub(crate) fn without_beginning(chain: &DeviceChain, gone: usize) -> DeviceChain {
    let from = gone.checked_sub(1).map_or(chain.header.from, |last| chain.entries[last].head());
    let header = ChainHeader::new(&chain.header.device, from);
    DeviceChain { header, entries: chain.entries[gone..].to_vec() }
}
