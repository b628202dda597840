//! The secrets of web requests: credentials in headers, and in the path and query of an address. What is not known to
//! be harmless is taken for a secret.

use serde_json::Value;
use url::form_urlencoded;

use crate::requested_url::RequestedUrl;
use crate::secret_argument::{hidden, hide_text, is_hidden_secret};

/// Headers whose values are shown. Any other may carry a credential.
const SHOWN_HEADERS: [&str; 11] = [
    "accept",
    "accept-language",
    "cache-control",
    "content-language",
    "content-type",
    "if-modified-since",
    "if-none-match",
    "pragma",
    "prefer",
    "range",
    "user-agent",
];

/// Parts of the names of parameters that carry credentials, in lower case and without signs.
const SECRET_PARTS: [&str; 17] = [
    "token",
    "secret",
    "passw",
    "passphrase",
    "pwd",
    "credential",
    "apikey",
    "signature",
    "session",
    "bearer",
    "jwt",
    "authorization",
    "oauth",
    "assertion",
    "hmac",
    "cookie",
    "otp",
];

/// Ends of such names.
const SECRET_ENDS: [&str; 3] = ["key", "auth", "sig"];

/// Such names as a whole.
const SECRET_NAMES: [&str; 14] = [
    "appid", "code", "hash", "k", "mac", "pass", "pin", "pw", "sas", "se", "sid", "sign", "ticket",
    "t",
];

/// The fewest bytes of a text that can be a token by its look, and of one in hexadecimal.
const MIN_TOKEN_BYTES: usize = 20;
const MIN_HEX_BYTES: usize = 32;

/// Returns an argument that is an address with digests in the places of its secrets.
pub(crate) fn hide_in_url_argument(url: &Value) -> Value {
    hide_text(url, hide_in_url)
}

/// Returns an address with digests in the places of its secrets. A text that is no address is hidden whole.
#[must_use]
pub fn hide_in_url(url: &str) -> String {
    let url = url.trim();
    if url.is_empty() || is_hidden_secret(url) {
        return url.to_owned();
    }
    if RequestedUrl::parse(url).is_err() {
        return hidden(url);
    }
    let (rest, fragment) = split(url, '#');
    let (address, query) = split(rest, '?');
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    let (host, path) = split(rest, '/');
    let mut shown = format!("{scheme}://{host}");
    for segment in path.into_iter().flat_map(|path| path.split('/')) {
        shown.push('/');
        shown.push_str(&hidden_if(looks_like_a_token(segment), segment));
    }
    for (number, parameter) in query.into_iter().flat_map(|it| it.split('&')).enumerate() {
        shown.push(if number == 0 { '?' } else { '&' });
        let (name, value) = match parameter.split_once('=') {
            Some((name, value)) => (format!("{name}="), value),
            None => (String::new(), parameter),
        };
        shown.push_str(&name);
        shown.push_str(&hidden_if(is_secret_parameter(parameter), value));
    }
    if let Some(fragment) = fragment {
        shown.push('#');
        shown.push_str(&hidden_if(!fragment.is_empty(), fragment));
    }
    shown
}

/// Returns headers with digests in the places of the values that are not known to be harmless.
pub(crate) fn hide_in_headers(headers: &Value) -> Value {
    let Value::Object(headers) = headers else {
        return hide_text(headers, |text| hidden_if(true, text));
    };
    let shown = headers.iter().map(|(name, value)| {
        let shown = match value.as_str() {
            Some(text) => hidden_if(is_secret_header(name, text), text).into(),
            None => hidden(&value.to_string()).into(),
        };
        (name.clone(), shown)
    });
    Value::Object(shown.collect())
}

/// Returns fields of any names with digests in the places of the values that are secret by their names or their looks,
/// at every depth. Of a text only the words that are secret are hidden, so that an approver sees the rest.
#[must_use]
pub fn hide_in_fields(value: &Value) -> Value {
    hide_in_field("", value)
}

/// Returns the value of one field so.
pub(crate) fn hide_in_field(name: &str, value: &Value) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::Object(_) if name.eq_ignore_ascii_case("headers") => hide_in_headers(value),
        Value::String(text) if is_secret_field(name) => hidden_if(true, text).into(),
        other if is_secret_field(name) => hidden(&other.to_string()).into(),
        Value::String(text) => {
            let words: Vec<_> = text.split(' ').map(hide_in_word).collect();
            words.join(" ").into()
        }
        Value::Array(items) => items.iter().map(|item| hide_in_field(name, item)).collect(),
        Value::Object(fields) => {
            let hide =
                |(name, field): (&String, &Value)| (name.clone(), hide_in_field(name, field));
            Value::Object(fields.iter().map(hide).collect())
        }
        Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Returns whether any value holds a digest in the place of a secret: what was shown is no value to work with.
