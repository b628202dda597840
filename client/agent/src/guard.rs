//! The device's own policy check of every call: by the policy that the backend sent, and by the ceiling
//! that only the owner can change. A decision of the backend does not count here.

use std::sync::Arc;

use orion_catalog::{ParsedCall, ToolSpec};
use orion_domain::grants::Scope;
use orion_domain::{
    ApprovalId, Decision, DeviceId, DeviceName, ErrorCode, Permit, Places, Policy, Question, Risk,
    RiskRaise, Rule, ToolError, ToolFacts, evaluate,
};
use orion_wire::{DevicePolicy, Dispatched, Timezone};

use crate::changes::as_it_acts;
use crate::clock::now_ms;
use crate::custom::CustomTools;
use crate::trash::Trash;
use crate::verdict::Verdict;

mod approval;
mod custom;
mod size;

pub use size::TooLarge;

/// The policy, ceiling and places by which this device evaluates calls.
#[derive(Debug)]
pub struct Guard {
    device: DeviceId,
    name: DeviceName,
    places: Places,
    policy: Arc<Policy>,
    /// The policy as received, compiled again when the workspace changes. None before the first policy.
    received: Option<DevicePolicy>,
    timezone: Timezone,
    /// Whether the policy's time zone is known on this device.
    knows_hours: bool,
    /// Whether the workspace changed and the backend may still evaluate by the earlier one.
    moved: bool,
    /// The records of calls that can be undone. None if no call can.
    trash: Option<Arc<Trash>>,
    /// The tools that the owner of this device defines.
    custom: Arc<CustomTools>,
}

/// This device's evaluation of a call, before any approval counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvaluatedCall {
    /// The decision.
    pub decision: Decision,
    /// Name of the rule that decided.
    pub rule: String,
}

/// A call that may run.
#[derive(Debug)]
pub struct Admitted {
    /// The right to run the call once.
    pub permit: Permit,
    /// The tool's specification.
    pub spec: &'static ToolSpec,
    /// The parsed arguments and what the call would touch.
    pub parsed: ParsedCall,
    /// The decision, to be checked again for the real paths.
    pub verdict: Verdict,
    /// The risk that the call was evaluated with.
    pub risk: Risk,
    /// Why the call's risk is higher than its tool's, as shown to the person who approved it.
    pub raises: Vec<RiskRaise>,
    /// The policy for this call, where a temporary grant widens it.
    pub widened: Option<Arc<Policy>>,
}

/// Why a policy was rejected. The earlier policy stays active.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The bytes do not match the version, which is their digest.
    #[error("the policy's bytes have version {found}, not {stated}")]
    Version {
        /// The version that was sent.
        stated: String,
        /// The version of the bytes.
        found: String,
    },
    /// Not a policy, or one with keys that this agent does not know.
    #[error("the policy can't be read: {0}")]
    Unreadable(String),
    /// The policy exceeds a limit of the device.
    #[error("the policy is too large for a device: {0}")]
    TooLarge(#[from] TooLarge),
}

impl Guard {
    /// Creates a guard that rejects every call until it has a policy; `ceiling` is the owner's.
    #[must_use]
    pub fn new(device: DeviceId, name: DeviceName, places: Places, ceiling: Scope) -> Self {
        let policy = Policy { ceiling: Some(ceiling), ..Policy::deny_all() };
        let (policy, timezone) = (Arc::new(policy), Timezone::default());
        Self {
            device,
            name,
            places,
            policy,
            received: None,
            timezone,
            knows_hours: true,
            moved: false,
            trash: None,
            custom: Arc::default(),
        }
    }

    /// Returns this guard with the trash, which records what undo calls do. Without it, none is allowed.
    #[must_use]
    pub fn remembering(self, trash: Arc<Trash>) -> Self {
        Self { trash: Some(trash), ..self }
    }

    /// Returns the device's name, as rules use it.
    #[must_use]
    pub fn name(&self) -> &DeviceName {
        &self.name
    }

    /// Sets the device's name to the backend's name for it.
    pub fn rename(&mut self, name: DeviceName) {
        self.name = name;
    }

