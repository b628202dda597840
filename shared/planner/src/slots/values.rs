//! Reads the values of slots that have a form of their own.

use crate::function_words::{is_general, is_joining, is_restricting};
use crate::words::Word;

/// Returns a count from 1, in digits or as a small number word.
pub(super) fn count(word: &str) -> Option<String> {
    const NUMBERS: [(&str, &str); 12] = [
        ("two", "2"),
        ("three", "3"),
        ("five", "5"),
        ("ten", "10"),
        ("twenty", "20"),
        ("fifty", "50"),
        ("twee", "2"),
        ("drie", "3"),
        ("vijf", "5"),
        ("tien", "10"),
        ("twintig", "20"),
        ("vijftig", "50"),
    ];
    let number = NUMBERS.iter().find(|(name, _)| *name == word).map_or(word, |(_, digits)| digits);
    number.parse::<u32>().ok().filter(|n| *n > 0).map(|n| n.to_string())
}

/// Words for a computer, which is no service.
const COMPUTERS: [&str; 10] = [
    "server",
    "laptop",
    "computer",
    "machine",
    "pc",
    "system",
    "systeem",
    "nas",
    "everything",
    "alles",
];

/// Returns a service as the tools name it.
pub(super) fn service(value: &str, words: &[Word], quoted: bool) -> Option<String> {
    let fits = quoted
        || (words.len() == 1
            && !words.iter().any(|word| is_joining(&word.key) || is_general(&word.key))
            && !value.contains(['\\', '*', '?'])
            && !COMPUTERS.contains(&value.to_lowercase().as_str()));
    fits.then(|| match value.to_lowercase().as_str() {
        "docker" | "grafana" | "prometheus" | "nginx" | "ssh" | "sshd" | "cron" | "postgresql"
        | "postgres" | "mysql" | "redis" | "apache" | "apache2" => value.to_lowercase(),
        "pihole" | "pi-hole" => "pihole".to_owned(),
        _ => value.to_owned(),
    })
}

/// Returns whether words are one command: nothing in it could be another request or a condition.
pub(super) fn command(value: &str, words: &[Word]) -> bool {
    const OTHER: [&str; 9] =
        ["then", "daarna", "vervolgens", "and", "en", "tell", "show", "zeg", "toon"];
    let is_other = |word: &Word| {
        word.quoted.is_none() && (OTHER.contains(&word.key.as_str()) || is_restricting(&word.key))
    };
    !value.contains(['\n', '|', '>', '<', '`', '$'])
        && !words.iter().any(is_other)
        && !words.first().is_some_and(|word| is_joining(&word.key) || is_general(&word.key))
}

/// Returns whether the first word is a program's name, or another is an option.
pub(super) fn begins_like_a_command(words: &[Word]) -> bool {
    const PROGRAMS: &[&str] = &[
        "git",
        "ls",
        "cat",
        "npm",
        "npx",
        "pnpm",
        "yarn",
        "node",
        "cargo",
        "rustc",
        "python",
        "python3",
        "pip",
        "pytest",
        "go",
        "make",
        "docker",
        "podman",
        "echo",
        "pwd",
        "df",
        "du",
        "ps",
        "uname",
        "whoami",
        "date",
        "uptime",
        "head",
        "tail",
        "wc",
        "sort",
        "grep",
        "find",
        "rg",
        "ruff",
        "mypy",
        "eslint",
        "tsc",
        "prettier",
        "black",
        "java",
        "mvn",
        "gradle",
        "ruby",
        "php",
        "perl",
        "curl",
        "wget",
        "ping",
        "ssh",
        "systemctl",
        "journalctl",
        "tar",
        "zip",
        "unzip",
        "touch",
        "mkdir",
        "hostname",
        "which",
        "env",
        "free",
        "top",
        "htop",
        "kubectl",
        "terraform",
        "ffmpeg",
        "sqlite3",
    ];
    words.first().is_some_and(|first| {
        PROGRAMS.contains(&first.key.as_str())
            || first.key.contains('/')
            || first.key.ends_with(".sh")
    }) || words.iter().skip(1).any(|word| word.key.starts_with('-'))
}

/// Returns whether a word is the name of a device, and not of a well-known folder or of any device.
pub(super) fn is_host(value: &str, words: &[Word], quoted: bool) -> bool {
    const OTHER: &[&str] = &[
        "documents",
        "downloads",
        "pictures",
        "photos",
        "music",
        "videos",
        "desktop",
        "home",
        "archive",
        "trash",
        "documenten",
        "afbeeldingen",
        "foto's",
        "muziek",
        "bureaublad",
        "archief",
        "prullenbak",
        "disk",
        "schijf",
        "computer",
        "machine",
        "system",
        "pc",
        "systeem",
        "memory",
        "geheugen",
        "cpu",
        "processor",
        "everything",
        "internet",
        "network",
        "netwerk",
        "docker",
        "git",
        "python",
        "nginx",
        "ram",
        "storage",
        "opslag",
        "alles",
        "things",
        "drive",
        "load",
        "weather",
    ];
    let plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let other = words.iter().any(|word| {
        OTHER.contains(&word.key.as_str()) || is_joining(&word.key) || is_general(&word.key)
    });
    plain && !quoted && !other
}

