//! What begins with a slash at the prompt of a chat: it is for Orion, not for the model.

/// The commands, each with what it is followed by and what it does.
pub(super) const COMMANDS: &[(&str, &str, &str)] = &[
    ("/new", "", "begin a new conversation"),
    ("/model", " NAME", "ask this model from the next message on; alone, list the models"),
    ("/assistant", " NAME", "begin a new conversation with this assistant; alone, list them"),
    ("/device", " NAME", "add the device to each message; alone, add none"),
    ("/undo", "", "take back what the last answer changed"),
    ("/why", "", "show what allowed or denied the last call"),
    ("/help", "", "show this"),
    ("/quit", "", "end; so do exit, Ctrl-D, and Ctrl-C twice on an empty line"),
];

/// A command at the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Slash {
    New,
    Model(String),
    Assistant(String),
    Device(String),
    Undo,
    Why,
    Help,
    Quit,
    /// It is none of them.
    Unknown,
}

/// What people type alone on a line to leave any program.
const LEAVING: [&str; 7] = ["exit", "quit", "q", ":q", "bye", "afsluiten", "doei"];

/// Reads a line. None where it is a message for the model.
pub(super) fn slash(line: &str) -> Option<Slash> {
    if LEAVING.iter().any(|word| line.eq_ignore_ascii_case(word)) {
        return Some(Slash::Quit);
    }
    if !line.starts_with('/') {
        return None;
    }
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let name = rest.trim().to_owned();
    Some(match (word, name.is_empty()) {
        ("/new", true) => Slash::New,
        ("/model", _) => Slash::Model(name),
        ("/assistant", _) => Slash::Assistant(name),
        ("/device", _) => Slash::Device(name),
        ("/undo", true) => Slash::Undo,
        ("/why", true) => Slash::Why,
        ("/help", true) => Slash::Help,
        ("/quit" | "/exit" | "/q", true) => Slash::Quit,
        _ => Slash::Unknown,
    })
}

/// Returns the help.
pub(super) fn help() -> String {
    let mut text = String::from("Say what you want done, in your own words. Beside that:\n");
    for (command, rest, what) in COMMANDS {
        text.push_str(&format!("  {:<18}{what}\n", format!("{command}{rest}")));
    }
    text.push_str("Tab completes commands and names. Ctrl-C clears what is typed. During an answer it stops the answer and its calls.");
    text
}

/// The names that commands are followed by.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    pub(super) models: Vec<String>,
    pub(super) assistants: Vec<String>,
    pub(super) devices: Vec<String>,
}

/// Returns where the word under the cursor begins, and what it can become.
pub(super) fn completions(line: &str, names: &Names) -> (usize, Vec<String>) {
    let begin = |words: Vec<String>, from: usize| {
        let typed = line.get(from..).unwrap_or_default();
        (from, words.into_iter().filter(|word| word.starts_with(typed)).collect())
    };
    if !line.starts_with('/') {
        return (line.len(), Vec::new());
    }
    match line.split_once(' ') {
        None => begin(COMMANDS.iter().map(|(name, ..)| (*name).to_owned()).collect(), 0),
        Some((command, _)) => {
            let words = match command {
                "/model" => names.models.clone(),
                "/assistant" => names.assistants.clone(),
                "/device" => names.devices.clone(),
                _ => Vec::new(),
            };
            begin(words, command.len() + 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_a_slash_is_a_command_or_unknown_and_never_a_message() {
        for (line, expected) in [
            ("make a folder", None),
            ("/new", Some(Slash::New)),
            ("/model  qwen ", Some(Slash::Model("qwen".to_owned()))),
            ("/model", Some(Slash::Model(String::new()))),
            ("/device kiosk", Some(Slash::Device("kiosk".to_owned()))),
            ("/undo", Some(Slash::Undo)),
            ("/undo everything", Some(Slash::Unknown)),
            ("/etc/passwd", Some(Slash::Unknown)),
            ("Exit", Some(Slash::Quit)),
            ("/q", Some(Slash::Quit)),
            ("quit firefox", None),
        ] {
            assert_eq!(slash(line), expected, "{line}");
        }
    }

    #[test]
    fn commands_and_their_names_are_completed() {
        let names = Names {
            models: vec!["qwen".to_owned(), "quick".to_owned()],
            assistants: Vec::new(),
            devices: vec!["kiosk".to_owned()],
        };
        let done = |line: &str| completions(line, &names);
        assert_eq!(done("/mo"), (0, vec!["/model".to_owned()]));
        assert_eq!(done("/model q"), (7, names.models.clone()));
        assert_eq!(done("/device k"), (8, vec!["kiosk".to_owned()]));
        assert_eq!(done("/new x"), (5, Vec::new()));
        assert_eq!(done("hello"), (5, Vec::new()));
        for (command, ..) in COMMANDS {
            assert!(help().contains(command));
        }
    }
}
