//! Handles calls: evaluates, records and runs each one, or rejects and records it. Every call is
//! answered, and none is run twice.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use orion_catalog::ToolSpec;
use orion_domain::{CallId, Digest, ErrorCode, ToolError};
use orion_wire::v1::{self, link_request};
use orion_wire::{Dispatched, call_state_from};
use tokio::time::Instant;

use super::chain_recorder::ChainSubject;
use super::consent::is_preview;
use super::job::JobTerms;
use super::slots::{Kind, Wanted, no_slot};
use super::{Agent, Outgoing, Running};
use crate::activity::Step;
use crate::call::ObservationMode;
use crate::clock::now_ms;
use crate::execute::execute;
use crate::guard::Admitted;
use crate::journal::{Begin, CallStatus, Ended};
use crate::report::Subject;
use crate::sandbox::Confinement;

/// The longest time of a call whose content moves beside it. One that stands still ends earlier.
const MAX_TRANSFER_TIME: Duration = Duration::from_hours(24);

/// The most calls that are answered in one query.
const MAX_QUERIED_CALLS: usize = 256;

/// The answer to a call whose result the backend has acknowledged.
const ACKNOWLEDGED: &str = "This call came to the device before, which reported its end once and no longer keeps it. It is not run again.";
/// The answer to a call from before the time that the device remembers.
const FORGOTTEN: &str = "This call is older than what the device remembers, so that it may have run there before. It is not run now.";

fn outcome_unknown(why: &str) -> ToolError {
    ToolError::new(ErrorCode::OutcomeUnknown, why)
        .hint("look at the device, and make a new call where it is still wanted")
}

/// Returns whether the call has no effects and uses no approval, so that its entry is never on disk.
fn is_read_only(message: &v1::Dispatch) -> bool {
    let reads = orion_catalog::find(&message.tool).is_some_and(|(spec, _)| !spec.has_effects);
    message.approval.is_none() && (reads || message.dry_run)
}

impl Agent {
    /// Answers a query about calls that were sent on an earlier connection. Messages of that connection
    /// are ignored, so a call that has not arrived yet will not run.
    pub(super) fn asked(&mut self, call_ids: Vec<String>) {
        let mut not_seen = Vec::new();
        for call_id in call_ids.into_iter().take(MAX_QUERIED_CALLS) {
            let Ok(call) = call_id.parse::<CallId>() else { continue };
            if self.asked.contains_key(&call) {
                self.send(link_request::Message::CallStarted(v1::CallStarted { call_id }));
                continue;
            }
            match (self.environment.seen(&self.journal, call), self.noted_before(call)) {
                (CallStatus::New, Some(error)) => self.answer_from_memory(call, error),
                // A journal that was lost, or has expired entries of that age, may have held this call.
                (CallStatus::New, None) if self.journal.remembers(call) => not_seen.push(call_id),
                (CallStatus::New, None) => {}
                (CallStatus::Running, _) => {
                    self.send(link_request::Message::CallStarted(v1::CallStarted { call_id }));
                }
                // The result follows when it is recorded.
                (CallStatus::Ended, _) if self.is_being_noted(call) => {}
                (CallStatus::Ended, _) => self.push(Outgoing::Result(call)),
                (CallStatus::Acknowledged, _) => {
                    self.answer_from_memory(call, outcome_unknown(ACKNOWLEDGED));
                }
            }
        }
        if !not_seen.is_empty() {
            let call_ids = not_seen;
            self.send(link_request::Message::CallsNotSeen(v1::CallsNotSeen { call_ids }));
        }
    }

    /// Answers a query for a call that this device already reported or forgot, for instance from a backend
    /// whose database was restored. The outcome is unknown. The call may have run, so it is not `refused`.
    fn answer_from_memory(&mut self, call: CallId, error: ToolError) {
        let subject = Subject {
            call,
            device: self.guard.name().to_string(),
            tool: String::new(),
            dry_run: false,
            sandbox: None,
            asks_owner: false,
        };
        self.answer(&subject, subject.failure(error, Duration::ZERO));
    }