/// Returns how long ago, such as `2h`.
pub(super) fn since(words: &[Word]) -> Option<String> {
    let unit = |word: &str| {
        Some(match word {
            "s" | "second" | "seconds" | "seconde" | "seconden" => "s",
            "m" | "min" | "minute" | "minutes" | "minuut" | "minuten" => "m",
            "h" | "hour" | "hours" | "uur" | "uren" => "h",
            "d" | "day" | "days" | "dag" | "dagen" => "d",
            _ => return None,
        })
    };
    match words {
        [one] if one.key == "today" || one.key == "vandaag" => Some("1d".to_owned()),
        [one] => match unit(&one.key) {
            Some(unit) => Some(format!("1{unit}")),
            None => {
                let (number, of) = one.key.split_at_checked(one.key.len().checked_sub(1)?)?;
                Some(format!("{}{}", count(number)?, unit(of)?))
            }
        },
        [number, of] => Some(format!("{}{}", count(&number.key)?, unit(&of.key)?)),
        _ => None,
    }
}

/// Returns an expression with the operators of the tool: digits with at least one operator between them.
pub(super) fn expression(value: &str) -> Option<String> {
    // Beside an asterisk, a question mark is part of its word, as in a glob.
    let plain = value
        .trim_end_matches(['?', '=', ' '])
        .replace(['×', '·'], "*")
        .replace(['÷', ':'], "/")
        .replace('−', "-");
    let of_grammar = |it: char| it.is_ascii_digit() || it == ' ' || "+-*/%().".contains(it);
    let operands = plain.split(|it: char| "+-*/%".contains(it));
    let operands = operands.filter(|it| it.contains(|digit: char| digit.is_ascii_digit()));
    (plain.chars().all(of_grammar) && operands.count() > 1).then_some(plain)
}

pub(super) fn kind(word: &str) -> Option<String> {
    const ENDINGS: [&str; 44] = [
        "zip", "pdf", "txt", "md", "csv", "json", "xml", "html", "log", "png", "jpg", "jpeg",
        "gif", "svg", "mp3", "mp4", "wav", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "odt",
        "ods", "tar", "gz", "rs", "py", "js", "ts", "toml", "yaml", "yml", "ini", "conf", "sh",
        "exe", "iso", "deb", "css", "sql", "c", "java",
    ];
    const PICTURES: &str = "*.{jpg,jpeg,png,gif,webp,heic}";
    let ending = match word {
        "pictures" | "photos" | "images" | "foto's" | "afbeeldingen" | "plaatjes" => {
            return Some(PICTURES.to_owned());
        }
        "text" | "tekst" => "txt",
        "markdown" => "md",
        "python" => "py",
        _ => {
            let word = word.strip_prefix('.').unwrap_or(word);
            let one = word.strip_suffix("'s").or_else(|| word.strip_suffix('s')).unwrap_or(word);
            if ENDINGS.contains(&one) { one } else { word }
        }
    };
    let dotted = word.starts_with('.')
        && (1..=8).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (dotted || ENDINGS.contains(&ending)).then(|| format!("*.{ending}"))
}

/// Returns the name that devices use for an application.
pub(super) fn app(value: &str, quoted: bool) -> String {
    if quoted {
        return value.to_owned();
    }
    let name = value.to_lowercase();
    match name.as_str() {
        "google chrome" | "chrome browser" => "chrome",
        "mozilla firefox" | "firefox browser" => "firefox",
        "vs code" | "vscode" | "visual studio code" => "code",
        "file explorer" | "file manager" | "verkenner" | "bestandsbeheer" => "explorer",
        _ => return name,
    }
    .to_owned()
}

pub(super) fn url(value: &str) -> Option<String> {
    let lower = value.to_lowercase();
    if lower.starts_with("http://") || lower.starts_with("https://") {
        return Some(value.to_owned());
    }
    let host = lower.split('/').next()?;
    let ending = host.rsplit_once('.')?.1;
    let is_host = host.split('.').all(|label| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    });
    (is_host && ending.len() >= 2 && ending.bytes().all(|byte| byte.is_ascii_alphabetic()))
        .then(|| format!("https://{value}"))
}

pub(super) fn zone(value: &str) -> Option<String> {
    let lower = value.to_lowercase();
    let name = match lower.as_str() {
        "utc" | "gmt" => "UTC",
        "amsterdam" | "nederland" | "the netherlands" => "Europe/Amsterdam",
        "brussels" | "brussel" => "Europe/Brussels",
        "berlin" | "berlijn" => "Europe/Berlin",
        "paris" | "parijs" => "Europe/Paris",
        "london" | "londen" => "Europe/London",
        "new york" => "America/New_York",
        "los angeles" => "America/Los_Angeles",
        "tokyo" | "tokio" => "Asia/Tokyo",
        "sydney" => "Australia/Sydney",
        _ => {
            let is_name = value.contains('/')
                && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"/_+-".contains(&b));
            return is_name.then(|| value.to_owned());
        }
    };
    Some(name.to_owned())
}
