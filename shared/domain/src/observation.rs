//! What a device observed of a path: enough to detect whether it changed since a person was shown it.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// The maximum number of paths that are observed for one call.
pub const MAX_OBSERVED: usize = 64;

/// The kind of file at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Nothing exists at the path.
    Nothing,
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A FIFO, a socket, a device.
    Special,
}

impl Kind {
    /// Returns the kind in words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::File => "a file",
            Self::Folder => "a folder",
            Self::Link => "a link",
            Self::Special => "a FIFO, a socket or a device",
        }
    }
}

/// What a device observed of one path that a call touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// The path as the call names it.
    pub path: String,
    /// The real path, with links followed.
    pub real: String,
    /// The kind of file.
    pub kind: Kind,
    /// The size in bytes. For a folder with its content, the sum of all files in it.
    pub bytes: u64,
    /// The Unix mode bits; 0 on other systems.
    pub mode: u32,
    /// Detects a later change: SHA-256 of a file's content or a link's target. For a file too large or
    /// not readable, and for everything in a folder, the hash covers identity and times. `None` where
    /// nothing exists.
    pub digest: Option<Digest>,
}

impl Observation {
    /// Returns whether a later change can be detected.
    #[must_use]
    pub fn is_comparable(&self) -> bool {
        self.kind == Kind::Nothing || self.digest.is_some()
    }

    /// Describes for a person what changed; `None` where nothing did. A file rewritten with the same
    /// content has not changed.
    #[must_use]
    pub fn drift(&self, now: &Self) -> Option<String> {
        if self.kind != now.kind {
            return Some(format!("it was {} and is {}", self.kind.as_str(), now.kind.as_str()));
        }
        if self.real != now.real {
            return Some(format!("it led to {} and leads to {}", self.real, now.real));
        }
        if self.kind == Kind::Nothing {
            return None;
        }
        if self.mode != now.mode {
            return Some("it may be used by others than before, or be run".to_owned());
        }
        let is_same = self.digest.is_some() && self.digest == now.digest;
        if self.bytes == now.bytes && is_same {
            return None;
        }
        let what = match self.kind {
            Kind::Nothing | Kind::Special => "it",
            Kind::Link => return Some("it leads elsewhere".to_owned()),
            Kind::Folder => "what is in it",
            Kind::File => "its content",
        };
        Some(if self.bytes == now.bytes {
            format!("{what} has changed, at the same size")
        } else {
            format!("{what} has changed: it had {} bytes, {} now", self.bytes, now.bytes)
        })
    }

    /// Returns every field as one line of JSON, for binding.
    #[must_use]
    pub fn canonical(&self) -> Vec<u8> {
        // A struct of text and numbers always serialises.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Observation {
        Observation {
            path: "/a/link/x".to_owned(),
            real: "/a/b/x".to_owned(),
            kind: Kind::File,
            bytes: 5,
            mode: 0o644,
            digest: Some(Digest::of(b"12345")),
        }
    }

    #[test]
    fn what_is_gone_moved_larger_rewritten_or_made_a_program_has_drifted() {
        let before = file();
        assert_eq!(before.drift(&before), None);
        let drifts = [
            Observation { kind: Kind::Nothing, ..file() },
            Observation { kind: Kind::Link, ..file() },
            Observation { real: "/a/c/x".to_owned(), ..file() },
            Observation { bytes: 6, ..file() },
            Observation { digest: Some(Digest::of(b"54321")), ..file() },
            Observation { digest: None, ..file() },
            Observation { mode: 0o755, ..file() },
        ];
        let text: Vec<_> = drifts.iter().map(|now| before.drift(now).unwrap()).collect();
        assert_eq!(
            text,
            [
                "it was a file and is nothing",
                "it was a file and is a link",
                "it led to /a/b/x and leads to /a/c/x",
                "its content has changed: it had 5 bytes, 6 now",
                "its content has changed, at the same size",
                "its content has changed, at the same size",
                "it may be used by others than before, or be run",
            ]
        );
    }

    #[test]
    fn what_has_drifted_is_told_by_what_it_was() {
        let of = |kind, bytes, digest: &[u8]| Observation {
            kind,
            bytes,
            digest: Some(Digest::of(digest)),
            ..file()
        };
        for (kind, text) in [
            (Kind::Nothing, None),
            (Kind::File, Some("its content has changed, at the same size")),
            (Kind::Folder, Some("what is in it has changed, at the same size")),
            (Kind::Link, Some("it leads elsewhere")),
            (Kind::Special, Some("it has changed, at the same size")),
        ] {
            let before = of(kind, 5, b"before");
            assert_eq!(before.drift(&before), None, "{kind:?}");
            assert_eq!(before.drift(&of(kind, 5, b"now")).as_deref(), text, "{kind:?}");
        }
        let (before, now) = (of(Kind::Folder, 5, b"x"), of(Kind::Folder, 6, b"x"));
        let text = before.drift(&now);
        assert_eq!(text.as_deref(), Some("what is in it has changed: it had 5 bytes, 6 now"));
        let (before, now) = (of(Kind::Special, 5, b"x"), of(Kind::File, 5, b"x"));
        let text = before.drift(&now);
        assert_eq!(text.as_deref(), Some("it was a FIFO, a socket or a device and is a file"));
        let (before, now) = (of(Kind::Folder, 5, b"x"), of(Kind::Link, 5, b"x"));
        assert_eq!(before.drift(&now).as_deref(), Some("it was a folder and is a link"));
    }

    #[test]
    fn what_is_bound_of_it_is_every_field() {
        let text = String::from_utf8(file().canonical()).unwrap();
        assert_eq!(serde_json::from_str::<Observation>(&text).unwrap(), file());
    }

    #[test]
    fn what_tells_nothing_is_never_as_it_was() {
        for kind in [Kind::File, Kind::Folder, Kind::Link, Kind::Special] {
            let blind = Observation { kind, digest: None, ..file() };
            assert!(blind.drift(&blind).is_some(), "{kind:?}");
        }
        let gone = Observation { kind: Kind::Nothing, bytes: 0, mode: 0, digest: None, ..file() };
        assert_eq!(gone.drift(&gone), None);
        assert!(gone.drift(&file()).is_some());
    }
}
