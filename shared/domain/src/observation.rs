//! What a device saw of a path: enough to tell later whether it is still what a person was shown.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// The most paths that are observed of one call.
pub const MOST_OBSERVED: usize = 64;

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Nothing.
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
    /// In words.
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

/// What a device saw of one path that a call touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// The path as the call names it.
    pub path: String,
    /// Where it really is, once links are followed.
    pub real: String,
    /// What is there.
    pub kind: Kind,
    /// Its size in bytes; of a folder that a call may change, of all files in it.
    pub bytes: u64,
    /// When it was last changed, Unix milliseconds; nothing for a folder.
    pub modified_at: i64,
    /// SHA-256 of a file's content, of a link's target, or of the names, sizes and times in a folder;
    /// none where that was not looked at.
    pub digest: Option<Digest>,
}

impl Observation {
    /// What is different now, for a person; none where it is as it was. A file that was written
    /// with the content that it had is as it was.
    #[must_use]
    pub fn drift(&self, now: &Self) -> Option<String> {
        if self.kind != now.kind {
            return Some(format!("it was {} and is {}", self.kind.as_str(), now.kind.as_str()));
        }
        if self.real != now.real {
            return Some(format!("it led to {} and leads to {}", self.real, now.real));
        }
        let (what, size) = match self.kind {
            Kind::Nothing => return None,
            Kind::Folder => ("what is in it", format!("{} bytes, {}", self.bytes, now.bytes)),
            Kind::File => ("its content", format!("{} bytes, {}", self.bytes, now.bytes)),
            Kind::Link => {
                return (self.digest != now.digest).then(|| "it leads elsewhere".to_owned());
            }
            Kind::Special => ("it", String::new()),
        };
        if self.bytes != now.bytes {
            return Some(format!("{what} has changed: it had {size} now"));
        }
        let is_same = match (self.digest, now.digest) {
            (Some(before), Some(now)) => before == now,
            (None, None) => self.modified_at == now.modified_at,
            (Some(_), None) | (None, Some(_)) => false,
        };
        (!is_same).then(|| format!("{what} has changed, at the same size"))
    }

    /// Every field as one line of JSON, for whoever binds it.
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
            modified_at: 7,
            digest: Some(Digest::of(b"12345")),
        }
    }

    #[test]
    fn what_is_gone_moved_larger_or_rewritten_has_drifted_and_what_was_touched_has_not() {
        let before = file();
        assert_eq!(before.drift(&before), None);
        assert_eq!(before.drift(&Observation { modified_at: 8, ..file() }), None);
        let drifts = [
            Observation { kind: Kind::Nothing, ..file() },
            Observation { kind: Kind::Link, ..file() },
            Observation { real: "/a/c/x".to_owned(), ..file() },
            Observation { bytes: 6, ..file() },
            Observation { digest: Some(Digest::of(b"54321")), ..file() },
            Observation { digest: None, ..file() },
        ];
        let told: Vec<_> = drifts.iter().map(|now| before.drift(now).unwrap()).collect();
        assert_eq!(
            told,
            [
                "it was a file and is nothing",
                "it was a file and is a link",
                "it led to /a/b/x and leads to /a/c/x",
                "its content has changed: it had 5 bytes, 6 now",
                "its content has changed, at the same size",
                "its content has changed, at the same size",
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
        for (kind, told) in [
            (Kind::Nothing, None),
            (Kind::File, Some("its content has changed, at the same size")),
            (Kind::Folder, Some("what is in it has changed, at the same size")),
            (Kind::Link, Some("it leads elsewhere")),
            (Kind::Special, Some("it has changed, at the same size")),
        ] {
            let before = of(kind, 5, b"before");
            assert_eq!(before.drift(&before), None, "{kind:?}");
            assert_eq!(before.drift(&of(kind, 5, b"now")).as_deref(), told, "{kind:?}");
        }
        let (before, now) = (of(Kind::Folder, 5, b"x"), of(Kind::Folder, 6, b"x"));
        let told = before.drift(&now);
        assert_eq!(told.as_deref(), Some("what is in it has changed: it had 5 bytes, 6 now"));
        let (before, now) = (of(Kind::Special, 5, b"x"), of(Kind::File, 5, b"x"));
        let told = before.drift(&now);
        assert_eq!(told.as_deref(), Some("it was a FIFO, a socket or a device and is a file"));
        let (before, now) = (of(Kind::Folder, 5, b"x"), of(Kind::Link, 5, b"x"));
        assert_eq!(before.drift(&now).as_deref(), Some("it was a folder and is a link"));
    }

    #[test]
    fn what_is_bound_of_it_is_every_field() {
        let text = String::from_utf8(file().canonical()).unwrap();
        assert_eq!(serde_json::from_str::<Observation>(&text).unwrap(), file());
    }

    #[test]
    fn what_was_not_hashed_is_told_by_its_time() {
        let before = Observation { digest: None, ..file() };
        assert_eq!(before.drift(&before), None);
        let later = Observation { modified_at: 8, ..before.clone() };
        assert!(before.drift(&later).is_some());
        let gone = Observation { kind: Kind::Nothing, bytes: 0, digest: None, ..file() };
        assert_eq!(gone.drift(&gone), None);
        assert!(gone.drift(&file()).is_some());
    }
}
