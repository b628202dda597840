//! What the evaluator and a device's guard say of a row, in the table's words.

use std::time::Duration;

use orion_agent::guard::Guard;
use orion_domain::evaluate::Mode;
use orion_domain::rule::Moment;
use orion_domain::{
    CallId, Caller, CanonicalArguments, DeviceId, Grants, PathStyle, Places, Policy, Question,
    evaluate,
};
use orion_policy::PolicyFile;
use orion_wire::{DevicePolicy, Dispatched};
use serde_json::Value;
use uuid::Uuid;

use super::table::Row;
use super::wide;

/// An answer in the table's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) decision: String,
    pub(super) rule: String,
}

impl Answer {
    /// Where a rule stands in its file is not the table's business.
    pub(super) fn new(decision: &str, rule: &str) -> Self {
        let rule = rule.split(" (").next().unwrap_or_default().to_owned();
        Self { decision: decision.to_owned(), rule }
    }

    pub(super) fn invalid() -> Self {
        Self::new("invalid", "")
    }
}

/// One device of the table.
#[derive(Debug, Clone)]
pub(super) struct Device {
    places: Places,
    granted: DevicePolicy,
    ceiling: Option<Grants>,
    wide: Grants,
}

impl Device {
    pub(super) fn of(row: &Row) -> Self {
        let style = if row.style == "windows" { PathStyle::Windows } else { PathStyle::Posix };
        let (policy, findings) = PolicyFile::parse(&row.policy, "policy.yaml");
        let name = row.device.parse().unwrap();
        let compiled = policy
            .unwrap_or_else(|| panic!("{findings:?}"))
            .compile(&name, &orion_policy::Labels::default())
            .unwrap();
        Self {
            places: Places::parse(style, Some(&row.workspace), Some(&row.home)).unwrap(),
            granted: DevicePolicy {
                grants: compiled.grants,
                temporary: Vec::new(),
                rules: compiled.rules,
                risk: compiled.risk,
                mode: Mode::Safe,
                timezone: compiled.timezone,
            },
            ceiling: serde_json::from_value(row.ceiling.clone()).unwrap(),
            wide: serde_json::from_value(wide::ceiling(row)).unwrap(),
        }
    }

    /// What a device is sent.
    pub(super) fn granted(&self) -> &DevicePolicy {
        &self.granted
    }

    pub(super) fn evaluated(&self, row: &Row) -> Answer {
        let (spec, _) = orion_catalog::find(&row.tool).unwrap();
        let Ok(parsed) = spec.parse(row.arguments.clone(), &self.places) else {
            return Answer::invalid();
        };
        let rules = self.granted.rules.iter().cloned();
        let policy = Policy {
            grants: self.granted.grants.compile(&self.places).0,
            temporary: Vec::new(),
            granted_by: Vec::new(),
            ceiling: self.ceiling.as_ref().map(|ceiling| ceiling.compile(&self.places).0),
            owner_file: None,
            rules: rules.map(|rule| rule.compile(&self.places).0).collect(),
            risk: self.granted.risk,
            mode: Mode::Safe,
            writes_disabled: false,
            version: "table".to_owned(),
        };
        let (caller, device) = (caller(row), row.device.parse().unwrap());
        let question = Question {
            tool: spec.facts(),
            touches: Some(&parsed.touches),
            arguments: Some(&parsed.arguments),
            caller: &caller,
            device: &device,
            dry_run: row.when.dry_run,
            confirmed: parsed.confirmed,
            at: Moment { unix_ms: 1_800_000_000_000, weekday: 2, minute: 720 },
            content: None,
            raises: &[],
            counted: None,
        };
        let evaluation = evaluate(&question, &policy);
        Answer::new(evaluation.decision().as_str(), &evaluation.rule_name(&question, &policy))
    }

    /// The guard's answer, and that it admits what it allows and nothing else.
    pub(super) fn guarded(&self, row: &Row) -> Answer {
        let id = DeviceId::new(Uuid::from_u128(1));
        let ceiling = self.ceiling.as_ref().unwrap_or(&self.wide);
        let (scope, bad) = ceiling.compile(&self.places);
        assert_eq!(bad, []);
        let mut guard = Guard::new(id, row.device.parse().unwrap(), self.places.clone(), scope);
        let bytes = self.granted.to_bytes();
        guard.update(&DevicePolicy::version_of(&bytes), &bytes).unwrap();
        let (spec, _) = orion_catalog::find(&row.tool).unwrap();
        let sent = match spec.parse(row.arguments.clone(), &self.places) {
            Ok(parsed) => serde_json::from_slice(parsed.arguments.as_bytes()).unwrap(),
            Err(_) => Value::Object(row.arguments.clone()),
        };
        let call = Dispatched {
            call: CallId::new(Uuid::from_u128(2)),
            device: id,
            tool: row.tool.clone(),
            arguments: CanonicalArguments::from_value(&sent),
            arguments_value: sent.as_object().unwrap().clone(),
            dry_run: row.when.dry_run,
            time_left: Duration::from_secs(5),
            risk: spec.risk,
            policy_version: guard.policy().version.clone(),
            caller: caller(row),
            approval: None,
            observe: false,
            observed: Vec::new(),
            definition: None,
        };
        let admitted = guard.admit(&call, |_| false).is_ok();
        let answer = match guard.judge(&call) {
            Ok(judged) => Answer::new(judged.decision.as_str(), &judged.rule),
            Err(_) => Answer::invalid(),
        };
        assert_eq!(admitted, answer.decision == "allow", "{}", row.title);
        answer
    }
}

fn caller(row: &Row) -> Caller {
    Caller { user: row.user.parse().unwrap(), role: row.role.parse().unwrap(), conversation: None }
}