    /// Returns the active policy, including the ceiling.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Applies a policy as it was sent. The ceiling does not change: a sent policy contains none.
    ///
    /// # Errors
    /// [`PolicyError`]; then the earlier policy stays active.
    pub fn update(&mut self, version: &str, bytes: &[u8]) -> Result<(), PolicyError> {
        let found = DevicePolicy::version_of(bytes);
        if found != version {
            let stated = version.chars().take(64).collect();
            return Err(PolicyError::Version { stated, found });
        }
        size::of_bytes(bytes)?;
        let received: DevicePolicy = serde_json::from_slice(bytes)
            .map_err(|error| PolicyError::Unreadable(error.to_string()))?;
        size::of_policy(&received)?;
        let timezone = Timezone::named(&received.timezone).map_err(|error| {
            tracing::error!(%error, "unknown time zone: rules that tighten apply at all hours, pre-approvals with hours do not apply");
        });
        self.knows_hours = timezone.is_ok();
        self.timezone = timezone.unwrap_or_default();
        let ceiling = self.policy.ceiling.clone();
        self.policy = self.compile(&received, ceiling, version.to_owned());
        self.received = Some(received);
        Ok(())
    }

    /// Compiles a policy for this device's places, limited by `ceiling`.
    fn compile(
        &self,
        received: &DevicePolicy,
        ceiling: Option<Scope>,
        version: String,
    ) -> Arc<Policy> {
        let DevicePolicy { grants, temporary, rules, risk, mode, timezone: _ } = received;
        let (grants, bad) = grants.compile(&self.places);
        for entry in bad {
            tracing::warn!(%entry, "an entry of the policy can't be understood and grants nothing");
        }
        let mut compiled = Vec::with_capacity(rules.len());
        for rule in rules {
            let (rule, bad) = self.timed(rule.clone()).compile(&self.places);
            for (path, error) in bad {
                tracing::warn!(rule = %rule.rule.title(), path, %error, "a path of a rule can't be understood; the rule is held strict");
            }
            compiled.push(rule);
        }
        let temporary = temporary.iter().cloned().map(|it| it.compile(self.places.style));
        Arc::new(Policy {
            grants,
            temporary: temporary.collect(),
            granted_by: Vec::new(),
            ceiling,
            owner_file: self.places.owner_file.clone(),
            rules: compiled,
            risk: *risk,
            mode: *mode,
            writes_disabled: false,
            version,
        })
    }

    /// Returns the rule, in its stricter form if the policy's time zone is unknown and the rule has hours.
    fn timed(&self, rule: Rule) -> Rule {
        match (self.knows_hours, &rule.hours) {
            (true, _) | (false, None) => rule,
            (false, Some(_)) if rule.action.tightens() => Rule { hours: None, ..rule },
            (false, Some(_)) => Rule { expires_at: Some(i64::MIN), ..rule },
        }
    }

    /// Applies the owner's ceiling, and the places where relative paths begin. The policy does not change.
    /// Until [`Guard::settle`], calls whose paths now mean another place are rejected: the backend evaluated
    /// them for the earlier place.
    pub fn limit(&mut self, places: Places, ceiling: Scope) {
        self.moved |= places != self.places;
        self.places = places;
        let version = self.policy.version.clone();
        self.policy = match &self.received {
            Some(received) => self.compile(received, Some(ceiling), version),
            None => Arc::new(Policy { ceiling: Some(ceiling), version, ..Policy::deny_all() }),
        };
    }

    /// Records that the backend evaluates by the same ceiling and workspace.
    pub fn settle(&mut self) {
        self.moved = false;
    }

    /// Returns the policy as it was received. None before the first policy.
    #[must_use]
    pub fn taken(&self) -> Option<&DevicePolicy> {
        self.received.as_ref()
    }

    /// Returns the received policy as bytes, to be stored. None before the first policy.
    #[must_use]
    pub fn kept(&self) -> Option<Vec<u8>> {
        self.received.as_ref().map(DevicePolicy::to_bytes)
    }

    /// Evaluates one call. `is_spent` returns whether a call was run on an approval before.
    ///
    /// # Errors
    /// The tool error for the caller, if the call is rejected.
    pub fn admit(
        &self,
        call: &Dispatched,
        is_spent: impl Fn(ApprovalId) -> bool,
    ) -> Result<Admitted, Box<ToolError>> {
        let (spec, parsed) = self.read(call)?;
        let question = self.question(call, &parsed);
        let (policy, is_widened) = self.policy_for(&question);
        let evaluation = evaluate(&question, &policy);
        let approved = match evaluation.decision() {
            Decision::Ask | Decision::DryRunFirst => {
                self.approved(call, spec, &parsed, is_spent).map_err(Box::new)?
            }
            // An approval that is not needed here still counts if it is for exactly this call: the person
            // may have seen a risk that only the disk shows.
            Decision::Allow => self.approved(call, spec, &parsed, is_spent).unwrap_or_default(),
            Decision::Deny => None,
        };
        let seen = call.approval.iter().filter(|_| approved.is_some());
        let raises = seen.flat_map(|approval| approval.raises.clone()).collect();
        let risk = evaluation.risk();
        let permit = evaluation.permit(&question, &policy, approved)?;
        let verdict = Verdict::of(&question, &parsed, &policy);
        let widened = is_widened.then_some(policy);
        Ok(Admitted { permit, spec, parsed, verdict, risk, raises, widened })
    }

