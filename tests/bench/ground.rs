//! The files that are searched: made once a run, the same each time.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Names in the wide tree, and the folders that hold them.
const FILES: usize = 200_000;
const FOLDERS: usize = 2_000;
/// Files that the names of the wide tree stand for. A file may have 65,000 names at most.
const ORIGINALS: usize = 4_000;
/// One name in so many ends in `.log`, one file in so many holds the word that is looked for.
const LOGS: usize = 25;
const NEEDLES: usize = 100;
/// Files in the folder of texts, and how long each is.
const TEXTS: usize = 4_000;
const TEXT_BYTES: usize = 50_000;

const WORDS: &[&str] = &[
    "the", "server", "request", "finding", "value", "window", "and", "returns", "night", "a",
    "running", "list", "of", "between", "open", "error", "small", "invoice", "is", "meeting",
    "storage", "with", "answer", "morning", "late", "column", "first", "was", "closed", "waiting",
];

/// The folders that are searched.
pub(crate) struct Ground {
    /// 200,000 small files in 2,000 folders, some of them nested.
    pub(crate) wide: PathBuf,
    /// 200 MB of text in 4,000 files.
    pub(crate) texts: PathBuf,
    /// For files that are read and written.
    pub(crate) desk: PathBuf,
}

impl Ground {
    pub(crate) fn make(folder: &Path) -> anyhow::Result<Self> {
        let ground = Self {
            wide: folder.join("wide"),
            texts: folder.join("texts"),
            desk: folder.join("desk"),
        };
        fs::create_dir(&ground.desk)?;
        ground.make_wide(&folder.join("originals"))?;
        ground.make_texts()?;
        Ok(ground)
    }

    /// The names are links to fewer files, which spares the disk and makes no difference to what
    /// looks at names or reads.
    fn make_wide(&self, originals: &Path) -> anyhow::Result<()> {
        fs::create_dir(originals)?;
        let mut words = Words(1);
        for number in 0..ORIGINALS {
            let mut text = String::new();
            for _ in 0..4 {
                words.line(&mut text);
            }
            if number % NEEDLES == 0 {
                writeln!(text, "a needle with the number {number}")?;
            }
            fs::write(originals.join(number.to_string()), text)?;
        }
        let mut folders = Vec::new();
        for number in 0..FOLDERS {
            let mut folder = self.wide.join(format!("part{:02}", number % 20));
            if number % 5 == 0 {
                folder.push("nested");
            }
            folder.push(format!("folder{number:04}"));
            fs::create_dir_all(&folder)?;
            folders.push(folder);
        }
        for number in 0..FILES {
            let kind = match number % LOGS {
                0 => "log",
                1..9 => "rs",
                9..15 => "md",
                _ => "txt",
            };
            let folder = folders.get(number % FOLDERS).unwrap_or(&self.wide);
            // Spread, so that names and contents do not go together.
            let original = originals.join((number * 7 % ORIGINALS).to_string());
            fs::hard_link(original, folder.join(format!("file-{number:06}.{kind}")))?;
        }
        Ok(())
    }

    fn make_texts(&self) -> anyhow::Result<()> {
        let mut words = Words(2);
        let mut text = String::with_capacity(TEXT_BYTES + 200);
        for number in 0..TEXTS {
            if number % 100 == 0 {
                fs::create_dir_all(self.text_folder(number))?;
            }
            text.clear();
            while text.len() < TEXT_BYTES {
                words.line(&mut text);
            }
            if number % 4 == 0 {
                writeln!(text, "fn needle_{number}() stands here")?;
            }
            fs::write(self.text_folder(number).join(format!("text{number}.txt")), &text)?;
        }
        Ok(())
    }

    fn text_folder(&self, number: usize) -> PathBuf {
        self.texts.join(format!("shelf{:02}", number / 100))
    }
}

/// Words in no order that anyone would know, the same in each run.
struct Words(u32);

impl Words {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0 >> 16
    }

    /// A line of about sixty characters.
    fn line(&mut self, text: &mut String) {
        for _ in 0..9 {
            let word = self.next() as usize % WORDS.len();
            text.push_str(WORDS.get(word).unwrap_or(&"word"));
            text.push(' ');
        }
        text.push_str(if self.next().is_multiple_of(8) { "7\n" } else { "end\n" });
    }
}
