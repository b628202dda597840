//! `orion` at a terminal with a person who types, by `script` of the system.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin};

use crate::eventually::PATIENCE;

/// A program at a terminal of 80 columns and 24 lines.
#[derive(Debug)]
pub struct Terminal {
    child: Child,
    keys: ChildStdin,
    /// Everything that was shown, with the codes that the terminal obeys.
    shown: Arc<Mutex<Vec<u8>>>,
    /// How much of it was seen.
    seen: usize,
}

impl Terminal {
    /// Takes over what `script` runs, whose input and output are pipes.
    ///
    /// # Panics
    /// They are not.
    #[must_use]
    pub fn new(mut child: Child) -> Self {
        let keys = child.stdin.take().unwrap();
        let mut output = child.stdout.take().unwrap();
        let shown = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&shown);
        tokio::spawn(async move {
            let mut piece = [0; 4096];
            while let Ok(read @ 1..) = output.read(&mut piece).await {
                into.lock().unwrap_or_else(PoisonError::into_inner).extend(&piece[..read]);
            }
        });
        Self { child, keys, shown, seen: 0 }
    }

    /// Types text, without a line end.
    ///
    /// # Panics
    /// The program has ended.
    pub async fn types(&mut self, text: &str) {
        self.keys.write_all(text.as_bytes()).await.unwrap();
        self.keys.flush().await.unwrap();
    }

    /// Types a line.
    pub async fn line(&mut self, text: &str) {
        self.types(&format!("{text}\r")).await;
    }

    /// Presses Ctrl-C.
    pub async fn interrupt(&mut self) {
        self.types("\u{3}").await;
    }

    /// Returns what was shown and not seen yet, with the codes that the terminal obeys. A letter may have come in part.
    fn unseen(&self) -> Vec<u8> {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.get(self.seen..).unwrap_or_default().to_vec()
    }

    /// Waits until this text is shown, behind what was seen before, and returns what is shown up to its end.
    ///
    /// # Panics
    /// It is not shown.
    pub async fn sees(&mut self, text: &str) -> String {
        let found = tokio::time::timeout(PATIENCE, async {
            loop {
                let unseen = self.unseen();
                let mut places = unseen.windows(text.len());
                if let Some(at) = places.position(|place| place == text.as_bytes()) {
                    return unseen.get(..at + text.len()).unwrap_or_default().to_vec();
                }
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        })
        .await;
        let Ok(found) = found else { panic!("`{text}` is not shown:\n{}", plain(&self.unseen())) };
        self.seen += found.len();
        plain(&found)
    }

    /// Returns what was shown and not seen yet.
    #[must_use]
    pub fn rest(&self) -> String {
        plain(&self.unseen())
    }

    /// Waits until the program has ended, and returns its exit code.
    ///
    /// # Panics
    /// It does not end.
    pub async fn ended(&mut self) -> i32 {
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        let Ok(status) = ended else { panic!("it does not end:\n{}", plain(&self.unseen())) };
        status.unwrap().code().unwrap()
    }
}

/// Returns what stands on the lines of a terminal of which each line is as long as it needs to be. Moves to
/// other lines are left out.
fn plain(shown: &[u8]) -> String {
    let text = &*String::from_utf8_lossy(shown);
    let (mut lines, mut column) = (vec![Vec::new()], 0_usize);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let Some(line) = lines.last_mut() else { break };
        match letter {
            '\u{1b}' => {
                // `ESC [ … letter`; other codes have one character.
                if letters.next() != Some('[') {
                    continue;
                }
                let mut count = String::new();
                let code = letters.by_ref().find(|c| {
                    count.push(*c);
                    c.is_ascii_alphabetic()
                });
                count.pop();
                let steps = count.parse::<usize>();
                match (code, steps) {
                    (Some('C'), steps) => column += steps.unwrap_or(1),
                    (Some('D'), steps) => column = column.saturating_sub(steps.unwrap_or(1)),
                    (Some('G'), steps) => column = steps.unwrap_or(1).saturating_sub(1),
                    (Some('K'), Ok(2)) => line.clear(),
                    (Some('K'), Ok(1)) => line.iter_mut().take(column).for_each(|c| *c = ' '),
                    (Some('K' | 'J'), _) => line.truncate(column),
                    _ => {}
                }
            }
            '\r' => column = 0,
            '\n' => {
                lines.push(Vec::new());
                column = 0;
            }
            letter => {
                if line.len() <= column {
                    line.resize(column + 1, ' ');
                }
                line[column] = letter;
                column += 1;
            }
        }
    }
    let lines: Vec<String> = lines.into_iter().map(|line| line.into_iter().collect()).collect();
    lines.join("\n")
}
