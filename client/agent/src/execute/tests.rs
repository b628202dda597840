//! Tools that panic, hang, stop and report too much progress. Each call is still answered exactly once, or
//! twice if the first answer was `unknown`.

use std::path::Path;

use orion_domain::grants::Scope;
use orion_domain::{
    CallId, CallState, Caller, Grants, PathStyle, Policy, Question, Role, Touches, evaluate,
};
use serde_json::json;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::*;
use crate::journal::JournalError;
use crate::programs::Programs;
use crate::roots::Roots;
use crate::tools;

/// Only an evaluation returns a permit, so the test evaluates too.
fn permit() -> Permit {
    let grants: Grants = serde_json::from_value(json!({"profile": "operator"})).unwrap();
    let places = Places::bare(PathStyle::Posix);
    let policy = Policy { grants: grants.compile(&places).0, ..Policy::deny_all() };
    let (spec, _) = orion_catalog::find("get_datetime").unwrap();
    let question = Question {
        tool: spec.facts(),
        touches: Some(&Touches::nothing()),
        arguments: None,
        caller: &Caller { user: "ann".parse().unwrap(), role: Role::Operator, conversation: None },
        device: &"web-1".parse().unwrap(),
        dry_run: false,
        confirmed: true,
        at: orion_domain::rule::Moment::default(),
        content: None,
        raises: &[],
        counted: None,
    };
    evaluate(&question, &policy).permit(&question, &policy, None).unwrap()
}

type Run = fn(Value, &Context<'_>) -> Result<Outcome, ToolError>;

fn job(folder: &Path, run: Run, time_left: Duration, has_effects: bool) -> Job {
    Job {
        subject: Subject {
            asks_owner: false,
            call: CallId::new(Uuid::from_u128(7)),
            device: "web-1".to_owned(),
            tool: "get_datetime".to_owned(),
            dry_run: false,
            sandbox: None,
        },
        permit: permit(),
        executor: Executor { name: "get_datetime", run: tools::Run::Plain(run) },
        arguments: json!({}),
        seeing: ObservationMode::Nothing,
        touches: Touches::nothing(),
        undo: None,
        confinement: Confinement::Handles,
        has_effects,
        memory: Arc::default(),
        deadline: Instant::now() + time_left,
        cancelled: Arc::new(AtomicBool::new(false)),
        roots: Arc::new(GrantedPaths::new(Box::new(|| {
            Roots::open(&Scope::nothing(), &Scope::nothing(), &[])
        }))),
        verdict: None,
        approved_raises: Vec::new(),
        toolbox: Arc::new(Toolbox {
            places: Places::bare(PathStyle::Posix),
            apps: Apps::default(),
            programs: Programs::default(),
            trash: Arc::new(Trash::open(folder).unwrap()),
            device_id: Uuid::from_u128(1).to_string(),
            sandbox: Sandbox::detect(),
            installation: Installation::default(),
            #[cfg(target_os = "linux")]
            workers: Arc::default(),
        }),
    }
}

/// Returns the events in order: the code of each end, and `started` and `progress`.
async fn happened(job: Job, admission: Admission) -> Vec<String> {
    let (events, mut inbox) = mpsc::channel::<CallEvent>(64);
    execute(job, admission, events, begin).await;
    let mut happened = Vec::new();
    while let Some(event) = inbox.recv().await {
        happened.push(match event {
            CallEvent::Started { .. } => "started".to_owned(),
            CallEvent::Progress { note, .. } => format!("progress {note}"),
            CallEvent::Output { offset, .. } => format!("output at {offset}"),
            CallEvent::Finished { ended, slot, .. } => {
                assert!(ended.state.is_closed());
                assert_ne!(ended.state, CallState::Denied);
                format!("{} {slot:?}", ended.code)
            }
        });
    }
    happened
}

const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_tool_that_succeeds_starts_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let job =
        job(folder.path(), |_, _| Outcome::new("Done.", json!({})).encoded("test"), LONG, false);
    assert_eq!(happened(job, Admission::Ready).await, ["started", " Free"]);
}

