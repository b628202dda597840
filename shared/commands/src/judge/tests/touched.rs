//! Which paths and hosts a command reports, with which risk and reason.

use orion_domain::{Access, Risk};

use super::judged;
use crate::{AskReason, Judgement, Known, Network, Position, Program};

fn known(text: &str) -> Known {
    let Judgement::Known(known) = judged(text) else { panic!("{text}: {:?}", judged(text)) };
    *known
}

#[test]
fn every_path_is_reported_with_its_access() {
    use Access::{Delete, Read, Write};
    for (text, expected) in [
        ("cat a /etc/hosts", vec![("a", Read), ("/etc/hosts", Read)]),
        ("cat -- -a", vec![("-a", Read)]),
        ("cp a b c", vec![("a", Read), ("b", Read), ("c", Write)]),
        ("mv a b", vec![("a", Read), ("a", Delete), ("b", Write)]),
        ("rm -r a/b", vec![("a/b", Delete)]),
        ("touch -r a b", vec![("a", Read), ("b", Write)]),
        ("sort --output=b a", vec![("b", Write), ("a", Read)]),
        ("uniq a b", vec![("a", Read), ("b", Write)]),
        ("grep -r x", vec![(".", Read)]),
        ("grep x a b", vec![("a", Read), ("b", Read)]),
        ("grep -e x a", vec![("a", Read)]),
        ("grep -fa b", vec![("a", Read), ("b", Read)]),
        ("find", vec![(".", Read)]),
        ("find /a b -newer c", vec![("c", Read), ("/a", Read), ("b", Read)]),
        ("rg x", vec![(".", Read)]),
        ("rg --files a", vec![("a", Read)]),
        ("du", vec![(".", Read)]),
        ("ls", vec![(".", Read)]),
        ("fd -C a x b", vec![("a/b", Read), ("a", Read)]),
        ("git status", vec![(".", Read)]),
        ("git -C a -C b diff c", vec![("a/b/c", Read), ("a/b", Read)]),
        ("git -C /a diff /c", vec![("/c", Read), ("/a", Read)]),
        ("git diff --no-index a /b", vec![("a", Read), ("/b", Read), (".", Read)]),
        ("git commit -F a", vec![("a", Read), (".", Read), (".", Write)]),
        ("git fetch ../b", vec![("../b", Read), (".", Read), (".", Write)]),
        ("cargo build", vec![(".", Read), (".", Write)]),
        ("make -C a x", vec![("a", Read), ("a", Write)]),
        ("ruff check a", vec![("a", Read), (".", Read)]),
        ("ruff check --fix a", vec![("a", Read), ("a", Write), (".", Read), (".", Write)]),
        ("black --check a", vec![("a", Read), (".", Read)]),
        ("pytest a", vec![("a", Read), ("a", Write), (".", Read), (".", Write)]),
        ("docker compose -f a ps", vec![("a", Read), (".", Read)]),
        ("cat '~/a' '$HOME/b'", vec![("./~/a", Read), ("./$HOME/b", Read)]),
        ("echo a", vec![]),
    ] {
        let expected: Vec<_> =
            expected.into_iter().map(|(path, access)| (path.to_owned(), access)).collect();
        assert_eq!(known(text).paths, expected, "{text}");
    }
}

#[test]
fn every_host_is_reported() {
    let hosts = |hosts: &[&str]| hosts.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>();
    for (text, expected) in [
        ("curl https://example.com/a?b", None),
        (
            "curl 'https://example.com:8443/a?b#c'",
            Some(Network::Hosts(hosts(&["example.com:8443"]))),
        ),
        ("curl http://a http://b", Some(Network::Hosts(hosts(&["a:80", "b:80"])))),
        ("curl --url=https://a", Some(Network::Hosts(hosts(&["a:443"])))),
        ("ping -c 1 192.0.2.1", Some(Network::Hosts(hosts(&["192.0.2.1"])))),
        ("git fetch", Some(Network::Configured(vec![]))),
        (
            "git clone https://example.com/a.git",
            Some(Network::Configured(hosts(&["example.com:443"]))),
        ),
        ("git status", Some(Network::None)),
    ] {
        match expected {
            Some(network) => assert_eq!(known(text).network, network, "{text}"),
            None => assert!(matches!(judged(text), Judgement::Refused(_)), "{text}"),
        }
    }
    for url in [
        "http://ann@example.com",
        "http://a@b@c",
        "http://a\\@b",
        "file:///etc/passwd",
        "ftp://a",
        "http://[::1]/",
        "http://",
        "http:///a",
        "http://a:b@c",
        "http://a b",
        "HTTP://a",
        "http://ä",
    ] {
        let line = format!("curl {}", crate::quote(url));
        assert_eq!(known(&line).risk(), Risk::High, "{url}");
    }
}

