//! The text of every statement in the source: literals, and literals that are joined by `concat!` and by
//! macros of the store.
//!
//! Nothing else can be a statement: sqlx accepts only text that is known at build time, unless it is
//! asserted to be safe. Only a script of the writer is, which joins such texts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// How a statement on tables begins.
const VERBS: [&str; 6] = ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "REPLACE ", "WITH "];

/// A macro that expands to text: its parameter, if it has one, and its text.
struct Snippet {
    parameter: Option<String>,
    body: TokenStream,
}

type Snippets = BTreeMap<String, Snippet>;

/// Returns every statement of the store.
pub(super) fn statements() -> BTreeSet<String> {
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store");
    let mut files = vec![store.with_extension("rs")];
    gather(&store, &mut files);
    let sources: Vec<(PathBuf, TokenStream)> = files
        .into_iter()
        .map(|file| {
            let text = fs::read_to_string(&file).unwrap();
            let asserted = concat!("Assert", "SqlSafe");
            assert!(
                !text.contains(asserted) || file.ends_with("store/db/connection.rs"),
                "{} puts a statement together while it runs, so that nothing can explain it",
                file.display()
            );
            (file, text.parse().unwrap())
        })
        .collect();
    let mut snippets = Snippets::new();
    for (_, source) in &sources {
        define(source, &mut snippets);
    }
    let mut found = BTreeSet::new();
    for (_, source) in sources {
        collect(source, &snippets, &mut found);
    }
    found
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with("store/tests") {
                gather(&path, files);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !path.ends_with("store/tests.rs")
        {
            files.push(path);
        }
    }
}

fn is_word(token: Option<&TokenTree>, word: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == word)
}

fn is_mark(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

/// Returns the text of a string literal. None for another token.
fn text(token: &TokenTree) -> Option<String> {
    let TokenTree::Literal(literal) = token else { return None };
    syn::parse_str::<syn::LitStr>(&literal.to_string()).ok().map(|text| text.value())
}

/// Collects the macros with one rule and at most one parameter.
fn define(source: &TokenStream, snippets: &mut Snippets) {
    let tokens: Vec<_> = source.clone().into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        let rules = (is_word(Some(token), "macro_rules") && is_mark(tokens.get(at + 1), '!'))
            .then(|| (tokens.get(at + 2), tokens.get(at + 3)));
        let Some((Some(TokenTree::Ident(name)), Some(TokenTree::Group(rules)))) = rules else {
            continue;
        };
        let rules: Vec<_> = rules.stream().into_iter().collect();
        if let (Some(TokenTree::Group(pattern)), Some(TokenTree::Group(body))) =
            (rules.first(), rules.get(3))
        {
            let parameter = pattern.stream().into_iter().nth(1).map(|name| name.to_string());
            snippets.insert(name.to_string(), Snippet { parameter, body: body.stream() });
        }
    }
}

/// Returns the text that these tokens expand to. None if they are not only text.
fn joined(tokens: TokenStream, snippets: &Snippets, given: Option<(&str, &str)>) -> Option<String> {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let mut whole = String::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if let Some(text) = text(token) {
            whole.push_str(&text);
            at += 1;
        } else if is_mark(Some(token), ',') {
            at += 1;
        } else if is_mark(Some(token), '$') {
            let (name, value) = given?;
            whole.push_str(is_word(tokens.get(at + 1), name).then_some(value)?);
            at += 2;
        } else {
            whole.push_str(&called(tokens.get(at..)?, snippets, given)?);
            at += 3;
        }
    }
    Some(whole)
}

/// Returns the text of a macro call at the start of these tokens.
fn called(
    tokens: &[TokenTree],
    snippets: &Snippets,
    given: Option<(&str, &str)>,
) -> Option<String> {
    let [TokenTree::Ident(name), mark, TokenTree::Group(arguments), ..] = tokens else {
        return None;
    };
    if !is_mark(Some(mark), '!') {
        return None;
    }
    let arguments = joined(arguments.stream(), snippets, given)?;
    if name == "concat" {
        return Some(arguments);
    }
    let snippet = snippets.get(&name.to_string())?;
    let given = snippet.parameter.as_deref().map(|name| (name, arguments.as_str()));
    joined(snippet.body.clone(), snippets, given)
}

/// Collects the statements among these tokens.
fn collect(source: TokenStream, snippets: &Snippets, found: &mut BTreeSet<String>) {
    let tokens: Vec<_> = source.into_iter().collect();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let rest = tokens.get(at..).unwrap_or_default();
        let (whole, length) = match token {
            // Macros are expanded where they are called; attributes have no statements.
            TokenTree::Ident(name) if name == "macro_rules" => (None, 4),
            TokenTree::Punct(mark) if mark.as_char() == '#' => (None, 2),
            TokenTree::Ident(_) => match called(rest, snippets, None) {
                Some(whole) => (Some(whole), 3),
                None => (None, 1),
            },
            TokenTree::Literal(_) => (text(token), 1),
            TokenTree::Group(group) => {
                if group.delimiter() != Delimiter::None || !group.stream().is_empty() {
                    collect(group.stream(), snippets, found);
                }
                (None, 1)
            }
            TokenTree::Punct(_) => (None, 1),
        };
        let whole = whole.filter(|whole| VERBS.iter().any(|verb| begins(whole, verb)));
        found.extend(whole);
        at += length;
    }
}

fn begins(statement: &str, verb: &str) -> bool {
    let statement = statement.trim_start();
    statement.get(..verb.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(verb))
}