#[tokio::test]
async fn a_tool_that_panics_ends_all_the_same_and_may_have_done_something() {
    let folder = tempfile::tempdir().unwrap();
    for (has_effects, end) in [(false, "INTERNAL Free"), (true, "OUTCOME_UNKNOWN Free")] {
        let job = job(folder.path(), |_, _| panic!("/secret/path"), LONG, has_effects);
        assert_eq!(happened(job, Admission::Ready).await, ["started", end]);
    }
}

#[tokio::test]
async fn a_tool_that_looks_at_its_clock_times_out() {
    let folder = tempfile::tempdir().unwrap();
    let run: Run = |_, context| {
        loop {
            context.check()?;
            std::thread::yield_now();
        }
    };
    let job = job(folder.path(), run, Duration::from_millis(20), true);
    assert_eq!(happened(job, Admission::Ready).await, ["started", "TIMEOUT Free"]);
}

#[tokio::test]
async fn a_tool_that_is_stopped_ends_as_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let run: Run = |_, context| {
        // Normally the loop sets the flag; here the tool sets it itself while it runs.
        context.cancelled.store(true, Ordering::Relaxed);
        context.check()?;
        Outcome::new("Done.", json!({})).encoded("test")
    };
    let job = job(folder.path(), run, LONG, true);
    assert_eq!(happened(job, Admission::Ready).await, ["started", "CANCELLED Free"]);
}

#[tokio::test]
async fn a_call_that_is_stopped_while_it_waits_never_starts() {
    let folder = tempfile::tempdir().unwrap();
    let job = job(folder.path(), |_, _| panic!("it ran"), LONG, true);
    job.cancelled.store(true, Ordering::Relaxed);
    assert_eq!(happened(job, Admission::Ready).await, ["CANCELLED Free"]);
}

#[tokio::test]
async fn a_call_that_the_journal_does_not_take_never_starts() {
    let folder = tempfile::tempdir().unwrap();
    for (error, code) in [
        (JournalError::DiskFull, "RESOURCE_EXHAUSTED Free"),
        (JournalError::Broken(std::io::ErrorKind::Other), "INTERNAL Free"),
    ] {
        let (answer, waiting) = oneshot::channel();
        answer.send(Err(error)).unwrap();
        let job = job(folder.path(), |_, _| panic!("it ran"), LONG, true);
        assert_eq!(happened(job, Admission::Pending(waiting)).await, [code]);
    }
    let (_answer, waiting) = oneshot::channel::<Result<(), JournalError>>();
    let hung = job(folder.path(), |_, _| panic!("it ran"), Duration::ZERO, true);
    assert_eq!(happened(hung, Admission::Pending(waiting)).await, ["TIMEOUT Free"]);
    let (answer, waiting) = oneshot::channel::<Result<(), JournalError>>();
    drop(answer);
    let job = job(folder.path(), |_, _| panic!("it ran"), LONG, true);
    assert_eq!(happened(job, Admission::Pending(waiting)).await, ["CANCELLED Free"]);
}

/// Takes longer than the deadline and its grace, like a hanging disk.
const HANG: Run = |_, _| {
    std::thread::sleep(GRACE + Duration::from_secs(2));
    Outcome::new("Done.", json!({})).encoded("test")
};

#[tokio::test]
async fn an_effect_that_hangs_is_unknown_until_it_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let job = job(folder.path(), HANG, Duration::ZERO, true);
    assert_eq!(
        happened(job, Admission::Ready).await,
        ["started", "OUTCOME_UNKNOWN GivenUp", " Free"]
    );
}

#[tokio::test]
async fn progress_is_thinned_out() {
    let folder = tempfile::tempdir().unwrap();
    let run: Run = |_, context| {
        for number in 0..10_000 {
            (context.progress)(number, Some(10_000), "file");
        }
        Outcome::new("Done.", json!({})).encoded("test")
    };
    let happened = happened(job(folder.path(), run, LONG, false), Admission::Ready).await;
    let reported = happened.iter().filter(|line| line.starts_with("progress")).count();
    assert!((1..=20).contains(&reported), "{reported} of 10,000");
}

