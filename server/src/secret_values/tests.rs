//! Tests of what is hidden and what is not.

use std::time::{Duration, Instant};

use serde_json::json;

use super::*;

/// A secret of each kind, in two parts so that no file here looks as if it held one.
fn samples() -> Vec<(&'static str, String)> {
    let letters = "aB3dE5gH7jK9mN1pQ2sT4vW6xY8zA0cD4fG6hJ8kL0nP2rS5uV";
    let of = |count: usize| letters.chars().cycle().take(count).collect::<String>();
    vec![
        (
            "private key",
            format!(
                "-----BEGIN RSA {}\nMIIB{}\n-----END RSA PRIVATE KEY-----",
                "PRIVATE KEY-----",
                of(40)
            ),
        ),
        ("aws access key", format!("{}{}", "AKIA", "ABCDEFGH234567IJ")),
        ("github token", format!("{}{}", "ghp_", of(36))),
        ("github token", format!("{}{}", "github_pat_", of(60))),
        ("gitlab token", format!("{}{}", "glpat-", of(20))),
        ("slack token", format!("{}{}", "xoxb-", "123456789012-abcdefghij")),
        ("stripe key", format!("{}{}", "sk_live_", of(24))),
        ("google api key", format!("{}{}", "AIza", of(35))),
        ("google oauth secret", format!("{}{}", "GOCSPX-", of(28))),
        ("anthropic key", format!("{}{}", "sk-ant-", of(60))),
        (
            "openai key",
            format!("{}{}{}{}", "sk-proj-", of(40), "T3Blbk", format_args!("FJ{}", of(40))),
        ),
        ("hugging face token", format!("{}{}", "hf_", "abcdefghijklmnopqrstuvwxyzABCDEFGH")),
        ("npm token", format!("{}{}", "npm_", of(36))),
        ("pypi token", format!("{}{}", "pypi-AgEI", of(60))),
        ("sendgrid key", format!("{}{}.{}", "SG.", of(22), of(43))),
        ("telegram token", format!("{}{}", "123456789:AA", of(33))),
        ("digitalocean token", format!("{}{}", "dop_v1_", "0123456789abcdef".repeat(4))),
        ("docker token", format!("{}{}", "dckr_pat_", of(27))),
        ("age key", format!("{}{}", "AGE-SECRET-KEY-1", of(58).to_ascii_uppercase())),
        ("vault token", format!("{}{}", "hvs.", of(30))),
        ("json web token", format!("{}{}.{}{}.{}", "eyJ", of(20), "eyJ", of(30), of(43))),
    ]
}

#[test]
fn each_kind_is_hidden_in_any_text_and_the_same_secret_has_the_same_mark() {
    for (kind, secret) in samples() {
        let text = hidden(&format!("before {secret} after\n{secret}\n")).unwrap_or_default();
        let start = format!("before [secret: {kind}, id ");
        assert!(text.starts_with(&start) && !text.contains(&secret), "{kind}: {text}");
        let marks: Vec<_> =
            text.match_indices("[secret: ").map(|(at, _)| &text[at..at + start.len()]).collect();
        assert!(marks.len() == 2 && marks[0] == marks[1], "{kind}: {text}");
    }
    let value = "hunter2hunter9X";
    for text in [
        format!("DB_PASSWORD={value}\n"),
        format!("password = \"{value}\""),
        format!("'apiKey': '{value}'"),
        format!("{{\"client_secret\":\"{value}\"}}"),
        format!("postgres://ann:{value}@db.example/x"),
        format!("Authorization: Bearer {value}"),
    ] {
        let shown = hidden(&text).unwrap_or_default();
        assert!(shown.contains("[secret: ") && !shown.contains(value), "{text}: {shown}");
    }
}

#[test]
fn every_text_of_a_result_is_searched_and_a_mark_is_no_secret() {
    let (_, secret) = samples().remove(2);
    let mut value = json!({"a": [{"b": secret}], (secret.clone()): 1, "n": 7});
    hide_in(&mut value);
    let once = value.to_string();
    assert!(!once.contains(&secret) && once.contains("\"n\":7"), "{once}");
    hide_in(&mut value);
    assert_eq!(value.to_string(), once, "what is hidden stays as it is");
    let mut fields = json!({"db_password": "hunter2hunter9X", "name": "hunter2hunter9X"});
    hide_in(&mut fields);
    let hidden = fields["db_password"].as_str().unwrap_or_default();
    assert!(hidden.starts_with("[secret: password or token, id "), "{hidden}");
    assert_eq!(fields["name"], "hunter2hunter9X");
    let mut deep = json!(secret);
    for _ in 0..2 * MAX_DEPTH {
        deep = json!([deep]);
    }
    hide_in(&mut deep);
    assert!(!deep.to_string().contains(&secret), "what is too deep is left out");
}

#[test]
fn ordinary_text_stays_as_it_is() {
    for text in [
        "The password is asked for at the first start.",
        "password = \"changeme\"",
        "API_KEY=your-api-key-1",
        "TOKEN=${TOKEN}",
        "let secret = Secret::new(text);",
        "https://example.com:8443/path@2",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "Authorization: Bearer TOKEN",
        "task-force-and-risk-assessment",
    ] {
        assert_eq!(hidden(text), None, "{text}");
    }
}

#[test]
fn ten_megabytes_are_searched_in_linear_time() {
    let time = |text: &str| {
        let began = Instant::now();
        hidden(text);
        began.elapsed()
    };
    for (piece, megabytes) in [
        ("password=\"", 2),
        ("-----BEGIN PRIVATE KEY-----", 2),
        ("-eyJeyJ.eyJ", 2),
        ("A_TOKEN=\n", 2),
        ("http://a:b", 2),
        ("ordinary text ", 10),
    ] {
        let text = piece.repeat(megabytes * 1024 * 1024 / piece.len());
        let tenth = time(&text[..text.len() / 10]);
        let whole = time(&text);
        let limit = tenth * 30 + Duration::from_secs(1);
        assert!(whole < limit, "{piece}: {whole:?}, and a tenth of it {tenth:?}");
    }
}

/// Prints how many places of the texts below `ORION_TEXTS` are taken for secrets; none of the documentation is.
#[test]
fn what_is_taken_for_a_secret_in_ordinary_text() {
    let mut folders: Vec<_> = std::env::var("ORION_TEXTS")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../docs").to_owned())
        .split(':')
        .map(std::path::PathBuf::from)
        .collect();
    let (mut files, mut bytes, mut found) = (0, 0, Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file()
                && let Ok(text) = std::fs::read_to_string(&path)
            {
                (files, bytes) = (files + 1, bytes + text.len());
                let shown = hidden(&text).unwrap_or_default();
                let places = shown.matches("[secret: ").count()
                    - text.matches("[secret: ").count().min(shown.matches("[secret: ").count());
                if places > 0 {
                    found.push((path, places));
                }
            }
        }
    }
    let places: usize = found.iter().map(|(_, places)| places).sum();
    found.iter().for_each(|(path, places)| println!("{places} {}", path.display()));
    println!("{places} places in {} of {files} files, {bytes} bytes", found.len());
    assert!(std::env::var("ORION_TEXTS").is_ok() || places == 0, "{found:?}");
}
