//! The policy and the questions that every engine gets: one device with 20 tools, 20 paths, 20
//! applications and 50 rules that deny.

/// How many tools, paths and applications.
pub(crate) const EACH: usize = 20;
/// How many rules.
pub(crate) const RULES: usize = 50;

/// What a rule denies.
pub(crate) enum Deny {
    /// One tool to one person.
    ToolTo(usize, usize),
    /// Whatever lies at or beneath one path.
    Beneath(String),
}

/// The rules, by position.
pub(crate) fn rules() -> Vec<Deny> {
    (0..RULES)
        .map(|rule| {
            if rule % 2 == 0 {
                Deny::ToolTo(rule % EACH, rule)
            } else {
                Deny::Beneath(format!("{}/secret-{rule}", path(rule % EACH)))
            }
        })
        .collect()
}

/// A tool's name.
pub(crate) fn tool(index: usize) -> String {
    format!("tool_{index:02}")
}

/// A granted path; the first ten may be written, all may be read.
pub(crate) fn path(index: usize) -> String {
    format!("/srv/folder-{index:02}")
}

/// Whether a granted path may be written.
pub(crate) fn is_writable(index: usize) -> bool {
    index < EACH / 2
}

/// An application's name.
pub(crate) fn app(index: usize) -> String {
    format!("app-{index:02}")
}

/// A person's name.
pub(crate) fn user(index: usize) -> String {
    format!("user-{index:02}")
}

/// One question.
pub(crate) struct Asked {
    /// Who.
    pub(crate) user: usize,
    /// Which tool; from [`EACH`] on, one that is not granted.
    pub(crate) tool: usize,
    /// What is touched.
    pub(crate) touch: Touch,
}

/// What is touched.
pub(crate) enum Touch {
    /// A path, to write or to read.
    Path(String, bool),
    /// An application.
    App(usize),
}

/// Questions of all kinds, most of which are allowed, as in daily use.
pub(crate) fn questions() -> Vec<Asked> {
    (0..200)
        .map(|n| {
            let within = path(n % (EACH + 1));
            let touch = match n % 10 {
                0 => Touch::App(n % (EACH + 4)),
                1 => Touch::Path(format!("{within}-other/notes.txt"), false),
                2 => Touch::Path(format!("{within}/secret-{}/notes.txt", n % RULES), false),
                3 | 4 => Touch::Path(format!("{within}/reports/2026/notes.txt"), true),
                _ => Touch::Path(format!("{within}/reports/2026/notes.txt"), false),
            };
            Asked { user: (n * 7) % 60, tool: n % (EACH + 1), touch }
        })
        .collect()
}
