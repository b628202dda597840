//! The labels of a device: keys with values, by which rules select devices. The policy file gives them, or they are
//! stored with the device.

use std::collections::{BTreeMap, BTreeSet};

use orion_domain::strip_hidden;
use serde::{Deserialize, Serialize};

use crate::name::{NAMES, is_name};

/// The maximum number of labels that are stored with a device or a token.
pub const MAX_LABELS: usize = 16;

/// The labels of a device, each with a key of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, String>", into = "BTreeMap<String, String>")]
pub struct Labels(BTreeMap<String, String>);

/// Why a text is no label, or labels cannot be stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// The text has no `=`.
    #[error("`{0}` is no label")]
    Pair(String),
    /// The key or the value cannot be one.
    #[error("`{0}` cannot be the key or the value of a label")]
    Name(String),
    /// A key is given twice, or both set and removed.
    #[error("the label `{0}` is given twice")]
    Twice(String),
    /// There are more labels than are stored.
    #[error("a device has {MAX_LABELS} labels at most")]
    TooMany,
    /// A change sets and removes nothing.
    #[error("no label is set or removed")]
    Nothing,
}

impl LabelError {
    /// Returns what to do about it.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Pair(_) => "Write a label as KEY=VALUE, such as env=prod.",
            Self::Name(_) => NAMES,
            Self::Twice(_) => "Give each key once.",
            Self::TooMany => "Use fewer labels, or write them into the policy file.",
            Self::Nothing => "Write KEY=VALUE to set a label, and KEY- to remove one.",
        }
    }
}

impl Labels {
    /// Parses labels that are to be stored, each written as `KEY=VALUE`.
    ///
    /// # Errors
    /// See [`LabelError`].
    pub fn parse(texts: &[String]) -> Result<Self, LabelError> {
        if texts.len() > MAX_LABELS {
            return Err(LabelError::TooMany);
        }
        let mut labels = Self::default();
        for text in texts {
            let (key, value) =
                text.split_once('=').ok_or_else(|| LabelError::Pair(quoted(text)))?;
            if labels.get(key).is_some() {
                return Err(LabelError::Twice(key.to_owned()));
            }
            labels.insert(key, value)?;
        }
        Ok(labels)
    }

    /// Sets a label.
    ///
    /// # Errors
    /// [`LabelError::Name`].
    pub fn insert(&mut self, key: &str, value: &str) -> Result<(), LabelError> {
        check(key)?;
        check(value)?;
        self.0.insert(key.to_owned(), value.to_owned());
        Ok(())
    }

    /// Returns the value of a label.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Returns whether there is no label.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the keys with their values, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

fn check(text: &str) -> Result<(), LabelError> {
    if is_name(text) { Ok(()) } else { Err(LabelError::Name(quoted(text))) }
}

/// Returns a text as an error shows it.
fn quoted(text: &str) -> String {
    strip_hidden(text, 64)
}

impl TryFrom<BTreeMap<String, String>> for Labels {
    type Error = LabelError;

    fn try_from(labels: BTreeMap<String, String>) -> Result<Self, LabelError> {
        labels.iter().flat_map(|(key, value)| [key, value]).try_for_each(|text| check(text))?;
        Ok(Self(labels))
    }
}

impl From<Labels> for BTreeMap<String, String> {
    fn from(labels: Labels) -> Self {
        labels.0
    }
}

/// A change of the labels that are stored with a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelChange {
    set: Labels,
    remove: BTreeSet<String>,
}

impl LabelChange {
    /// Parses the labels to set, each written as `KEY=VALUE`, and the keys to remove.
    ///
    /// # Errors
    /// See [`LabelError`].
    pub fn parse(set: &[String], remove: &[String]) -> Result<Self, LabelError> {
        if set.is_empty() && remove.is_empty() {
            return Err(LabelError::Nothing);
        }
        if remove.len() > MAX_LABELS {
            return Err(LabelError::TooMany);
        }
        let set = Labels::parse(set)?;
        let mut keys = BTreeSet::new();
        for key in remove {
            check(key)?;
            if set.get(key).is_some() || !keys.insert(key.clone()) {
                return Err(LabelError::Twice(key.clone()));
            }
        }
        Ok(Self { set, remove: keys })
    }

