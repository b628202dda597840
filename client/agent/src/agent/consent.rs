//! Asks the person at the device before a call runs. The call waits here, without an entry in the journal: if the agent
//! dies, it never began. After the answer it is evaluated again, so that it runs only where it is still allowed and
//! still touches what was shown.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use orion_catalog::{Execution, ToolSpec};
use orion_domain::{CallId, ErrorCode, Observation, Risk, ToolError, Touches};
use orion_wire::Dispatched;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

mod answer;
mod ask;
mod errors;
mod limits;

use super::Agent;
use super::event::Event;
use super::job::JobTerms;
use crate::call::{ObservationMode, Outcome};
use crate::config::ConsentSubject;
use crate::consent::{Folder, Given, OpenQuestion};
use crate::execute::preview;
use crate::guard::Admitted;
use crate::report::Subject;
pub(super) use errors::cancelled;
use errors::{changed, denied, nobody, unusable};
pub(super) use limits::AskedTimes;
use limits::no_room;

/// A call that waits for the person at the device.
#[derive(Debug)]
pub(super) struct Asked {
    subject: Subject,
    call: Dispatched,
    spec: &'static ToolSpec,
    touches: Touches,
    risk: Risk,
    why: String,
    /// When the call must have ended.
    deadline: Instant,
    /// What to compare when the call runs.
    observed: Vec<Observation>,
    /// What the preview says, where the call itself is a preview: the answer allows exactly this to be sent.
    previewed: Option<Outcome>,
    /// Set once the call waits no more. It ends the preview, and marks events that are still on their way.
    is_over: Arc<AtomicBool>,
    /// The question, once it is asked, and the task that waits for its answer.
    open: Option<(OpenQuestion, AbortOnDropHandle<()>)>,
}

/// Something that happened to a call that waits.
#[derive(Debug)]
pub struct ConsentEvent {
    call: CallId,
    /// Tells this call from another one that came under its id later.
    is_over: Arc<AtomicBool>,
    what: ConsentStep,
}

#[derive(Debug)]
enum ConsentStep {
    /// The preview of the call ended.
    Previewed(Result<Outcome, ToolError>),
    /// The question was answered, or nobody answered in time, or the answer cannot be read.
    Answered(io::Result<Option<Given>>),
}

impl Agent {
    /// Returns why the person is asked before a call like this one. None where nobody is asked.
    pub(super) fn asks(&self, call: &Dispatched, admitted: &Admitted) -> Option<String> {
        let Admitted { parsed, raises, risk, .. } = admitted;
        let shown = raises.iter().map(|raise| raise.risk());
        self.settings.consent.asks(ConsentSubject {
            tool: parsed.facts.name,
            called_by: parsed.facts.called.map(|called| called.name),
            is_custom: parsed.facts.is_custom,
            risk: shown.fold(call.risk.max(*risk), Risk::max),
        })
    }

    /// Returns why this call waits for the person. None if it does not. A preview of a change waits only where reading
    /// files does, because it shows what it reads.
    pub(super) fn waits_because(&self, call: &Dispatched, admitted: &Admitted) -> Option<String> {
        if !is_preview(call, admitted) {
            return self.asks(call, admitted);
        }
        if admitted.parsed.touches.paths.is_empty() {
            return None;
        }
        let reading = ConsentSubject {
            tool: "read_file",
            called_by: None,
            is_custom: false,
            risk: Risk::Low,
        };
        let why = self.settings.consent.asks(reading)?;
        Some(format!("{why}, and this preview shows what it reads; it changes nothing"))
    }

    /// Lets an admitted call wait for the person. Its preview comes first, so that the person sees what it would do,
    /// and the call is compared with that later.
    pub(super) fn ask_owner(
        &mut self,
        subject: Subject,
        call: Dispatched,
        admitted: &Admitted,
        why: String,
    ) {
        let (id, digest) = (call.call, call.arguments.digest());
        let no_room = no_room(&self.asked, &call)
            .or_else(|| self.asked_times.take(&call.caller.user, Instant::now()));
        if let Some(message) = no_room {
            let error = ToolError::new(ErrorCode::ResourceExhausted, message)
                .hint("try again in some minutes");
            return self.refuse(&subject, digest, error);
        }
        let Admitted { spec, parsed, raises, risk, .. } = admitted;
        let raised = raises.iter().map(|raise| raise.risk()).fold(*risk, Risk::max);
        let previews = spec.has_effects
            || (spec.execution == Execution::File && !parsed.touches.paths.is_empty());
        let asked = Asked {
            subject,
            spec,
            touches: parsed.touches.clone(),
            risk: call.risk.max(raised),
            why,
            deadline: Instant::now() + call.time_left.min(self.longest(spec)),
            observed: call.observed.clone(),
            previewed: None,
            is_over: Arc::default(),
            open: None,
            call,
        };
        if previews {
            if let Err(error) = self.preview(&asked) {
                return self.refuse(&asked.subject, digest, *error);
            }
            self.asked.insert(id, asked);
        } else {
            self.asked.insert(id, asked);
            self.open_question(id, "", Vec::new());
        }
    }

