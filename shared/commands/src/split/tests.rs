//! What is split how, and what is refused at which byte.

mod shell;

use super::*;
use crate::quote;

fn argv(text: &str) -> Vec<String> {
    let lines = split(text).unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
    assert_eq!(lines.len(), 1, "{text}");
    let line = &lines[0];
    let all = std::iter::once(line.program()).chain(line.arguments());
    all.map(|token| token.text.clone()).collect()
}

#[test]
fn words_are_split_and_unquoted_as_a_shell_does() {
    for (text, expected) in [
        ("ls", vec!["ls"]),
        ("  ls\t-la   src ", vec!["ls", "-la", "src"]),
        ("a 'b c' \"d e\" f\\ g", vec!["a", "b c", "d e", "f g"]),
        ("a'b'\"c\"\\d", vec!["abcd"]),
        ("a '' \"\"", vec!["a", "", ""]),
        (r#"a "x\"y\\z\q" '\'"#, vec!["a", r#"x"y\z\q"#, r"\"]),
        (
            "a '$HOME `id` $(id) * ? [ | > < & ; ~ # ! {'",
            vec!["a", "$HOME `id` $(id) * ? [ | > < & ; ~ # ! {"],
        ),
        (r#"a "* ? | ; & < > ~ # ! { ' foo$""#, vec!["a", "* ? | ; & < > ~ # ! { ' foo$"]),
        (
            "git show HEAD~3 a#b x=1 a]b ^c %d",
            vec!["git", "show", "HEAD~3", "a#b", "x=1", "a]b", "^c", "%d"],
        ),
        ("git commit -m 'one\ntwo\tthree'", vec!["git", "commit", "-m", "one\ntwo\tthree"]),
        ("echo \\$HOME \\~ \\* \\#", vec!["echo", "$HOME", "~", "*", "#"]),
        ("'A=b' c", vec!["A=b", "c"]),
    ] {
        assert_eq!(argv(text), expected, "{text}");
    }
}

#[test]
fn a_sequence_says_when_the_next_command_runs() {
    let lines = split("cargo fmt && cargo test ; git status;").unwrap();
    let next: Vec<_> = lines.iter().map(CommandLine::next).collect();
    assert_eq!(next, [Some(Next::OnSuccess), Some(Next::Always), Some(Next::Always)]);
    assert_eq!(split("a&&b").unwrap().len(), 2);
    assert_eq!(split("a;b").unwrap().len(), 2);
    let longest = vec!["a"; MAX_COMMANDS].join(" && ");
    assert_eq!(split(&longest).unwrap().len(), MAX_COMMANDS);
    let refusal = split(&(longest + " && b")).unwrap_err();
    assert_eq!((refusal.token.as_str(), refusal.rule), ("b", RefusalRule::TooManyCommands));
}

#[test]
fn what_a_shell_would_interpret_is_refused_with_its_token_and_position() {
    use RefusalRule as Rule;
    for (text, token, at, rule) in [
        ("echo $(id)", "$(", 5, Rule::Substitution),
        ("echo `id`", "`", 5, Rule::Substitution),
        ("echo \"`id`\"", "`", 6, Rule::Substitution),
        ("echo \"a $(id)\"", "$(", 8, Rule::Substitution),
        ("echo ${HOME}", "${", 5, Rule::Substitution),
        ("echo $HOME/x", "$HOME", 5, Rule::Substitution),
        ("echo \"$HOME\"", "$HOME", 6, Rule::Substitution),
        ("echo $'a'", "$'", 5, Rule::Substitution),
        ("cat <(id)", "<(", 4, Rule::Substitution),
        ("ls > x", ">", 3, Rule::Redirection),
        ("ls 2>&1", ">&", 4, Rule::Redirection),
        ("ls >> x", ">>", 3, Rule::Redirection),
        ("cat < x", "<", 4, Rule::Redirection),
        ("cat << EOF", "<<", 4, Rule::HereDocument),
        ("curl x | bash", "|", 7, Rule::Pipe),
        ("a || b", "||", 2, Rule::Or),
        ("sleep 9 &", "&", 8, Rule::Background),
        ("(id)", "(", 0, Rule::Subshell),
        ("f() x", "(", 1, Rule::Subshell),
        ("echo {a,b}", "{", 5, Rule::Braces),
        ("ls *.rs", "*", 3, Rule::Glob),
        ("ls a?", "?", 4, Rule::Glob),
        ("ls [ab]", "[", 3, Rule::Glob),
        ("ls ~/x", "~", 3, Rule::Tilde),
        ("make A=~/x", "~", 7, Rule::Tilde),
        ("ls # x", "#", 3, Rule::Comment),
        ("ls\nid", "\n", 2, Rule::Newline),
        ("ls \\\nid", "\\\n", 3, Rule::Newline),
        ("! ls", "!", 0, Rule::Negation),
        ("A=b ls", "A=b", 0, Rule::Assignment),
        ("ls && LD_PRELOAD=x.so ls", "LD_PRELOAD=x.so", 6, Rule::Assignment),
        ("ls 'a", "'", 3, Rule::Unterminated),
        ("ls \"a", "\"", 3, Rule::Unterminated),
        ("ls \\", "\\", 3, Rule::Unterminated),
        ("", "", 0, Rule::Empty),
        ("ls &&", "", 3, Rule::Empty),
        ("; ls", ";", 0, Rule::Empty),
        ("a;;b", ";;", 1, Rule::Subshell),
        ("ls \u{0}", "\u{0}", 3, Rule::ControlCharacter),
        ("ls \r", "\r", 3, Rule::ControlCharacter),
        ("ls '\u{1b}[2J'", "\u{1b}", 4, Rule::ControlCharacter),
        ("ls '\u{202e}x'", "\u{202e}", 4, Rule::HiddenCharacter),
        ("l\u{200b}s", "\u{200b}", 1, Rule::HiddenCharacter),
    ] {
        let refusal = split(text).expect_err(text);
        assert_eq!(refusal, Refusal::new(token, Position::Byte(at), rule), "{text}");
    }
}

#[test]
fn text_and_arguments_are_limited() {
    let rule = |text: &str| split(text).unwrap_err().rule;
    assert_eq!(rule(&"a".repeat(MAX_TEXT_BYTES + 1)), RefusalRule::TooLong);
    assert!(split(&"a".repeat(MAX_TEXT_BYTES)).is_ok());
    assert_eq!(rule(&"a ".repeat(MAX_ARGUMENTS + 1)), RefusalRule::TooManyArguments);
    assert!(split(&"a ".repeat(MAX_ARGUMENTS)).is_ok());
    let argv = |count: usize| CommandLine::from_argv(vec!["a".to_owned(); count]);
    assert_eq!(argv(MAX_ARGUMENTS + 1).unwrap_err().rule, RefusalRule::TooManyArguments);
    assert_eq!(argv(0).unwrap_err().rule, RefusalRule::Empty);
    let long = CommandLine::from_argv(vec!["a".repeat(MAX_TEXT_BYTES + 1)]);
    assert_eq!(long.unwrap_err().rule, RefusalRule::TooLong);
}

#[test]
fn a_list_of_arguments_is_taken_as_it_is_but_for_control_and_hidden_characters() {
    let list = |argument: &str| CommandLine::from_argv(vec!["echo".into(), argument.into()]);
    for argument in ["$(id)", "a b", "'", "*", "|", "", "a\nb"] {
        assert_eq!(list(argument).unwrap().arguments()[0].text, argument);
    }
    let refusal = list("a\u{7}").unwrap_err();
    assert_eq!(
        refusal,
        Refusal::new("\u{7}", Position::Argument(1), RefusalRule::ControlCharacter)
    );
    assert_eq!(list("\u{200b}").unwrap_err().rule, RefusalRule::HiddenCharacter);
}

#[test]
fn a_quoted_argument_comes_back() {
    for argument in ["", "a", "a b", "it's", "$(id)", "~", "#", "a=b", "\"", "\\", "ä*", "a\nb"] {
        assert_eq!(argv(&format!("echo {}", quote(argument))), ["echo", argument]);
    }
}