#[must_use]
pub fn holds_digest(value: &Value) -> bool {
    match value {
        Value::String(text) => is_hidden_secret(text),
        Value::Array(items) => items.iter().any(holds_digest),
        Value::Object(fields) => fields.values().any(holds_digest),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns whether a field of this name is taken for a secret. Its name is not one of an address's parameters, where
/// also short words are.
fn is_secret_field(name: &str) -> bool {
    is_secret_name(name) && !SECRET_NAMES.contains(&name.to_ascii_lowercase().as_str())
        || matches!(name, "pin" | "pass" | "pw")
}

fn hide_in_word(word: &str) -> String {
    if word.contains("://") {
        return hide_in_url(word);
    }
    let parameters = word.split('&').map(|part| match part.split_once('=') {
        Some((name, value)) => format!("{name}={}", hidden_if(is_secret_parameter(part), value)),
        // A file's name has a dot before its kind.
        None => hidden_if(looks_like_a_token(part) && !part.contains('.'), part),
    });
    parameters.collect::<Vec<_>>().join("&")
}

/// Returns the secrets of an address, as it writes them and as they are meant.
#[must_use]
pub fn secrets_in_url(url: &str) -> Vec<String> {
    let (rest, _) = split(url, '#');
    let (address, query) = split(rest, '?');
    let segments = address.split('/').filter(|segment| looks_like_a_token(segment));
    let mut secrets: Vec<String> = segments.map(str::to_owned).collect();
    let parameters = query.into_iter().flat_map(|it| it.split('&'));
    for parameter in parameters.filter(|it| is_secret_parameter(it)) {
        let value = parameter.split_once('=').map_or(parameter, |(_, value)| value);
        secrets.extend([value.to_owned(), decoded(parameter).1]);
    }
    secrets
}

/// Returns whether the value of a header is taken for a secret.
#[must_use]
pub fn is_secret_header(name: &str, value: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    !SHOWN_HEADERS.contains(&lower.as_str())
        || value.split([' ', ',', ';', '/']).any(looks_like_a_token)
}

/// Returns whether the value of a parameter is taken for a secret.
fn is_secret_parameter(parameter: &str) -> bool {
    let (name, value) = decoded(parameter);
    // A parameter may hold others, and a name may be encoded more than once.
    let inner = value
        .replace('"', "")
        .split(['?', '&', ';', ' ', '{', ','])
        .any(|part| part.split_once(['=', ':']).is_some_and(|(name, _)| is_secret_name(name)));
    is_secret_name(&name) || inner || value.split(['/', ' ', ',']).any(looks_like_a_token)
}

/// Returns the name and value of a parameter. What has no name is a value.
fn decoded(parameter: &str) -> (String, String) {
    let whole =
        if parameter.contains('=') { parameter.to_owned() } else { format!("={parameter}") };
    let pair = form_urlencoded::parse(whole.as_bytes()).next();
    pair.map(|(name, value)| (name.into_owned(), value.into_owned())).unwrap_or_default()
}

fn is_secret_name(name: &str) -> bool {
    if name.contains('%') || !name.is_ascii() {
        return true;
    }
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_ascii_lowercase();
    SECRET_PARTS.iter().any(|part| plain.contains(part))
        || SECRET_ENDS.iter().any(|end| plain.ends_with(end))
        || SECRET_NAMES.contains(&plain.as_str())
}

/// Returns whether a text looks like a token: long, of one piece, and with digits and letters in a mixture.
fn looks_like_a_token(text: &str) -> bool {
    let has = |is: fn(&u8) -> bool| text.bytes().any(|byte| is(&byte));
    let is_mixed = text.len() >= MIN_TOKEN_BYTES
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase);
    let is_hex = text.len() >= MIN_HEX_BYTES && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_mixed || is_hex) && !is_hidden_secret(text)
}

fn hidden_if(is_secret: bool, text: &str) -> String {
    if is_secret && !text.is_empty() && !is_hidden_secret(text) {
        hidden(text)
    } else {
        text.to_owned()
    }
}

