//! Cuts a preview to a maximum size. A text that was cut says so; the risk raises and the quantity always
//! stay complete.

use orion_domain::{Envelope, Meta};
use serde_json::{Map, Value};

/// The shortest length that one text is cut to, in bytes. If the preview is still too large, only the
/// counts are kept.
const MIN_TEXT_BYTES: usize = 256;
/// How many bytes of the size limit one item of a list takes.
const BYTES_PER_LIST_ITEM: usize = 64;

/// Returns the preview as JSON of at most `most` bytes.
pub(super) fn fitting(envelope: Envelope, most: usize) -> Vec<u8> {
    let fits = |envelope: &Envelope| {
        serde_json::to_vec(envelope).ok().filter(|written| written.len() <= most)
    };
    if let Some(whole) = fits(&envelope) {
        return whole;
    }
    let meta = Meta {
        truncated: true,
        duration_ms: envelope.meta.duration_ms,
        raises: envelope.meta.raises.clone(),
        call_id: text(&envelope.meta.call_id, MIN_TEXT_BYTES),
        device: text(&envelope.meta.device, MIN_TEXT_BYTES),
        tool: text(&envelope.meta.tool, MIN_TEXT_BYTES),
        ..Meta::default()
    };
    let data = envelope.data.unwrap_or_default();
    let mut each = most / 2;
    while each >= MIN_TEXT_BYTES {
        let cut = value(&data, each);
        let message = text(&envelope.message, each);
        if let Some(cut) = fits(&Envelope::success(message, cut, true, meta.clone())) {
            return cut;
        }
        each /= 2;
    }
    let counted = ["entries", "bytes", "size_bytes"].into_iter().filter_map(|name| {
        let number = data.get(name)?.as_u64()?;
        Some((name.to_owned(), Value::from(number)))
    });
    let counted = Value::Object(counted.collect::<Map<_, _>>());
    let left = Envelope::success(text(&envelope.message, MIN_TEXT_BYTES), counted, true, meta);
    serde_json::to_vec(&left).unwrap_or_default()
}

fn value(whole: &Value, each: usize) -> Value {
    match whole {
        Value::String(whole) => Value::String(text(whole, each)),
        Value::Array(items) => {
            let most = each / BYTES_PER_LIST_ITEM;
            let mut cut: Vec<Value> = items.iter().take(most).map(|it| value(it, each)).collect();
            if let more @ 1.. = items.len().saturating_sub(most) {
                cut.push(Value::String(format!("(and {more} more)")));
            }
            Value::Array(cut)
        }
        Value::Object(members) => {
            let member = |(name, it): (&String, &Value)| (name.clone(), value(it, each));
            Value::Object(members.iter().map(member).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => whole.clone(),
    }
}

/// Returns the whole lines at the beginning, and how many more there are.
fn text(whole: &str, most: usize) -> String {
    if whole.len() <= most {
        return whole.to_owned();
    }
    let (head, rest) = whole.split_at(whole.floor_char_boundary(most));
    let Some(end) = head.rfind('\n') else {
        return format!("{head} (and {} more bytes)", rest.len());
    };
    let (lines, rest) = whole.split_at(end + 1);
    format!("{lines}(and {} more lines)\n", rest.lines().count())
}

#[cfg(test)]
mod tests {
    use orion_domain::RiskRaise;
    use serde_json::json;

    use super::*;

    const MOST: usize = 4096;

    fn cut(message: &str, data: Value) -> Envelope {
        let meta = Meta { raises: RiskRaise::ALL.to_vec(), ..Meta::default() };
        let cut = fitting(Envelope::success(message, data, true, meta), MOST);
        assert!(cut.len() <= MOST, "{} bytes", cut.len());
        let cut: Envelope = serde_json::from_slice(&cut).unwrap();
        assert_eq!(cut.meta.raises, RiskRaise::ALL, "what raises the risk is never lost");
        cut
    }

    #[test]
    fn what_fits_is_left_as_it_is() {
        let short = cut("Would write.", json!({"diff": "+a\n", "bytes": 2}));
        assert_eq!((short.message.as_str(), short.meta.truncated), ("Would write.", false));
        assert_eq!(short.data, Some(json!({"diff": "+a\n", "bytes": 2})));
    }

    #[test]
    fn a_long_difference_is_cut_at_a_line_and_says_how_many_more_there_are() {
        let diff: String = (0..1000).map(|number| format!("+\"{number}\"\n")).collect();
        let cut = cut("Would write.", json!({"diff": diff, "bytes": 7}));
        let data = cut.data.unwrap();
        assert_eq!((&data["bytes"], cut.meta.truncated), (&json!(7), true));
        let (shown, more) = data["diff"].as_str().unwrap().split_once("(and ").unwrap();
        assert!(diff.starts_with(shown) && shown.ends_with('\n'), "{shown}");
        assert_eq!(more, format!("{} more lines)\n", 1000 - shown.lines().count()));
    }

    #[test]
    fn a_line_a_list_and_letters_of_several_bytes_are_cut_as_well() {
        let names: Vec<String> = (0..5000).map(|number| format!("file {number}")).collect();
        let cut = cut(&"é".repeat(5000), json!({"first_entries": names, "entries": 5000}));
        assert!(cut.message.ends_with(" more bytes)"), "{}", cut.message);
        let data = cut.data.unwrap();
        let last = data["first_entries"].as_array().unwrap().last().unwrap();
        assert!(last.as_str().unwrap().starts_with("(and "), "{last}");
        assert_eq!(data["entries"], 5000);
    }

    #[test]
    fn of_what_no_cutting_makes_small_the_counts_are_left() {
        let members: Map<String, Value> =
            (0..5000).map(|number| (format!("name {number}"), Value::Null)).collect();
        let mut data = Value::Object(members);
        data["entries"] = json!(3);
        assert_eq!(cut("Would write.", data).data, Some(json!({"entries": 3})));
    }
}
