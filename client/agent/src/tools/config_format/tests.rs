//! Each format by common samples and by hostile ones.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn values(format: Format, text: &str) -> Value {
    let reading = read(format, text);
    let Reading::Values(values) = reading else { panic!("{reading:?}") };
    values
}

fn problem(format: Format, text: &str) -> String {
    let reading = read(format, text);
    let Reading::Broken(problem) = reading else { panic!("{reading:?}") };
    problem
}

#[test]
fn names_tell_the_format() {
    for (name, text, format) in [
        ("Cargo.toml", "", Format::Toml),
        ("compose.YAML", "", Format::Yaml),
        ("a.yml", "", Format::Yaml),
        ("package.json", "", Format::Json),
        ("php.ini", "", Format::Ini),
        ("nginx.service", "", Format::Ini),
        ("setup.cfg", "[a]\nb = 1\n", Format::Ini),
        ("my.conf", "[mysqld]\nskip-networking\nport=1\n", Format::Ini),
        ("nginx.conf", "events {\n  worker_connections 1;\n}\n", Format::Other),
        ("resolv.conf", "nameserver fe80::1\n", Format::Other),
        ("sshd.conf", "Port 22\n", Format::Other),
        (".env", "", Format::Env),
        (".env.local", "", Format::Env),
        ("example.env", "", Format::Env),
        ("notes.txt", "a=1", Format::Other),
        ("toml", "a=1", Format::Other),
        ("", "", Format::Other),
    ] {
        assert_eq!(format_of(name, text), format, "{name}");
    }
}

#[test]
fn toml_is_read_with_dates_as_text() {
    let text = "# a\nname = \"x\" # b\n[server]\nport = 8080\nratio = inf\nat = 2026-11-20T10:00:00Z\n\
        [[jobs]]\nid = 1\n[[jobs]]\nid = 2\n";
    let expected = json!({
        "name": "x",
        "server": {"port": 8080, "ratio": "inf", "at": "2026-11-20T10:00:00Z"},
        "jobs": [{"id": 1}, {"id": 2}],
    });
    assert_eq!(values(Format::Toml, text), expected);
    assert_eq!(values(Format::Toml, &format!("\u{feff}{text}")), expected);
    assert_eq!(values(Format::Toml, &text.replace('\n', "\r\n")), expected);
    let problem = problem(Format::Toml, "a = 1\nb = = 2\n");
    assert!(problem.starts_with("Line 2, column 5: "), "{problem}");
}

#[test]
fn json_keeps_numbers_that_do_not_fit() {
    let text = r#"{"a": 18446744073709551616, "b": -1e999, "c": [1, 1.5, "9\"9e999"], "d": 1e3}"#;
    let expected =
        json!({"a": "18446744073709551616", "b": "-1e999", "c": [1, 1.5, "9\"9e999"], "d": 1000.0});
    assert_eq!(values(Format::Json, text), expected);
    assert_eq!(
        problem(Format::Json, "{\n  \"a\": 99999999999999999999,\n  \"b\": ?\n}"),
        "Line 3, column 8: expected value."
    );
    for text in ["", "01", "1 2", "-", "{\"a\":}", "1e999e"] {
        problem(Format::Json, text);
    }
}

#[test]
fn yaml_is_read_by_its_core_schema() {
    let text = "# top\na: &x\n  - 1\n  - 0x1F\n  - 1.5\n  - ~\n  - yes\n  - '1'\n  - 0644\n\
        b: *x\n1: true\n? [k, 1]\n: v\nbig: 99999999999999999999\ninf: .inf\ntag: !!str 12\nown: !Ref x\n\
        text: |\n  two\n  lines\nempty:\n<<: {m: 1}\n";
    let list = json!([1, 31, 1.5, null, "yes", "1", "0644"]);
    let expected = json!({
        "a": list, "b": list, "1": true, "[\"k\",1]": "v", "big": "99999999999999999999",
        "inf": ".inf", "tag": "12", "own": "x", "text": "two\nlines\n", "empty": null,
        "<<": {"m": 1},
    });
    assert_eq!(values(Format::Yaml, text), expected);
    assert_eq!(values(Format::Yaml, "---\na: 1\n---\nb: 2\n"), json!([{"a": 1}, {"b": 2}]));
    assert_eq!(values(Format::Yaml, "# nothing\n"), Value::Null);
    for (text, place) in [
        ("a: 1\nb: [1\n", "Line "),
        ("a: 1\na: 2\n", "Line 2, column 1: the key a is there twice."),
        ("a: *none\n", "Line 1, column 4: "),
        ("a: &x [*x]\n", "Line 1, column 8: "),
        ("a: b: c\n", "Line 1, column "),
    ] {
        let problem = problem(Format::Yaml, text);
        assert!(problem.starts_with(place), "{text:?} {problem}");
    }
}

#[test]
fn ini_is_read_as_git_python_and_systemd_write_it() {
    let text = "; top\nglobal = 1\n[core]\n\teditor = vim\n\tbare = false\n[remote \"a\"] # c\n\turl = x#y\n\
        [options]\nneeds =\n    one\n    # not this\n    two>=1\nplain\n[Service]\nExecStart=/bin/a \\\n  --b\n\
        Environment=A=1\nEnvironment=B=2\n[Peer]\nKey: \"q\"\n[Peer]\nKey: 2\n";
    let expected = json!({
        "global": "1",
        "core": {"editor": "vim", "bare": "false"},
        "remote \"a\"": {"url": "x#y"},
        "options": {"needs": "\none\ntwo>=1", "plain": null},
        "Service": {"ExecStart": "/bin/a \\\n--b", "Environment": ["A=1", "B=2"]},
        "Peer": [{"Key": "\"q\""}, {"Key": "2"}],
    });
    assert_eq!(values(Format::Ini, text), expected);
    assert_eq!(values(Format::Ini, ""), json!({}));
    for (text, place) in [
        ("[a\n", "Line 1, column 1: a section's name has no end."),
        ("[a]\n  = 1\n", "Line 2, column 3: a value has no key."),
        ("[a] b\n", "Line 1, column 1: something follows the name of a section."),
        ("word\n", "Line 1, column 1: neither a section nor a key with its value."),
    ] {
        assert_eq!(problem(Format::Ini, text), place, "{text:?}");
    }
}