#[test]
fn the_risk_follows_the_effect_the_network_and_what_asks() {
    for (text, risk) in [
        ("git status", Risk::Low),
        ("git diff --bogus", Risk::High),
        ("git commit -m x", Risk::Medium),
        ("cargo test", Risk::Medium),
        ("curl http://a", Risk::Medium),
        ("git fetch", Risk::Medium),
        ("rm a", Risk::High),
        ("git push", Risk::High),
        ("vim a", Risk::High),
        ("./ls", Risk::High),
        ("bash", Risk::Critical),
    ] {
        assert_eq!(judged(text).risk(), risk, "{text}");
    }
}

#[test]
fn what_asks_names_its_token_and_says_why_in_a_sentence() {
    for (text, token, reason) in [
        ("git push --force", "--force", "`--force`: It replaces commits of the remote repository."),
        ("git push", "push", "`push`: It sends commits to a remote repository."),
        ("ls --al", "--al", "The option `--al` is not known, and may stand for `--all`."),
        ("ls --bogus=x", "--bogus=x", "The option `--bogus=x` is not known."),
        ("ls -lj", "-lj", "The option `-lj` is not known."),
        ("git frob", "frob", "The subcommand `frob` is not known."),
        ("pwd x", "x", "The argument `x` is not expected."),
        ("head -n x a", "x", "`x` is not a number."),
        ("head -n", "-n", "Behind `-n` an argument is missing."),
        ("cp a", "a", "Behind `a` an argument is missing."),
    ] {
        let known = known(text);
        assert_eq!(known.asks.first().map(|ask| ask.token.text.as_str()), Some(token), "{text}");
        let ask = known.asks.first().unwrap();
        assert_eq!(ask.to_string(), reason, "{text}");
        assert!(matches!(ask.token.position, Position::Byte(at) if text[at..].starts_with(token)));
        assert!(judged(text).reason().contains(reason), "{text}");
    }
    let cluster = known("curl -sd x http://a");
    assert!(matches!(cluster.asks[0].reason, AskReason::Stated(_)));
}

#[test]
fn what_does_not_ask_says_what_it_does() {
    for (text, reason) in [
        ("git status", "This `git` command only reads."),
        ("curl http://a", "This `curl` command only reads, and connects to a:80."),
        ("git fetch", "This `git` command writes files, and connects to configured hosts."),
        ("make", "This `make` command runs the project's own code."),
        ("vim", "Orion has no grammar for `vim` and does not know what it would do."),
        ("./x", "`./x` is named by its path, so that nothing is known about its arguments."),
    ] {
        assert_eq!(judged(text).reason(), reason);
    }
    let Judgement::NoGrammar(unknown) = judged("./x a") else { panic!() };
    assert_eq!(unknown.program, Program::Path("./x".to_owned()));
    assert_eq!(unknown.arguments, ["a"]);
}

#[test]
fn fixed_arguments_are_inserted_where_the_program_reads_them() {
    let arguments = known("ruff check --fix a").arguments;
    assert_eq!(arguments, ["check", "--no-fix", "--no-fix-only", "--fix", "a"]);
    let arguments = known("curl -I http://a").arguments;
    assert_eq!(arguments, ["-q", "--globoff", "--proto", "=http,https", "-I", "http://a"]);
    let arguments = known("npx eslint a -- -b").arguments;
    assert_eq!(arguments, ["--no-install", "--offline", "eslint", "a", "--", "-b"]);
    let arguments = known("git -C a log -5 -- b").arguments;
    let user: Vec<_> = arguments.iter().skip_while(|it| *it != "-C").collect();
    assert_eq!(user, ["-C", "a", "log", "--no-ext-diff", "--no-textconv", "-5", "--", "b"]);
}
