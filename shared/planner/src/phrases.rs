//! The phrases of each language, as data.

use std::sync::LazyLock;

use crate::grammar::Book;
use crate::language::Language;

/// The English phrases, in the order in which they are tried.
pub(crate) const ENGLISH_FILES: &[&str] = &[
    include_str!("phrases/english/words.txt"),
    include_str!("phrases/english/talk.txt"),
    include_str!("phrases/english/device.txt"),
    include_str!("phrases/english/services.txt"),
    include_str!("phrases/english/projects.txt"),
    include_str!("phrases/english/files.txt"),
    include_str!("phrases/english/search.txt"),
    include_str!("phrases/english/apps.txt"),
    include_str!("phrases/english/unfinished.txt"),
];

/// The Dutch phrases, in the order in which they are tried.
pub(crate) const DUTCH_FILES: &[&str] = &[
    include_str!("phrases/dutch/words.txt"),
    include_str!("phrases/dutch/talk.txt"),
    include_str!("phrases/dutch/device.txt"),
    include_str!("phrases/dutch/services.txt"),
    include_str!("phrases/dutch/projects.txt"),
    include_str!("phrases/dutch/files.txt"),
    include_str!("phrases/dutch/search.txt"),
    include_str!("phrases/dutch/apps.txt"),
    include_str!("phrases/dutch/unfinished.txt"),
];

static ENGLISH: LazyLock<Book> = LazyLock::new(|| Book::parse(ENGLISH_FILES));
static DUTCH: LazyLock<Book> = LazyLock::new(|| Book::parse(DUTCH_FILES));

/// Returns the phrases of a language.
pub(crate) fn book(language: Language) -> &'static Book {
    match language {
        Language::English => &ENGLISH,
        Language::Dutch => &DUTCH,
    }
}
