//! Binds a person's approval to a whole plan: its steps, their order, and what was shown.

use crate::call::CanonicalArguments;
use crate::caller::Caller;
use crate::digest::Digest;
use crate::id::{CallId, DeviceId, PlanId};
use crate::observation::Observation;

/// The maximum number of steps in one plan.
pub const MAX_STEPS: usize = 32;

/// One step as the approver was shown it.
#[derive(Debug, Clone, Copy)]
pub struct StepBinding<'a> {
    /// The call that runs the step.
    pub call: CallId,
    /// The device that runs the step.
    pub device: DeviceId,
    /// The tool's name.
    pub tool: &'a str,
    /// The tool's arguments.
    pub arguments: &'a CanonicalArguments,
    /// What the device observed of the step's paths, where that is compared before the step runs.
    pub observed: &'a [Observation],
    /// The earlier step that changes what this step touches. `None` where no step does.
    pub after: Option<u32>,
    /// The version of the policy that evaluated the step.
    pub policy_version: &'a str,
}

/// Everything that an approval of a plan covers.
#[derive(Debug, Clone, Copy)]
pub struct PlanBinding<'a> {
    /// The plan's id.
    pub plan: PlanId,
    /// The person and the role that the plan runs with.
    pub caller: &'a Caller,
    /// Whether the plan continues after a failed step.
    pub keep_going: bool,
    /// The steps in order.
    pub steps: &'a [StepBinding<'a>],
}

impl PlanBinding<'_> {
    /// Returns the digest that identifies this plan and no other.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let steps: Vec<Digest> = self.steps.iter().map(StepBinding::digest).collect();
        let keep_going = [u8::from(self.keep_going)];
        let plan = self.plan.uuid();
        let mut fields: Vec<&[u8]> = vec![
            plan.as_bytes(),
            self.caller.user.as_str().as_bytes(),
            self.caller.role.as_str().as_bytes(),
            &keep_going,
        ];
        fields.extend(steps.iter().map(|step| &step.as_bytes()[..]));
        Digest::of_fields("orion.plan.v1", &fields)
    }
}

impl StepBinding<'_> {
    fn digest(&self) -> Digest {
        let after = self.after.unwrap_or_default().to_be_bytes();
        let arguments = self.arguments.digest();
        let observed: Vec<Vec<u8>> = self.observed.iter().map(Observation::canonical).collect();
        let (call, device) = (self.call.uuid(), self.device.uuid());
        let mut fields: Vec<&[u8]> = vec![
            call.as_bytes(),
            device.as_bytes(),
            self.tool.as_bytes(),
            arguments.as_bytes(),
            &after,
            self.policy_version.as_bytes(),
        ];
        fields.extend(observed.iter().map(Vec::as_slice));
        Digest::of_fields("orion.plan.step.v1", &fields)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::caller::Role;
    use crate::observation::Kind;

    fn seen(bytes: u64) -> Observation {
        Observation {
            path: "/a".to_owned(),
            real: "/a".to_owned(),
            kind: Kind::File,
            bytes,
            mode: 0o644,
            digest: None,
        }
    }

    fn id(n: u128) -> Uuid {
        Uuid::from_u128(n)
    }

    #[test]
    fn a_change_of_any_field_is_another_plan() {
        let caller =
            |user: &str, role| Caller { user: user.parse().unwrap(), role, conversation: None };
        let ann = caller("ann", Role::Operator);
        let (bob, admin) = (caller("bob", Role::Operator), caller("ann", Role::Admin));
        let arguments = CanonicalArguments::from_value(&json!({"path": "a"}));
        let other_arguments = CanonicalArguments::from_value(&json!({"path": "b"}));
        let (one, other) = ([seen(1)], [seen(2)]);
        let step = StepBinding {
            call: CallId::new(id(1)),
            device: DeviceId::new(id(2)),
            tool: "delete_file",
            arguments: &arguments,
            observed: &one,
            after: None,
            policy_version: "v1",
        };
        let second = StepBinding { call: CallId::new(id(3)), ..step };
        let changed = [
            StepBinding { call: CallId::new(id(9)), ..step },
            StepBinding { device: DeviceId::new(id(9)), ..step },
            StepBinding { tool: "read_file", ..step },
            StepBinding { arguments: &other_arguments, ..step },
            StepBinding { observed: &other, ..step },
            StepBinding { observed: &[], ..step },
            StepBinding { after: Some(1), ..step },
            StepBinding { policy_version: "v2", ..step },
        ];
        let steps = [step, second];
        let plan = PlanBinding {
            plan: PlanId::new(id(5)),
            caller: &ann,
            keep_going: false,
            steps: &steps,
        };
        let mut digests = vec![
            plan.digest(),
            PlanBinding { plan: PlanId::new(id(6)), ..plan }.digest(),
            PlanBinding { caller: &bob, ..plan }.digest(),
            PlanBinding { caller: &admin, ..plan }.digest(),
            PlanBinding { keep_going: true, ..plan }.digest(),
            PlanBinding { steps: &[second, step], ..plan }.digest(),
            PlanBinding { steps: &[step], ..plan }.digest(),
            PlanBinding { steps: &[], ..plan }.digest(),
        ];
        for changed in changed {
            digests.push(PlanBinding { steps: &[changed, second], ..plan }.digest());
            digests.push(PlanBinding { steps: &[step, changed], ..plan }.digest());
        }
        let count = digests.len();
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), count, "two different plans have one hash");
        assert_eq!(PlanBinding { steps: &steps, ..plan }.digest(), plan.digest());
    }
}