/// Splits a text at the first of this character.
fn split(text: &str, at: char) -> (&str, Option<&str>) {
    text.split_once(at).map_or((text, None), |(before, after)| (before, Some(after)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_may_be_a_credential_is_hidden_and_the_rest_is_shown() {
        for (url, shown) in [
            ("https://a.example/", "https://a.example/"),
            (
                "https://a.example/b/c?q=rain&page=2&lang=nl",
                "https://a.example/b/c?q=rain&page=2&lang=nl",
            ),
            (
                "https://a.example/2026-11-24T08:00:00Z?id=7",
                "https://a.example/2026-11-24T08:00:00Z?id=7",
            ),
            (
                "https://a.example/0199b2c4-7f3e-7c11-8a00-c743fc081867",
                "https://a.example/0199b2c4-7f3e-7c11-8a00-c743fc081867",
            ),
        ] {
            assert_eq!(hide_in_url(url), shown);
        }
        for url in [
            "https://a.example/?token=hunter2",
            "https://a.example/?q=1&API_KEY=hunter2",
            "https://a.example/?api-key=hunter2&q=1",
            "https://a.example/?key=hunter2",
            "https://a.example/?access_token=hunter2#x",
            "https://a.example/?X-Amz-Signature=hunter2",
            "https://a.example/?%74oken=hunter2",
            "https://a.example/?%2574oken=hunter2",
            "https://a.example/?t%D0%BEken=hunter2",
            "https://a.example/?a=1;token=hunter2",
            "https://a.example/?next=https%3A%2F%2Fb.example%2F%3Ftoken%3Dhunter2",
            "https://a.example/?filter=%7B%22password%22%3A%22hunter2%22%7D",
            "https://a.example/?client[secret]=hunter2",
            "https://a.example/#access_token=hunter2",
            "https://a.example/?q=Ahunter2bbbbbbbbbbbbbbbbb",
            "https://a.example/bot12345:AAhunter2ccccccccc/send",
            "https://a.example/?Ahunter2bbbbbbbbbbbbbbbbb",
            "https://ann:hunter2@a.example/",
            "hunter2",
        ] {
            let shown = hide_in_url(url);
            assert!(!shown.contains("hunter2") && shown.contains("sha256:"), "{url}: {shown}");
            assert_eq!(hide_in_url(&shown), shown, "hiding twice is hiding once");
            if let Ok(parsed) = RequestedUrl::parse(url) {
                let again = RequestedUrl::parse(&shown).unwrap();
                assert_eq!(again.address, parsed.address, "{shown}");
            }
        }
    }

    #[test]
    fn fields_of_any_name_show_nothing_that_is_secret_by_its_name_or_its_look() {
        let plain = json!({
            "folder": "Projects/garden", "count": 3, "list": ["a", {"text": "see the shed"}],
            "url": "https://a.example/?q=rain", "photo": "IMG_20241124_Holiday.jpg",
            "note": "Categorieën: wijn", "code": "fn main() {}", "key": null,
        });
        assert_eq!(hide_in_fields(&plain), plain);
        let secret = json!({
            "api_key": "hunter2", "list": [{"password": ["hunter2"]}], "pin": 72317,
            "url": "https://a.example/?token=hunter2", "text": "use Ahunter2bbbbbbbbbbbbbbbbb",
            "query": "a=1&token=hunter2", "login": "https://ann:hunter2@a.example/",
            "auth": {"value": "hunter2"}, "headers": {"X-Anything": "hunter2"},
            "token": "https://a.example/hunter2",
        });
        let shown = hide_in_fields(&secret);
        let text = shown.to_string();
        assert!(!text.contains("hunter2") && !text.contains("72317"), "{shown}");
        assert!(text.contains("use sha256:") && text.contains("a=1&token=sha256:"), "{shown}");
        assert_eq!(hide_in_fields(&shown), shown, "hiding twice is hiding once");
        assert!(holds_digest(&shown) && !holds_digest(&plain));
    }

    #[test]
    fn only_headers_that_are_known_to_be_harmless_are_shown() {
        let headers = json!({
            "Accept": "text/plain",
            "User-Agent": "me Ahunter2bbbbbbbbbbbbbbbbb",
            "Authorization": "Bearer hunter2",
            "api-key": "hunter2",
            "x-goog-api-key": "hunter2",
            "Cookie": "a=hunter2",
            "X-Anything": "hunter2",
            "odd": ["hunter2"],
        });
        let shown = hide_in_headers(&headers);
        assert_eq!(shown["Accept"], "text/plain");
        assert!(!shown.to_string().contains("hunter2"), "{shown}");
        assert_eq!(shown.as_object().unwrap().len(), 8);
        assert_eq!(hide_in_headers(&shown), shown);
        for odd in [json!("hunter2"), json!(["hunter2"])] {
            assert!(!hide_in_headers(&odd).to_string().contains("hunter2"), "{odd}");
        }
        assert_eq!(hide_in_headers(&json!({})), json!({}));
        assert_eq!(hide_in_headers(&Value::Null), Value::Null);
    }

    #[test]
    fn the_secrets_of_an_address_are_found_as_it_writes_them_and_as_they_are_meant() {
        let found = secrets_in_url("https://a.example/?q=1&token=a%2Fb");
        assert_eq!(found, ["a%2Fb", "a/b"]);
        assert_eq!(secrets_in_url("https://a.example/b?q=1"), Vec::<String>::new());
    }
}