    /// Returns the labels after the change.
    ///
    /// # Errors
    /// [`LabelError::TooMany`].
    pub fn apply(&self, before: &Labels) -> Result<Labels, LabelError> {
        let kept = before.0.iter().filter(|(key, _)| !self.remove.contains(*key));
        let after: BTreeMap<_, _> =
            kept.chain(&self.set.0).map(|(key, value)| (key.clone(), value.clone())).collect();
        if after.len() > MAX_LABELS { Err(LabelError::TooMany) } else { Ok(Labels(after)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    fn labels(pairs: &[&str]) -> Labels {
        Labels::parse(&texts(pairs)).unwrap()
    }

    fn numbered(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("k{number}=x")).collect()
    }

    #[test]
    fn a_label_is_a_key_and_a_value_that_the_policy_file_takes() {
        let parsed = |text: &str| Labels::parse(&texts(&[text]));
        let long = "x".repeat(63);
        for good in ["env=prod", "a.b-c_d=1.0", "0=0", &format!("{long}={long}")] {
            assert!(parsed(good).is_ok(), "{good}");
        }
        for no_pair in ["", "env", "env:prod"] {
            assert_eq!(parsed(no_pair), Err(LabelError::Pair(no_pair.to_owned())));
        }
        for (text, wrong) in [
            ("=prod", ""),
            ("env=", ""),
            ("Env=prod", "Env"),
            ("env=Prod", "Prod"),
            ("-env=prod", "-env"),
            ("env=a=b", "a=b"),
            ("env=a b", "a b"),
            ("env=\u{202e}x", "x"),
            ("env=prod\n", "prod"),
            ("e/v=prod", "e/v"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(matches!(error, LabelError::Name(_)), "{text}: {error:?}");
            let shown = error.to_string();
            assert!(shown.contains(wrong) && !shown.contains('\u{202e}'), "{text}: {shown}");
        }
        assert!(parsed(&format!("env={long}x")).is_err());
        assert!(parsed(&format!("{long}x=prod")).is_err());
        assert!(parsed(&"x".repeat(1_000_000)).unwrap_err().to_string().len() < 300);
    }

    #[test]
    fn sixteen_labels_with_keys_of_their_own_are_stored_at_most() {
        assert_eq!(Labels::parse(&numbered(16)).unwrap().iter().count(), 16);
        assert_eq!(Labels::parse(&numbered(17)), Err(LabelError::TooMany));
        let twice = Labels::parse(&texts(&["env=a", "env=a"]));
        assert_eq!(twice, Err(LabelError::Twice("env".to_owned())));
    }

    #[test]
    fn a_change_sets_and_removes_and_leaves_the_rest() {
        let before = labels(&["env=prod", "group=laptops"]);
        let change =
            |set: &[&str], remove: &[&str]| LabelChange::parse(&texts(set), &texts(remove));
        let after = change(&["env=lab", "site=home"], &["group", "other"]).unwrap().apply(&before);
        assert_eq!(after, Ok(labels(&["env=lab", "site=home"])));
        assert_eq!(change(&[], &[]), Err(LabelError::Nothing));
        assert_eq!(change(&["a=b"], &["a"]), Err(LabelError::Twice("a".to_owned())));
        assert_eq!(change(&[], &["a", "a"]), Err(LabelError::Twice("a".to_owned())));
        assert_eq!(change(&[], &["A"]), Err(LabelError::Name("A".to_owned())));
        let full = Labels::parse(&numbered(16)).unwrap();
        assert_eq!(change(&["more=x"], &[]).unwrap().apply(&full), Err(LabelError::TooMany));
        assert!(change(&["more=x"], &["k0"]).unwrap().apply(&full).is_ok());
        assert!(change(&["k0=y"], &[]).unwrap().apply(&full).is_ok());
    }

    #[test]
    fn what_is_stored_is_read_back_and_what_is_no_label_is_not() {
        let stored = serde_json::to_string(&labels(&["group=laptops", "env=prod"])).unwrap();
        assert_eq!(stored, r#"{"env":"prod","group":"laptops"}"#);
        assert_eq!(
            serde_json::from_str::<Labels>(&stored).unwrap(),
            labels(&["env=prod", "group=laptops"])
        );
        assert!(serde_json::from_str::<Labels>(r#"{"Env":"prod"}"#).is_err());
        assert!(serde_json::from_str::<Labels>(r#"["env"]"#).is_err());
    }
}
