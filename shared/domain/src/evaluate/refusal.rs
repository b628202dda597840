//! The decision in words: what is denied, by which line, and what is allowed instead.

use super::{Decision, Evaluation, Evidence, Layer, Policy, Question, Reason};
use crate::code::ErrorCode;
use crate::envelope::ToolError;
use crate::grants::{DeniedPath, Scope};
use crate::hosts::{Address, address_of};
use crate::look_alike::look_alikes;
use crate::touches::{Access, ServiceTouch};

impl Layer {
    /// Returns the name that people and the wire use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Caller => "role",
            Self::Grants => "grants",
            Self::Ceiling => "ceiling",
            Self::Rule => "rule",
            Self::Risk => "risk",
        }
    }

    const fn who_may_change(self) -> &'static str {
        match self {
            Self::Caller | Self::Grants | Self::Rule | Self::Risk => "an admin of this backend",
            Self::Ceiling => "only the owner of the device, in agent.toml on the device",
        }
    }
}

impl Evaluation {
    /// Returns the name of the line that decided, for the permit and the audit.
    #[must_use]
    pub fn rule_name(&self, question: &Question<'_>, policy: &Policy) -> String {
        self.deciding()
            .map_or_else(|| "nothing matched".to_owned(), |line| line.name(question, policy))
    }

    /// Returns the error for the caller of a call without a permit.
    #[must_use]
    pub fn refusal(&self, question: &Question<'_>, policy: &Policy) -> ToolError {
        let Some(line) = self.deciding() else {
            return ToolError::new(
                ErrorCode::PermissionDenied,
                "Nothing allows this call, and what is not allowed is denied.",
            );
        };
        let mut error = line
            .error(question, policy)
            .with("rule", line.name(question, policy))
            .with("layer", line.layer.as_str())
            .with("policy_version", policy.version.as_str());
        error.hints.extend(self.hints(question, policy));
        match line.decision {
            Decision::Deny | Decision::Allow => {
                error.with("changed_by", line.layer.who_may_change())
            }
            // The call needs an approval, not a change of policy.
            Decision::Ask | Decision::DryRunFirst => error,
        }
    }
}

impl Evidence {
    /// Returns the name of the line, such as `grants: paths` or `rule prod-restarts`.
    #[must_use]
    pub fn name(&self, question: &Question<'_>, policy: &Policy) -> String {
        let layer = self.layer.as_str();
        match self.reason {
            Reason::Fits if self.layer == Layer::Grants && !policy.granted_by.is_empty() => {
                format!("{layer}: allowed (request {})", policy.granted_by.join(", "))
            }
            Reason::Fits => format!("{layer}: allowed"),
            Reason::Role => format!("role {}", question.role()),
            Reason::RoleAbove(_) => format!("role {}", question.caller.role),
            Reason::ToolNotListed => format!("{layer}: tools"),
            Reason::CapabilityMissing(capability) => format!("{layer}: permission {capability}"),
            Reason::ReadOnly => format!("{layer}: read_only"),
            Reason::WritesDisabled => "configuration: calls.read_only".to_owned(),
            Reason::PathOutside { .. } => format!("{layer}: paths"),
            Reason::PathDenied { touch } => match self.denying_entry(question, policy, touch) {
                Some(entry) if entry.built_in.is_some() => {
                    format!("built-in deny {}", entry.pattern.as_text())
                }
                Some(entry) => format!("{layer}: deny_paths {}", entry.pattern.as_text()),
                None => format!("{layer}: deny_paths with an entry that cannot be read"),
            },
            Reason::AppNotListed { .. } => format!("{layer}: apps"),
            Reason::CommandNotListed { .. } => format!("{layer}: commands"),
            Reason::ServiceNotListed { .. } => format!("{layer}: services"),
            Reason::LogNotListed { .. } => format!("{layer}: logs"),
            Reason::UrlScheme { .. } => format!("{layer}: url scheme"),
            Reason::UrlHost { .. } | Reason::HostNotListed { .. } => format!("{layer}: hosts"),
            Reason::ConfirmMissing => "risk: confirm".to_owned(),
            Reason::Matched { rule } => policy
                .rules
                .get(rule)
                .map_or_else(|| "rule".to_owned(), |it| format!("rule {}", it.rule.title())),
            Reason::Logged { rule } => policy.rules.get(rule).map_or_else(
                || "rule".to_owned(),
                |it| format!("rule {} would {}", it.rule.title(), it.rule.action.verb()),
            ),
            Reason::Notifies { rule } => {
                let rule = rule.and_then(|rule| policy.rules.get(rule));
                rule.map_or_else(
                    || format!("risk {}", question.tool.risk),
                    |it| format!("rule {}", it.rule.title()),
                )
            }
            Reason::Asks => format!("risk {}", question.tool.risk),
            Reason::Raised { raise, .. } => format!("risk high: {raise}"),
            Reason::AsksForProvenance => "risk: untrusted content in this chat".to_owned(),
            Reason::Strict => format!("{layer}: strict"),
        }
    }

