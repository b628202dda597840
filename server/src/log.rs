//! The log: lines on standard error, in which keys, tokens and passwords are hidden as in results. An error of another
//! program may repeat the one that it was given.

use std::io::{self, Stderr, Write};

use crate::secret_values;

/// Writes each line with its secrets hidden. A line must come in one piece.
#[derive(Debug)]
pub struct HidingWriter<W>(W);

/// Returns the writer of one line of the log on standard error.
#[must_use]
pub fn on_stderr() -> HidingWriter<Stderr> {
    HidingWriter(io::stderr())
}

/// Prepares the rules, before anything is logged.
pub fn prepare() {
    secret_values::prepare();
}

impl<W: Write> Write for HidingWriter<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let hidden = secret_values::hidden(&text);
        self.0.write_all(hidden.as_ref().map_or(line, String::as_bytes))?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::fmt::MakeWriter;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Lines {
        type Writer = HidingWriter<Self>;
        fn make_writer(&'a self) -> Self::Writer {
            HidingWriter(self.clone())
        }
    }

    #[test]
    fn secrets_in_messages_and_fields_are_hidden_and_the_rest_of_the_line_stays() {
        prepare();
        let lines = Lines::default();
        let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(lines.clone());
        let key = format!("{}{}", "AKIA", "ABCDEFGH234567IJ");
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            tracing::error!(error = %format!("refused the key {key}"), "a model failed");
            tracing::warn!("the key {key} has ended");
            tracing::info!(port = 7080, "listening");
        });
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert!(!text.contains(&key), "{text}");
        assert_eq!(text.matches("[secret: aws access key, id ").count(), 2, "{text}");
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.contains("a model failed") && text.contains("has ended\n"), "{text}");
        assert!(text.ends_with("listening port=7080\n"), "{text}");
    }
}