    /// Evaluates a call from the backend, and starts or rejects it.
    pub(super) async fn dispatch(&mut self, message: v1::Dispatch) {
        let (call_id, tool, dry_run) =
            (message.call_id.clone(), message.tool.clone(), message.dry_run);
        let Ok(call) = call_id.parse::<CallId>() else {
            tracing::warn!("a call without an id that is one was dropped: nobody could be told");
            return;
        };
        let subject = Subject {
            call,
            device: self.guard.name().to_string(),
            tool: tool.chars().take(64).collect(),
            dry_run,
            sandbox: orion_catalog::find(&tool)
                .and_then(|(spec, _)| self.toolbox.sandbox.confinement(spec, dry_run).ok())
                .map(Confinement::as_str),
            asks_owner: false,
        };
        if self.asked.contains_key(&call) {
            // The call waits for the person at the device already.
            return;
        }
        match (self.environment.seen(&self.journal, call), self.noted_before(call)) {
            (CallStatus::New, Some(error)) => return self.answer_from_memory(call, error),
            // A repeated read is harmless; any other call might have run before.
            (CallStatus::New, None) if self.journal.remembers(call) || is_read_only(&message) => {}
            (CallStatus::New, None) => {
                return self.answer_from_memory(call, outcome_unknown(FORGOTTEN));
            }
            // The result follows when the call ends.
            (CallStatus::Running, _) => return,
            (CallStatus::Ended, _) if self.is_being_noted(call) => return,
            (CallStatus::Ended, _) => return self.push(Outgoing::Result(call)),
            (CallStatus::Acknowledged, _) => {
                return self.answer_from_memory(call, outcome_unknown(ACKNOWLEDGED));
            }
        }
        if self.stopping {
            let error = ToolError::new(
                ErrorCode::ResourceExhausted,
                "Nothing was run: the agent is stopping.",
            );
            return self.answer(&subject, subject.failure(error, Duration::ZERO));
        }
        let arguments = Digest::of(&message.arguments);
        // Read here and not remembered, so that a pause holds from the moment that its file is there.
        if let Some(paused) = self.paused() {
            return self.refuse(&subject, arguments, paused.refusal(&self.options));
        }
        let call = match Dispatched::try_from(message) {
            Ok(call) => call,
            Err(error) => {
                let error = ToolError::new(
                    ErrorCode::InvalidArgument,
                    format!("The call can't be read: {error}."),
                );
                return self.refuse(&subject, arguments, error);
            }
        };
        match self.guard.admit(&call, |approval| self.journal.is_spent(approval)) {
            Ok(admitted) => match self.waits_because(&call, &admitted) {
                Some(why) => self.ask_owner(subject, call, &admitted, why),
                None => self.start(subject, call, admitted, None).await,
            },
            Err(error) => self.refuse(&subject, arguments, *error),
        }
    }

