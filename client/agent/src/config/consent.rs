//! `[consent]` of the owner's file: before which calls the person at the device is asked.

use std::collections::BTreeSet;
use std::time::Duration;

use orion_domain::Risk;
use serde::Deserialize;

/// The bounds of the time for an answer, in seconds.
const TIMEOUT_S: std::ops::RangeInclusive<u64> = 5..=600;

/// The section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Consent {
    /// Tools of the catalogue whose every call asks.
    pub tools: BTreeSet<String>,
    /// Calls of this risk or a higher one ask. None for no call.
    pub risk: Option<Risk>,
    /// Whether every call of a custom tool asks.
    pub custom_tools: bool,
    /// How long a question waits for its answer, in seconds.
    pub timeout: u64,
}

impl Default for Consent {
    fn default() -> Self {
        Self { tools: BTreeSet::new(), risk: None, custom_tools: false, timeout: 60 }
    }
}

/// A call, as far as it decides whether the person is asked.
#[derive(Debug, Clone, Copy)]
pub struct ConsentSubject<'a> {
    /// The tool that has the effects: where an undo call does a call again, the tool of that call.
    pub tool: &'a str,
    /// The tool that is called, where it is another one.
    pub called_by: Option<&'a str>,
    /// Whether the owner defines the tool.
    pub is_custom: bool,
    /// The risk of the call, as this device evaluates it.
    pub risk: Risk,
}

impl Consent {
    /// Returns why the person is asked before a call. None where nobody is asked.
    #[must_use]
    pub fn asks(&self, call: ConsentSubject<'_>) -> Option<String> {
        let ConsentSubject { tool, called_by, is_custom, risk } = call;
        let named =
            [Some(tool), called_by].into_iter().flatten().find(|tool| self.tools.contains(*tool));
        if let Some(tool) = named {
            return Some(format!("[consent] of agent.toml names {tool}"));
        }
        if is_custom && self.custom_tools {
            return Some("[consent] of agent.toml names custom tools".to_owned());
        }
        let least = self.risk.filter(|least| risk >= *least)?;
        Some(format!("[consent] of agent.toml names calls of {least} risk and above"))
    }

    /// Returns before which calls the person is asked, for people.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let tools = self.tools.iter().cloned();
        let custom = self.custom_tools.then(|| "custom tools".to_owned());
        let risk = self.risk.map(|risk| format!("calls of {risk} risk and above"));
        tools.chain(custom).chain(risk).collect()
    }

    /// Returns how long a question waits for its answer.
    #[must_use]
    pub const fn time(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }

    /// Checks the section.
    pub(super) fn check(&self) -> Result<(), String> {
        for tool in &self.tools {
            if !orion_catalog::CATALOG.iter().any(|spec| spec.name == tool) {
                let near = orion_catalog::nearest(tool);
                let hint = near.first().map(|near| format!("; did you mean `{near}`?"));
                let hint = hint.unwrap_or_else(|| {
                    "; for tools of your own, write custom_tools = true".to_owned()
                });
                return Err(format!("[consent] tools: there is no tool `{tool}`{hint}"));
            }
        }
        if !TIMEOUT_S.contains(&self.timeout) {
            let (least, most) = (TIMEOUT_S.start(), TIMEOUT_S.end());
            return Err(format!("[consent] timeout is in seconds, {least} to {most}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(tool: &str, risk: Risk) -> ConsentSubject<'_> {
        ConsentSubject { tool, called_by: None, is_custom: false, risk }
    }

    #[test]
    fn a_call_asks_by_its_tool_by_its_risk_or_as_a_custom_tool() {
        let none = Consent::default();
        assert_eq!(none.asks(subject("delete_file", Risk::Critical)), None);
        let tools = Consent { tools: ["delete_file".to_owned()].into(), ..Consent::default() };
        assert!(tools.asks(subject("delete_file", Risk::Low)).is_some());
        assert_eq!(tools.asks(subject("read_file", Risk::Critical)), None);
        let undoing = ["undo_call".to_owned()].into();
        let undoing = Consent { tools: undoing, ..Consent::default() };
        let again =
            ConsentSubject { called_by: Some("undo_call"), ..subject("delete_file", Risk::Low) };
        assert!(tools.asks(again).is_some() && undoing.asks(again).is_some());
        let risk = Consent { risk: Some(Risk::High), ..Consent::default() };
        assert_eq!(risk.asks(subject("write_file", Risk::Medium)), None);
        assert!(risk.asks(subject("write_file", Risk::High)).is_some());
        assert!(risk.asks(subject("write_file", Risk::Critical)).is_some());
        let custom = Consent { custom_tools: true, ..Consent::default() };
        let own = ConsentSubject { is_custom: true, ..subject("backup", Risk::Low) };
        assert_eq!(custom.asks(subject("read_file", Risk::Low)), None);
        assert!(custom.asks(own).is_some());
    }

    #[test]
    fn a_misspelled_tool_or_an_endless_wait_is_refused() {
        let of = |text: &str| toml::from_str::<Consent>(text).unwrap().check();
        assert_eq!(of("tools = [\"delete_file\"]\nrisk = \"high\"\ntimeout = 5"), Ok(()));
        let error = of("tools = [\"delete_fiel\"]").unwrap_err();
        assert_eq!(
            error,
            "[consent] tools: there is no tool `delete_fiel`; did you mean `delete_file`?"
        );
        for text in ["timeout = 0", "timeout = 4", "timeout = 601"] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
