//! Takes the secrets of a request out of its answer: a server may repeat what it is sent, and results are stored and
//! shown.

/// The fewest bytes of a secret that is looked for. A shorter text is a part of too many others.
const MIN_BYTES: usize = 4;

/// What stands in the place of a secret.
const MARK: &str = "[secret of the request]";

/// Returns a text without these secrets.
pub(super) fn remove(text: String, secrets: &[String]) -> String {
    // A secret may be a part of another one.
    let mut secrets: Vec<_> = secrets.iter().filter(|secret| secret.len() >= MIN_BYTES).collect();
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets.into_iter().fold(text, |text, secret| {
        if text.contains(secret.as_str()) { text.replace(secret.as_str(), MARK) } else { text }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_repeats_is_taken_out_the_longest_secret_first() {
        let secrets = ["hunter2".to_owned(), "Bearer hunter2".to_owned(), "abc".to_owned()];
        let text = "{\"Authorization\":\"Bearer hunter2\",\"key\":\"hunter2\",\"x\":\"abc\"}";
        assert_eq!(
            remove(text.to_owned(), &secrets),
            format!("{{\"Authorization\":\"{MARK}\",\"key\":\"{MARK}\",\"x\":\"abc\"}}")
        );
    }
}