    /// Starts an admitted call. `seeing` is what to compare where a person at the device saw more than the call says.
    pub(super) async fn start(
        &mut self,
        mut subject: Subject,
        call: Dispatched,
        admitted: Admitted,
        seeing: Option<ObservationMode>,
    ) {
        let (executor, confinement) = match self.means(&admitted, call.dry_run) {
            Ok(means) => means,
            Err(error) => return self.refuse(&subject, call.arguments.digest(), error),
        };
        let Admitted { permit, spec, parsed, risk, .. } = &admitted;
        subject.sandbox = Some(confinement.as_str());
        subject.asks_owner = is_preview(&call, &admitted) && self.asks(&call, &admitted).is_some();
        let on_files = !parsed.touches.paths.is_empty();
        let argument_bytes = call.arguments.as_bytes().len();
        let (kind, user) = (Kind::of(spec), call.caller.user.clone());
        let wanted = Wanted { kind, user: &user, on_files, argument_bytes };
        if let Some(message) = no_slot(&self.running, &self.given_up, wanted) {
            let error = ToolError::new(ErrorCode::ResourceExhausted, message)
                .hint("try again when a call has ended");
            return self.refuse(&subject, call.arguments.digest(), error);
        }
        let has_effects = spec.has_effects && !call.dry_run;
        let about = ChainSubject { tool: spec.name.to_owned(), arguments: call.arguments.digest() };
        let begin = Begin {
            call: call.call,
            tool: spec.name.to_owned(),
            approval: permit.approval(),
            has_effects,
            idempotent: spec.idempotent,
            at: now_ms(),
        };
        let admission = match self.journal.begin(begin).await {
            Ok(admission) => admission,
            Err(full) => {
                let message = format!("Nothing was run: {full}.");
                let error = ToolError::new(ErrorCode::ResourceExhausted, message);
                return self.answer(&subject, subject.failure(error, Duration::ZERO));
            }
        };
        if has_effects {
            tracing::info!(
                call = %call.call, tool = spec.name, user = %call.caller.user, rule = permit.rule(),
                "a call with effects was admitted"
            );
        }
        self.happened(Step::Started, &call, Some(&parsed.touches));
        if has_effects {
            self.notice_run(&call, *risk);
        }
        let cancelled = Arc::new(AtomicBool::new(false));
        let transfer = spec.content.is_beside().then(|| Box::new(call.clone()));
        let longest = self.longest(spec);
        // What only the disk shows of the risk stops a call about which the person was not asked.
        let unasked_from = self.settings.consent.risk.filter(|_| seeing.is_none() && !call.dry_run);
        let seeing = seeing.unwrap_or_else(|| ObservationMode::of(&call, &parsed.touches));
        let terms = JobTerms {
            executor,
            confinement,
            seeing,
            has_effects,
            deadline: Instant::now() + call.time_left.min(longest),
            cancelled: Arc::clone(&cancelled),
            unasked_from,
        };
        let id = call.call;
        let job = self.job(subject, call, admitted, terms);
        self.running.insert(
            id,
            Running {
                cancelled,
                about: has_effects.then_some(about),
                argument_bytes,
                kind,
                user,
                transfer,
            },
        );
        let environment = Arc::clone(&self.environment);
        let start = move |job, events| environment.work(job, events);
        self.tasks.spawn(execute(job, admission, self.events.clone(), start));
    }

    /// Returns the longest time of a call of this tool.
    pub(super) const fn longest(&self, spec: &ToolSpec) -> Duration {
        if spec.content.is_beside() { MAX_TRANSFER_TIME } else { self.settings.call_timeout }
    }

    /// Handles the acknowledgement of a stored result. A call that missed its deadline may have ended since:
    /// then the acknowledgement is for the first result, and the second one is still to be acknowledged.
    pub(super) async fn acknowledged(&mut self, ack: v1::ResultAck) {
        let v1::ResultAck { call_id, state, audit } = ack;
        self.received_audit_head(audit.as_ref());
        let Ok(call) = call_id.parse() else { return };
        let named = call_state_from(state).ok();
        let is_named = |ended: &Ended| named.is_none_or(|state| state == ended.state);
        if self.journal.result(call).is_some_and(is_named) {
            self.journal.acknowledge(call, now_ms()).await;
        }
    }

    /// Rejects a call, and records the answer.
    pub(super) fn refuse(&mut self, subject: &Subject, arguments: Digest, error: ToolError) {
        tracing::info!(
            call = %subject.call, tool = subject.tool, code = error.code.as_str(),
            "a call was refused"
        );
        self.refused(subject, error.code);
        let ended = subject.failure(error, Duration::ZERO);
        let about = ChainSubject { tool: subject.tool.clone(), arguments };
        self.end_unstarted(subject, Some(&about), ended);
    }

    /// Records and sends the end of a call that never started. `about` is what the device's own audit log records.
    pub(super) fn end_unstarted(
        &mut self,
        subject: &Subject,
        about: Option<&ChainSubject>,
        ended: Ended,
    ) {
        let begin = Begin {
            call: subject.call,
            tool: subject.tool.clone(),
            approval: None,
            has_effects: false,
            idempotent: true,
            at: now_ms(),
        };
        match self.journal.refuse(begin, ended.clone()) {
            // Such a call has no line in the journal.
            Ok(()) => self.note_and_send(subject.call, about, &ended, None),
            Err(_) => self.answer(subject, ended),
        }
    }

