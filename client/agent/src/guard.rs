//! The device judges every call for itself: by the policy that the backend lent, and by the ceiling
//! that only its owner can change. No permit that anyone else made counts here.

use orion_catalog::{ParsedCall, ToolSpec};
use orion_domain::evaluate::Approved;
use orion_domain::{
    ApprovalId, CallBinding, Decision, DeviceId, DeviceName, ErrorCode, Permit, Places, Policy,
    Question, ToolError, ToolFacts, evaluate,
};
use orion_wire::{DevicePolicy, Dispatched, Timezone};

use crate::clock::now_ms;

/// What this device judges by.
#[derive(Debug)]
pub struct Guard {
    device: DeviceId,
    name: DeviceName,
    places: Places,
    policy: Policy,
    timezone: Timezone,
}

/// A call that may run, and what it is.
#[derive(Debug)]
pub struct Admitted {
    /// The right to run it, once.
    pub permit: Permit,
    /// The tool.
    pub spec: &'static ToolSpec,
    /// Its arguments and what it would touch.
    pub parsed: ParsedCall,
}

/// Why a policy was not taken. The one before it stays.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The bytes are not what the version says.
    #[error("the policy's bytes have version {found}, not {stated}")]
    Version {
        /// What was said.
        stated: String,
        /// What they are.
        found: String,
    },
    /// Not a policy, or one with keys that this agent does not know.
    #[error("the policy can't be read: {0}")]
    Unreadable(String),
}

impl Guard {
    /// A guard that refuses every call until it has a policy; `ceiling` is the owner's.
    #[must_use]
    pub fn new(
        device: DeviceId,
        name: DeviceName,
        places: Places,
        ceiling: orion_domain::grants::Scope,
    ) -> Self {
        let policy = Policy { ceiling: Some(ceiling), ..Policy::deny_all() };
        Self { device, name, places, policy, timezone: Timezone::default() }
    }

    /// The device's name, as rules call it.
    #[must_use]
    pub fn name(&self) -> &DeviceName {
        &self.name
    }

    /// Takes the name that the backend has for this device.
    pub fn rename(&mut self, name: DeviceName) {
        self.name = name;
    }

    /// The policy that holds here, ceiling included.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Takes a policy as it was sent. The ceiling stays what it is: nothing that is sent holds one.
    ///
    /// # Errors
    /// [`PolicyError`]; then the policy before it holds on.
    pub fn update(&mut self, version: &str, bytes: &[u8]) -> Result<(), PolicyError> {
        let found = DevicePolicy::version_of(bytes);
        if found != version {
            let stated = version.chars().take(64).collect();
            return Err(PolicyError::Version { stated, found });
        }
        let DevicePolicy { grants, rules, risk, mode, timezone } = serde_json::from_slice(bytes)
            .map_err(|error| PolicyError::Unreadable(error.to_string()))?;
        let timezone = Timezone::named(&timezone)
            .map_err(|error| PolicyError::Unreadable(error.to_string()))?;
        let (grants, bad) = grants.compile(&self.places);
        for entry in bad {
            tracing::warn!(%entry, "an entry of the policy can't be understood and grants nothing");
        }
        let mut compiled = Vec::with_capacity(rules.len());
        for rule in rules {
            let (rule, bad) = rule.compile(&self.places);
            for (path, error) in bad {
                tracing::warn!(rule = %rule.rule.title(), path, %error, "a path of a rule can't be understood; the rule is held strict");
            }
            compiled.push(rule);
        }
        let ceiling = self.policy.ceiling.take();
        let version = version.to_owned();
        self.policy = Policy { grants, ceiling, rules: compiled, risk, mode, version };
        self.timezone = timezone;
        Ok(())
    }

    /// Judges one call. `is_spent` says whether a call was run on an approval before.
    ///
    /// # Errors
    /// What the caller is told instead.
    pub fn admit(
        &self,
        call: &Dispatched,
        is_spent: impl Fn(ApprovalId) -> bool,
    ) -> Result<Admitted, Box<ToolError>> {
        if call.device != self.device {
            return refuse(
                ErrorCode::PermissionDenied,
                "This call is for another device and was sent here by mistake or by a liar.",
            );
        }
        if call.time_left.is_zero() {
            return refuse(ErrorCode::Timeout, "The call's time was over when it arrived.");
        }
        let spec = match orion_catalog::find(&call.tool) {
            Some((spec, None)) => spec,
            Some((_, Some(_))) | None => return Err(Box::new(unknown_tool(&call.tool))),
        };
        let parsed = spec.parse(call.arguments_value.clone(), &self.places).map_err(Box::new)?;
        if parsed.arguments != call.arguments {
            return refuse(
                ErrorCode::InvalidArgument,
                "The arguments are not in the one form in which they are checked and sent.",
            );
        }
        let question = Question {
            tool: ToolFacts { risk: spec.risk.max(call.risk), ..spec.facts() },
            touches: Some(&parsed.touches),
            caller: &call.caller,
            device: &self.name,
            dry_run: call.dry_run,
            confirmed: parsed.confirmed,
            at: self.timezone.moment(now_ms()),
            // What strangers wrote and how often is for the backend to know.
            tainted: false,
            counted: None,
        };
        let evaluation = evaluate(&question, &self.policy);
        let approved = match evaluation.decision() {
            Decision::Ask | Decision::DryRunFirst => {
                self.approved(call, &parsed, is_spent).map_err(Box::new)?
            }
            Decision::Allow | Decision::Deny => None,
        };
        let permit = evaluation.permit(&question, &self.policy, approved)?;
        Ok(Admitted { permit, spec, parsed })
    }

    /// The person's yes, if it is to exactly this call under this policy and unused. None at all is
    /// not an error here: the evaluation says what is missing.
    fn approved(
        &self,
        call: &Dispatched,
        parsed: &ParsedCall,
        is_spent: impl Fn(ApprovalId) -> bool,
    ) -> Result<Option<Approved>, ToolError> {
        let Some(approval) = &call.approval else { return Ok(None) };
        let refused = |message: &str| {
            Err(ToolError::new(ErrorCode::ApprovalRequired, message)
                .with("approval_id", approval.id.to_string())
                .with("policy_version", self.policy.version.as_str()))
        };
        let binding = CallBinding {
            call: call.call,
            device: self.device,
            tool: &call.tool,
            arguments: &call.arguments,
            caller: &call.caller,
            touches: &parsed.touches,
            policy_version: &self.policy.version,
        };
        if binding.digest() != approval.binding {
            return refused(
                "The approval is for another call, or for this one under another policy. A person has to approve it anew.",
            );
        }
        if is_spent(approval.id) {
            return refused("The approval was used before, and one approval is for one call.");
        }
        Ok(Some(Approved(approval.id)))
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
