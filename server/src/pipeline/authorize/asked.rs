//! What an approval request shows of a call, and what the approval is bound to.

use orion_catalog::Tool as _;
use orion_catalog::tools::{close_app::CloseApp, open_app};
use orion_domain::{ApprovalBasis, CallBinding, Digest, Observation};

use super::EvaluatedCall;

impl EvaluatedCall {
    /// Returns the reasons for the risk, one sentence each.
    #[must_use]
    pub fn risk_because(&self) -> Vec<String> {
        let does = self.parsed.facts;
        let mut because = match self.parsed.undo.as_ref().filter(|undo| undo.redo) {
            Some(undo) => vec![format!(
                "It does {} of call {} again, so it is of {} risk.",
                does.name, undo.first, does.risk
            )],
            None => vec![format!("{} is of {} risk.", does.name, does.risk)],
        };
        because.extend(self.parsed.reasons.iter().cloned());
        because.extend(self.raises().iter().map(|raise| raise.sentence().to_owned()));
        if let [phrases @ .., last] =
            &self.content_raises().iter().map(|raise| raise.phrase()).collect::<Vec<_>>()[..]
        {
            let all = match phrases {
                [] => (*last).to_owned(),
                phrases => format!("{} and {last}", phrases.join(", ")),
            };
            because.push(format!(
                "Untrusted content is in this chat, and the call {all}, so it counts as {}.",
                self.risk()
            ));
        }
        if self.is_quoted() {
            because.push("The call is copied from that content.".to_owned());
        }
        because
    }

    /// Returns what an approval is bound to that expires at `expires_at`, Unix milliseconds.
    #[must_use]
    pub fn binding<'a>(
        &'a self,
        basis: ApprovalBasis,
        observed: &'a [Observation],
        expires_at: i64,
    ) -> CallBinding<'a> {
        CallBinding {
            call: self.context.id,
            device: self.target.device.id,
            tool: self.target.spec.name,
            arguments: &self.parsed.arguments,
            caller: &self.context.caller,
            touches: &self.parsed.touches,
            basis,
            observed,
            policy_version: &self.target.device.policy.version,
            raises: self.raises(),
            expires_at,
        }
    }

    /// Returns what the call would touch. A name may have line breaks and hidden characters, which who shows it writes out:
    /// two names are never the same here.
    #[must_use]
    pub fn touches(&self) -> Vec<String> {
        let touches = &self.parsed.touches;
        let paths = touches.paths.iter().map(|path| format!("{} {}", path.access, path.path));
        let does = if self.target.spec.name == CloseApp::NAME { "close" } else { "open" };
        let apps = touches.apps.iter().map(|app| format!("{does} {app}"));
        let urls = touches.urls.iter().map(|url| match open_app::host_in_ascii(url) {
            Ok(Some(host)) => format!("open {url} (its host is {host})"),
            Ok(None) | Err(_) => format!("open {url}"),
        });
        let commands = touches.commands.iter().map(|command| format!("run {command}"));
        let services = touches.services.iter().map(|touch| {
            let does = if touch.changes { "restart the service" } else { "read the service" };
            format!("{does} {}", touch.service)
        });
        let logs = touches.logs.iter().map(|service| format!("read the log of {service}"));
        let hosts = touches.hosts.iter().map(|host| format!("contact {host}"));
        let definition = touches.definition.map(definition_line);
        let others = apps
            .chain(commands)
            .chain(services)
            .chain(logs)
            .chain(urls)
            .chain(hosts)
            .chain(definition);
        paths.chain(others).collect()
    }
}

/// Returns the line that names the definition that a call runs.
#[must_use]
pub fn definition_line(definition: Digest) -> String {
    format!("run the definition {definition}")
}