#[test]
fn variables_are_read_and_nothing_is_put_in_their_place() {
    let text = "# top\nexport A=1 # one\nB = two words \nC='$HOME ${PATH}'\nD=\"a\\n\\\"b\\\" \\q\"\nE=$HOME/${USER}\n\
        F=\nG=\"two\nlines\" # end\nH=a#b\nI=#none\nexport A B\n";
    let expected = json!({
        "A": "1", "B": "two words", "C": "$HOME ${PATH}", "D": "a\n\"b\" \\q",
        "E": "$HOME/${USER}", "F": "", "G": "two\nlines", "H": "a#b", "I": "",
    });
    assert_eq!(values(Format::Env, text), expected);
    assert_eq!(values(Format::Env, &text.replace('\n', "\r\n"))["A"], json!("1"));
    for (text, place) in [
        ("A=1\nB\n", "Line 2, column 1: no = after a variable's name."),
        ("A=1\nB='x\n", "Line 2, column 1: a value's quotes have no end."),
        ("1A=1", "Line 1, column 1: the name of a variable is"),
        ("A='x' y", "Line 1, column 1: something follows"),
    ] {
        let problem = problem(Format::Env, text);
        assert!(problem.starts_with(place), "{text:?} {problem}");
    }
}

/// Returns texts made to take much memory or time.
fn bombs() -> Vec<(Format, String)> {
    let most = MAX_BYTES;
    let mut laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..9 {
        let above = format!("*a{},", level - 1).repeat(9);
        laughs += &format!("a{level}: &a{level} [{above}]\n");
    }
    let chain: String =
        (1..2000).map(|level| format!("a{level}: &a{level} [*a{}]\n", level - 1)).collect();
    let yaml = 256 * 1024;
    vec![
        (Format::Yaml, laughs),
        (Format::Yaml, format!("a0: &a0 x\n{chain}")),
        (Format::Yaml, format!("a: &a [{}]\nb: [{}]\n", "1,".repeat(60_000), "*a,".repeat(40_000))),
        (Format::Yaml, "[".repeat(yaml)),
        (Format::Yaml, "{".repeat(yaml)),
        (Format::Yaml, "- ".repeat(yaml / 2)),
        (Format::Yaml, "? ".repeat(yaml / 2)),
        (Format::Yaml, "[? ".repeat(yaml / 3)),
        (Format::Yaml, format!("[{}]", "1,".repeat(yaml / 2 - 1))),
        (Format::Yaml, format!("a: &x {}\nb: [{}]", "y".repeat(yaml / 2), "*x,".repeat(yaml / 8))),
        (Format::Yaml, "a: 1\n".repeat(most / 5)),
        (Format::Json, "[".repeat(most)),
        (Format::Json, format!("{}{}", "[".repeat(100), "]".repeat(100))),
        (Format::Json, format!("[{}1]", "1,".repeat(most / 2 - 2))),
        (Format::Toml, format!("a{}=1", ".a".repeat(most / 2 - 3))),
        (Format::Toml, format!("a={}", "[".repeat(most - 2))),
        (Format::Toml, format!("a=[{}]", "1,".repeat(most / 2 - 3))),
        // Texts whose values fit, but that take more memory while they are parsed.
        (Format::Yaml, format!("[{}1]", "1,".repeat(40_000))),
        (Format::Json, format!("{{{}\"a\":1}}", "\"a\":1,".repeat(60_000))),
        (Format::Toml, format!("a=[{}]", "1,".repeat(60_000))),
        (Format::Ini, "a=1\n".repeat(most / 4)),
        (Format::Env, "A=1\n".repeat(most / 4)),
    ]
}

#[test]
fn what_is_made_to_explode_ends_soon() {
    for (format, text) in bombs() {
        assert!(text.len() <= MAX_BYTES);
        let begun = Instant::now();
        let reading = read(format, &text);
        let took = begun.elapsed();
        let start: String = text.chars().take(30).collect();
        assert!(took < Duration::from_secs(120), "{format:?} {start}: {took:?}");
        assert!(matches!(reading, Reading::TooMuch(_)), "{format:?} {start}: {reading:?}");
    }
}

#[rstest]
#[case(Format::Toml)]
#[case(Format::Yaml)]
#[case(Format::Json)]
#[case(Format::Ini)]
#[case(Format::Env)]
fn any_text_is_read_or_refused(#[case] format: Format) {
    let pieces = vec![
        "a", "b: ", "=", "[", "]", "{", "}", "\"", "'", "\n", "  ", "- ", "#", "\\", "&a ", "*a",
        "1", "e9", ":", ",", "|", "\u{feff}", "ü", "\0", "\r\n", "\t", "? ", "!", "%", "---\n",
        "$X",
    ];
    let texts = prop::collection::vec(prop::sample::select(pieces), 0..40);
    proptest!(|(text in texts)| {
        let text = text.concat();
        if let Reading::Values(values) = read(format, &text) {
            // Other parsers must be able to read the values.
            prop_assert!(serde_json::from_str::<Value>(&values.to_string()).is_ok());
        }
    });
}