    /// Answers a call without recording the answer.
    fn answer(&mut self, subject: &Subject, ended: Ended) {
        let result = self.result(subject.call, &ended);
        self.push(Outgoing::Message(link_request::Message::CallResult(result)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use orion_domain::{CallId, ErrorCode, ToolError, UserName};
    use uuid::Uuid;

    use super::super::slots::{MAX_ARGUMENT_BYTES, MAX_GIVEN_UP, MAX_IN_FLIGHT};
    use super::*;
    use crate::apps::Apps;
    use crate::call::Installation;
    use crate::config::Settings;
    use crate::execute::{Slot, Toolbox};
    use crate::journal::Journal;
    use crate::report::interrupted;
    use crate::sandbox::Sandbox;
    use crate::state::names::JOURNAL;
    use crate::state::{Identity, State};
    use crate::trash::Trash;

    async fn agent(folder: &std::path::Path) -> Agent {
        let settings = Settings::parse("", None, &[]).unwrap();
        let identity = Identity::for_tests();
        let toolbox = Toolbox {
            places: settings.places.clone(),
            apps: Apps::default(),
            programs: crate::programs::Programs::default(),
            trash: Arc::new(Trash::open(folder).unwrap()),
            device_id: String::new(),
            sandbox: Sandbox::detect(),
            installation: Installation::default(),
            #[cfg(target_os = "linux")]
            workers: Arc::default(),
        };
        let path = folder.join(JOURNAL);
        let journal = Journal::open(&path, 0, |call| interrupted(call, "kiosk", None));
        let state = Arc::new(State::open(&folder.join("state")).unwrap());
        Agent::new(settings, state, identity, Arc::new(toolbox), journal.await.unwrap())
    }

    fn ended(call: CallId) -> Ended {
        let subject = Subject {
            call,
            device: "kiosk".to_owned(),
            tool: "read_file".to_owned(),
            dry_run: false,
            sandbox: None,
            asks_owner: false,
        };
        subject.failure(ToolError::new(ErrorCode::Timeout, "Late."), Duration::ZERO)
    }

    #[tokio::test]
    async fn a_call_that_is_given_up_on_leaves_its_place_and_of_those_there_are_so_many() {
        let folder = tempfile::tempdir().unwrap();
        let mut agent = agent(folder.path()).await;
        let call = |number| CallId::new(Uuid::from_u128(number));
        let (kind, user): (_, UserName) = (Kind::File, "ann".parse().unwrap());
        let running = |number: u128| Running {
            cancelled: Arc::default(),
            about: None,
            argument_bytes: 1,
            kind: if number < 16 { Kind::File } else { Kind::Program },
            transfer: None,
            user: if number < 16 { "ann" } else { "bob" }.parse().unwrap(),
        };
        let no_slot = |agent: &Agent, on_files, argument_bytes| {
            let wanted = Wanted { kind, user: &user, on_files, argument_bytes };
            no_slot(&agent.running, &agent.given_up, wanted)
        };
        for number in 0..MAX_IN_FLIGHT as u128 {
            agent.running.insert(call(number), running(number));
        }
        assert!(no_slot(&agent, false, 0).unwrap().contains("32 calls run"));
        for number in 0..MAX_GIVEN_UP as u128 {
            agent.finished(call(number), ended(call(number)), Slot::GivenUp).await;
        }
        assert_eq!((agent.running.len(), agent.given_up.len()), (16, 16));
        assert!(no_slot(&agent, true, 0).unwrap().contains("did not stop at their deadline"));
        assert_eq!(no_slot(&agent, false, 0), None, "what needs no disk goes on");
        let too_long = no_slot(&agent, false, MAX_ARGUMENT_BYTES).unwrap();
        assert!(too_long.contains("arguments"), "{too_long}");
        agent.finished(call(0), ended(call(0)), Slot::Free).await;
        assert_eq!((agent.given_up.len(), no_slot(&agent, true, 0)), (15, None));
    }
}