    /// Evaluates a call without its approval.
    ///
    /// # Errors
    /// The call is not a valid call for this device.
    pub fn judge(&self, call: &Dispatched) -> Result<EvaluatedCall, Box<ToolError>> {
        let (_, parsed) = self.read(call)?;
        let question = self.question(call, &parsed);
        let (policy, _) = self.policy_for(&question);
        let evaluation = evaluate(&question, &policy);
        let rule = evaluation.rule_name(&question, &policy);
        Ok(EvaluatedCall { decision: evaluation.decision(), rule })
    }

    /// Returns the policy for a call, and whether a temporary grant widens it.
    fn policy_for(&self, question: &Question<'_>) -> (Arc<Policy>, bool) {
        match self.policy.for_calls(&question.tool, question.caller, question.at) {
            Some(widened) => (Arc::new(widened), true),
            None => (Arc::clone(&self.policy), false),
        }
    }

    /// Parses the call's tool and arguments, and checks that they are in canonical form.
    fn read(&self, call: &Dispatched) -> Result<(&'static ToolSpec, ParsedCall), Box<ToolError>> {
        if call.device != self.device {
            return refuse(
                ErrorCode::PermissionDenied,
                "This call is for another device and was not run.",
            );
        }
        if call.time_left.is_zero() {
            return refuse(ErrorCode::Timeout, "The call's time was over when it arrived.");
        }
        let spec = match (orion_catalog::find(&call.tool), call.definition) {
            (Some((spec, None)), None) => spec,
            (None, Some(digest)) => self.custom.meant(&call.tool, digest).map_err(Box::new)?,
            (Some(_), _) | (None, None) => return Err(Box::new(unknown_tool(&call.tool))),
        };
        let parsed = spec.parse(call.arguments_value.clone(), &self.places).map_err(Box::new)?;
        if parsed.arguments != call.arguments {
            return refuse(
                ErrorCode::InvalidArgument,
                "The arguments are not in the one form in which they are checked and sent.",
            );
        }
        if self.moved {
            let anchored = Places { workspace: None, ..self.places.clone() };
            let absolute = spec.parse(call.arguments_value.clone(), &anchored);
            if absolute.is_ok_and(|it| it.touches == parsed.touches) {
                return self.as_it_acts(spec, parsed);
            }
            let error = ToolError::new(
                ErrorCode::PathNotAllowed,
                "The workspace of this device has changed, and the backend does not know the new one yet.",
            );
            return Err(Box::new(
                error.hint("use an absolute path, or try again in a few seconds"),
            ));
        }
        self.as_it_acts(spec, parsed)
    }

    /// Returns an undo call as what it does on the disk, and any other call as it is.
    fn as_it_acts(
        &self,
        spec: &'static ToolSpec,
        parsed: ParsedCall,
    ) -> Result<(&'static ToolSpec, ParsedCall), Box<ToolError>> {
        match &self.trash {
            Some(trash) => Ok((spec, as_it_acts(trash, parsed).map_err(Box::new)?)),
            None => Ok((spec, parsed)),
        }
    }

    fn question<'a>(&'a self, call: &'a Dispatched, parsed: &'a ParsedCall) -> Question<'a> {
        Question {
            tool: ToolFacts { risk: parsed.facts.risk.max(call.risk), ..parsed.facts },
            touches: Some(&parsed.touches),
            arguments: Some(&parsed.arguments),
            caller: &call.caller,
            device: &self.name,
            dry_run: call.dry_run,
            confirmed: parsed.confirmed,
            at: self.timezone.moment(now_ms()),
            // Only the backend tracks untrusted output and counts calls.
            content: None,
            raises: &[],
            counted: None,
        }
    }
}

fn refuse<T>(code: ErrorCode, message: &str) -> Result<T, Box<ToolError>> {
    Err(Box::new(ToolError::new(code, message)))
}

fn unknown_tool(tool: &str) -> ToolError {
    let shown: String = tool.chars().take(64).collect();
    ToolError::new(ErrorCode::ToolNotFound, format!("This device has no tool `{shown}`."))
        .suggesting(orion_catalog::nearest(tool))
}

#[cfg(test)]
mod tests;