/// Runs in a worker process that the kernel confines.
#[cfg(target_os = "linux")]
mod confined {
    use super::*;
    use crate::sandbox::Reach;
    use crate::workers::tests::program;

    /// `tool` is one of the workers' own tests.
    fn confined(folder: &Path, tool: &'static str, time_left: Duration, has_effects: bool) -> Job {
        let reach = if has_effects { Reach::Change } else { Reach::Read };
        let never: Run = |_, _| panic!("it ran in the agent");
        let job = job(folder, never, time_left, has_effects);
        let mut toolbox = Arc::into_inner(job.toolbox).unwrap();
        toolbox.workers = Arc::new(Workers::of(program()));
        Job {
            confinement: Confinement::Landlock(reach),
            executor: Executor { name: tool, ..job.executor },
            toolbox: Arc::new(toolbox),
            ..job
        }
    }

    #[tokio::test]
    async fn a_tool_runs_confined_and_the_agent_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let job = confined(folder.path(), "test_look", LONG, true);
        assert_eq!(happened(job, Admission::Ready).await, ["started", " Free"]);
        assert!(std::fs::read_dir("/").is_ok());
    }

    #[tokio::test]
    async fn a_tool_that_panics_or_hangs_ends_and_frees_its_slot() {
        let folder = tempfile::tempdir().unwrap();
        for has_effects in [false, true] {
            let job = confined(folder.path(), "test_panic", LONG, has_effects);
            assert_eq!(happened(job, Admission::Ready).await, ["started", "INTERNAL Free"]);
            let short = Duration::from_millis(300);
            let job = confined(folder.path(), "test_spin", short, has_effects);
            assert_eq!(happened(job, Admission::Ready).await, ["started", "TIMEOUT Free"]);
        }
    }

    #[tokio::test]
    async fn progress_of_a_worker_is_thinned_out() {
        let folder = tempfile::tempdir().unwrap();
        let job = confined(folder.path(), "test_report", LONG, false);
        let happened = happened(job, Admission::Ready).await;
        let reported = happened.iter().filter(|line| line.starts_with("progress file")).count();
        assert!((1..=20).contains(&reported), "{reported} of 10,000");
        assert_eq!(happened.last().unwrap(), " Free");
    }

    #[tokio::test]
    async fn a_tool_without_a_worker_never_runs() {
        let folder = tempfile::tempdir().unwrap();
        let mut job = confined(folder.path(), "test_look", LONG, true);
        let mut toolbox = Arc::into_inner(job.toolbox).unwrap();
        let missing = crate::process::WorkerProgram::of_agent_at("/no/such/program".into());
        toolbox.workers = Arc::new(Workers::of(missing));
        job.toolbox = Arc::new(toolbox);
        let end = "RESOURCE_EXHAUSTED Free";
        assert_eq!(happened(job, Admission::Ready).await, ["started", end]);
    }

    #[tokio::test]
    async fn roots_that_hang_hold_up_the_calls_that_need_them_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let hang: Box<dyn FnOnce() -> Roots + Send> = Box::new(|| {
            std::thread::sleep(GRACE + Duration::from_secs(2));
            Roots::open(&Scope::nothing(), &Scope::nothing(), &[])
        });
        let mut job = confined(folder.path(), "test_look", Duration::ZERO, false);
        job.roots = Arc::new(GrantedPaths::new(hang));
        let done = |_: Value, _: &Context<'_>| Outcome::new("Done.", json!({})).encoded("test");
        let other = super::job(folder.path(), done, LONG, false);
        let (held_up, other) =
            tokio::join!(happened(job, Admission::Ready), happened(other, Admission::Ready));
        assert_eq!(held_up, ["started", "TIMEOUT GivenUp", "TIMEOUT Free"]);
        assert_eq!(other, ["started", " Free"]);
    }
}