    pub(super) fn scope<'p>(&self, policy: &'p Policy) -> Option<&'p Scope> {
        match self.layer {
            Layer::Grants => Some(&policy.grants),
            Layer::Ceiling => policy.ceiling.as_ref(),
            Layer::Caller | Layer::Rule | Layer::Risk => None,
        }
    }

    /// Returns the entry that denies a path. None if an entry that cannot be read denies every path.
    fn denying_entry<'p>(
        &self,
        question: &Question<'_>,
        policy: &'p Policy,
        touch: usize,
    ) -> Option<&'p DeniedPath> {
        let path = question.touches?.paths.get(touch)?;
        self.scope(policy)?.denying_touch(path)
    }

    /// Returns the grants or the ceiling, before the name of the device.
    pub(super) const fn whose(&self) -> &'static str {
        match self.layer {
            Layer::Ceiling => "the ceiling of",
            Layer::Caller | Layer::Grants | Layer::Rule | Layer::Risk => "the grants of",
        }
    }

    pub(super) fn error(&self, question: &Question<'_>, policy: &Policy) -> ToolError {
        let (tool, device, whose) = (question.tool.name, question.device, self.whose());
        match self.reason {
            Reason::Role => ToolError::new(
                ErrorCode::PermissionDenied,
                format!(
                    "The role {} may not call {tool}. A viewer calls only tools that change nothing.",
                    question.role()
                ),
            ),
            Reason::RoleAbove(asked) => ToolError::new(
                ErrorCode::PermissionDenied,
                format!(
                    "The call asks for the role {asked}, and {} has the role {}.",
                    question.caller.user, question.caller.role
                ),
            ),
            Reason::ToolNotListed => ToolError::new(
                ErrorCode::PermissionDenied,
                format!("{tool} is not among the tools in {whose} {device}."),
            ),
            Reason::CapabilityMissing(capability) => ToolError::new(
                ErrorCode::PermissionDenied,
                format!(
                    "{tool} needs the permission {capability}, which is missing in {whose} {device}."
                ),
            )
            .with("permission", capability.as_str()),
            Reason::ReadOnly => ToolError::new(
                ErrorCode::WriteDisabled,
                format!("{device} is read-only, and {tool} changes something."),
            ),
            Reason::WritesDisabled => ToolError::new(
                ErrorCode::WriteDisabled,
                format!("This backend is read-only, and {tool} changes something."),
            ),
            Reason::PathOutside { touch } | Reason::PathDenied { touch } => {
                self.path_error(question, policy, touch)
            }
            Reason::AppNotListed { touch } => {
                let app =
                    question.touches.and_then(|t| t.apps.get(touch)).cloned().unwrap_or_default();
                let allowed: Vec<_> = self
                    .scope(policy)
                    .map(|scope| scope.apps.iter().cloned().collect())
                    .unwrap_or_default();
                ToolError::new(
                    ErrorCode::AppNotWhitelisted,
                    format!("{app} is not among the applications in {whose} {device}."),
                )
                .with("attempted_app", app)
                .with("allowed_apps", allowed)
            }
            Reason::CommandNotListed { touch } => {
                let command = question.touches.and_then(|touches| touches.commands.get(touch));
                let program = command.map(|command| command.program.clone()).unwrap_or_default();
                let granted = self.scope(policy).and_then(|scope| scope.commands.as_ref());
                let allowed = granted.into_iter().flatten().map(|grant| grant.program.clone());
                let message = match granted {
                    Some(_) => format!(
                        "{program} with these arguments is not among the commands in {whose} {device}."
                    ),
                    None => format!(
                        "{program} gives control of the whole machine, and {whose} {device} do not name it."
                    ),
                };
                ToolError::new(ErrorCode::CommandNotAllowed, message)
                    .with("attempted_command", program)
                    .with("allowed_commands", allowed.collect::<Vec<_>>())
            }
            Reason::ServiceNotListed { touch } => self.service_error(question, policy, touch),
            Reason::LogNotListed { touch } => self.log_error(question, policy, touch),
            Reason::UrlScheme { .. } => ToolError::new(
                ErrorCode::UrlForbidden,
                "Only http and https addresses may be opened.",
            ),
            Reason::UrlHost { touch } => {
                let url = question.touches.and_then(|t| t.urls.get(touch));
                self.host_error(question, policy, url.and_then(|url| address_of(url)).as_ref())
            }
            Reason::HostNotListed { touch } => {
                let host = question.touches.and_then(|t| t.hosts.get(touch));
                self.host_error(question, policy, host)
            }
            Reason::ConfirmMissing => ToolError::new(
                ErrorCode::ConfirmationRequired,
                format!(
                    "{tool} is of {} risk. It needs `confirm: true` and then approval.",
                    question.tool.risk
                ),
            ),
            Reason::Matched { rule } => self.rule_error(question, policy, rule),
            Reason::Asks => {
                let (code, what) = self.wanted();
                ToolError::new(code, format!("{tool} is of {} risk: {what}.", question.tool.risk))
            }
            Reason::Raised { raise, touch } => {
                let (code, what) = self.wanted();
                let path = touch.and_then(|at| Some(&question.touches?.paths.get(at)?.path));
                let about = path.map(|path| format!(" ({path})")).unwrap_or_default();
                let sentence = raise.sentence().trim_end_matches('.');
                ToolError::new(code, format!("{sentence}{about}: {what}."))
                    .with("raises", vec![raise.as_str()])
            }
            Reason::AsksForProvenance => {
                let (code, what) = self.wanted();
                ToolError::new(
                    code,
                    format!(
                        "{tool} counts as one risk higher, because untrusted content is in this chat: {what}."
                    ),
                )
            }
            Reason::Strict => ToolError::new(
                ErrorCode::ApprovalRequired,
                format!(
                    "The profile in {whose} {device} is strict: a person sees a preview of {tool} and approves it first."
                ),
            ),
            Reason::Fits | Reason::Logged { .. } | Reason::Notifies { .. } => ToolError::new(
                ErrorCode::PermissionDenied,
                "Nothing allows this call, and what is not allowed is denied.",
            ),
        }
    }

    /// Returns the code and wording of a decision that a risk made.
    const fn wanted(&self) -> (ErrorCode, &'static str) {
        match self.decision {
            Decision::Ask => (ErrorCode::ApprovalRequired, "a person must approve this call"),
            Decision::DryRunFirst => {
                (ErrorCode::ApprovalRequired, "a person must see a preview first")
            }
            Decision::Deny | Decision::Allow => {
                (ErrorCode::PermissionDenied, "the policy denies such calls")
            }
        }
    }

    fn host_error(
        &self,
        question: &Question<'_>,
        policy: &Policy,
        host: Option<&Address>,
    ) -> ToolError {
        let host = host.map_or_else(|| "The address".to_owned(), ToString::to_string);
        let hosts: Vec<_> =
            self.scope(policy).into_iter().flat_map(|it| it.hosts.clone()).collect();
        let (whose, device) = (self.whose(), question.device);
        let message = format!("{host} is not among the hosts in {whose} {device}.");
        ToolError::new(ErrorCode::UrlForbidden, message)
            .with("attempted_host", host)
            .with("allowed_hosts", hosts)
    }

    /// Returns whether the layer lists a service for reading.
    pub(super) fn is_readable(&self, policy: &Policy, touched: &ServiceTouch) -> bool {
        let read = ServiceTouch::read(touched.service.clone());
        self.scope(policy).is_some_and(|scope| scope.lists_service(&read))
    }

    fn service_error(&self, question: &Question<'_>, policy: &Policy, touch: usize) -> ToolError {
        let touched = question.touches.and_then(|touches| touches.services.get(touch));
        let service = touched.map(|touched| touched.service.to_string()).unwrap_or_default();
        let granted = self.scope(policy).into_iter().flat_map(|scope| &scope.services);
        let allowed: Vec<_> = granted.map(ToString::to_string).collect();
        let (whose, device) = (self.whose(), question.device);
        let message = if touched.is_some_and(|touched| self.is_readable(policy, touched)) {
            format!("{service} may only be read, by the services in {whose} {device}.")
        } else {
            format!("{service} is not among the services in {whose} {device}.")
        };
        ToolError::new(ErrorCode::PermissionDenied, message)
            .with("attempted_service", service)
            .with("allowed_services", allowed)
    }

    fn log_error(&self, question: &Question<'_>, policy: &Policy, touch: usize) -> ToolError {
        let service = question.touches.and_then(|touches| touches.logs.get(touch));
        let service = service.map(ToString::to_string).unwrap_or_default();
        let granted = self.scope(policy).into_iter().flat_map(|scope| &scope.logs);
        let allowed: Vec<_> = granted.map(ToString::to_string).collect();
        let (whose, device) = (self.whose(), question.device);
        let message = format!("The log of {service} is not among the logs in {whose} {device}.");
        ToolError::new(ErrorCode::PermissionDenied, message)
            .with("attempted_log", service)
            .with("allowed_logs", allowed)
    }

    fn path_error(&self, question: &Question<'_>, policy: &Policy, touch: usize) -> ToolError {
        let touched = question.touches.and_then(|touches| touches.paths.get(touch));
        let access = touched.map_or(Access::Read, |path| path.access);
        let path = touched.map(|path| path.path.to_string()).unwrap_or_default();
        let ceiling = policy.ceiling.as_ref().filter(|_| self.layer == Layer::Ceiling);
        let allowed = match ceiling {
            Some(ceiling) => ceiling.allowed_roots_within(&policy.grants, access),
            None => policy.allowed_roots(access),
        };
        let is_root = |scope: &Scope| scope.allowed_roots(access).contains(&path);
        let device = question.device;
        let message = if matches!(self.reason, Reason::PathDenied { .. }) {
            let entry = self.denying_entry(question, policy, touch);
            match entry.filter(|entry| entry.built_in.is_some()) {
                // What is denied is in the folder, and would go with it.
                Some(entry) if !touched.is_some_and(|it| entry.keeps_out(&it.path, access)) => {
                    let pattern = entry.pattern.as_text();
                    format!("{path} holds {pattern}, which is denied on every device by default.")
                }
                Some(_) => format!("{path} is denied on every device by default."),
                None => format!("{path} is denied by the deny_paths in {} {device}.", self.whose()),
            }
        } else if access == Access::Delete && self.scope(policy).is_some_and(is_root) {
            format!(
                "{path} is itself an allowed path of {device}. Only what is in it can be deleted."
            )
        } else if allowed.is_empty() {
            format!("{path}: no path may be touched for {access} on {device}.")
        } else {
            let allowed = allowed.join(", ");
            let is_left_out =
                |scope: &Scope| touched.is_some_and(|it| scope.leaves_out(&it.path, access));
            if self.scope(policy).is_some_and(is_left_out) {
                format!(
                    "{path} is in a system folder, which no wider path includes: it has to be named itself. What allows {access} on {device}: {allowed}."
                )
            } else {
                format!("{path} is not inside a path that allows {access} on {device}: {allowed}.")
            }
        };
        // What is granted next is what was read here.
        let alike = look_alikes([&*path]);
        let message = alike.iter().fold(message, |message, it| format!("{message} {it}."));
        let error = ToolError::new(ErrorCode::PathNotAllowed, message)
            .with("attempted_path", path)
            .with("access", access.as_str())
            .with("allowed_paths", allowed);
        if alike.is_empty() { error } else { error.with("look_alikes", alike) }
    }

    fn rule_error(&self, question: &Question<'_>, policy: &Policy, rule: usize) -> ToolError {
        let because = policy.rules.get(rule).map_or("", |it| it.rule.because.as_str());
        let (code, what) = match self.decision {
            Decision::Ask => {
                (ErrorCode::ApprovalRequired, "requires a person to approve this call")
            }
            Decision::DryRunFirst => {
                (ErrorCode::ApprovalRequired, "requires a person to see a preview first")
            }
            Decision::Deny | Decision::Allow => (ErrorCode::PermissionDenied, "denies this call"),
        };
        let name = self.name(question, policy);
        ToolError::new(code, format!("The {name} {what}. {because}").trim_end().to_owned())
    }
}