    /// Starts the preview of a call that waits. Nothing of it leaves the device.
    fn preview(&mut self, asked: &Asked) -> Result<(), Box<ToolError>> {
        let call = Dispatched {
            dry_run: true,
            observe: true,
            approval: None,
            observed: Vec::new(),
            ..asked.call.clone()
        };
        let admitted = self.guard.admit(&call, |_| false)?;
        let (executor, confinement) = self.means(&admitted, true)?;
        let deadline = asked.deadline.min(Instant::now() + self.settings.call_timeout);
        let terms = JobTerms {
            executor,
            confinement,
            seeing: ObservationMode::Tell(admitted.parsed.touches.clone()),
            has_effects: false,
            deadline,
            cancelled: Arc::clone(&asked.is_over),
            // The person reads every reason for a higher risk, also one that the policy allows.
            unasked_from: (!asked.call.dry_run).then_some(Risk::Low),
        };
        let subject = Subject { dry_run: true, ..asked.subject.clone() };
        let (id, is_over) = (call.call, Arc::clone(&asked.is_over));
        let job = self.job(subject, call, admitted, terms);
        let (environment, events) = (Arc::clone(&self.environment), self.events.clone());
        self.tasks.spawn(async move {
            let work = environment.work(job, events.clone());
            let result = preview(work, deadline).await;
            let what = ConsentStep::Previewed(result);
            drop(events.send(Event::Consent(ConsentEvent { call: id, is_over, what })).await);
        });
        Ok(())
    }

    /// Handles what happened to a call that waits. Events of a call that waits no more are ignored.
    pub(super) async fn consent_event(&mut self, event: ConsentEvent) {
        let ConsentEvent { call, is_over, what } = event;
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        match what {
            ConsentStep::Previewed(Ok(outcome)) => self.previewed(call, outcome),
            ConsentStep::Previewed(Err(error)) => self.end_asked(call, error),
            ConsentStep::Answered(answer) => self.answered(call, answer).await,
        }
    }

    /// Uses the answer to a question, once it is recorded.
    async fn answered(&mut self, call: CallId, answer: io::Result<Option<Given>>) {
        let Some(mut asked) = self.take_asked(call) else { return };
        let Some((open, _)) = asked.open.take() else { return };
        let answer = match answer {
            Ok(given) => self.record_answer(open, given.as_ref()).await.map(|()| given),
            Err(error) => Err(error),
        };
        let error = match answer {
            Ok(Some(Given { allow: true, by })) => {
                tracing::info!(%call, tool = asked.spec.name, by, "the person at the device allowed a call");
                self.say_progress(call, String::new());
                return self.run_allowed(asked).await;
            }
            Ok(Some(Given { allow: false, by })) => denied(&by),
            Ok(None) => nobody(),
            Err(error) => unusable(&error.to_string()),
        };
        self.refuse(&asked.subject, asked.call.arguments.digest(), error);
    }

    /// Runs a call that the person allowed, if it is still allowed and still touches what was shown.
    async fn run_allowed(&mut self, asked: Asked) {
        let Asked { subject, call, spec, touches, deadline, observed, previewed, .. } = asked;
        let digest = call.arguments.digest();
        let left = deadline.saturating_duration_since(Instant::now());
        let call = Dispatched { time_left: left, ..call };
        if let Some(paused) = self.paused() {
            return self.refuse(&subject, digest, paused.refusal(&self.options));
        }
        let admitted = match self.guard.admit(&call, |approval| self.journal.is_spent(approval)) {
            Ok(admitted) => admitted,
            Err(error) => return self.refuse(&subject, digest, *error),
        };
        if admitted.spec != spec || admitted.parsed.touches != touches {
            return self.refuse(&subject, digest, changed());
        }
        if let Some(outcome) = previewed {
            let asks_owner = self.asks(&call, &admitted).is_some();
            let subject = Subject { asks_owner, ..subject };
            let ended = subject.success(outcome, Duration::ZERO);
            return self.end_unstarted(&subject, None, ended);
        }
        let seeing = if observed.is_empty() {
            ObservationMode::Nothing
        } else {
            ObservationMode::Compare(touches, observed)
        };
        self.start(subject, call, admitted, Some(seeing)).await;
    }

    /// Removes what an earlier agent asked. A call of it that comes again is asked about again.
    pub(super) fn forget_questions(&self) {
        if let Err(error) = Folder::new(self.state.dir()).clear() {
            tracing::warn!(%error, "questions of an earlier agent could not be removed");
        }
    }

    /// Forgets the calls that wait, as the agent stops. They never began, and the backend asks about them again.
    pub(super) fn forget_asked(&mut self) {
        for call in self.asked.keys().copied().collect::<Vec<_>>() {
            drop(self.take_asked(call));
        }
    }

    /// Ends a call that waits with an error.
    pub(super) fn end_asked(&mut self, call: CallId, error: ToolError) {
        if let Some(asked) = self.take_asked(call) {
            self.refuse(&asked.subject, asked.call.arguments.digest(), error);
        }
    }

    /// Ends every call that waits with this error.
    pub(super) fn end_all_asked(&mut self, error: &ToolError) {
        for call in self.asked.keys().copied().collect::<Vec<_>>() {
            self.end_asked(call, error.clone());
        }
    }

    /// Removes a call from those that wait, and the files of its question.
    fn take_asked(&mut self, call: CallId) -> Option<Asked> {
        let asked = self.asked.remove(&call)?;
        asked.is_over.store(true, Ordering::Relaxed);
        if let Some((open, _)) = &asked.open {
            Folder::new(self.state.dir()).remove(open);
        }
        Some(asked)
    }
}

/// Returns whether a call only shows what it would change.
pub(super) const fn is_preview(call: &Dispatched, admitted: &Admitted) -> bool {
    call.dry_run && admitted.spec.has_effects
}
