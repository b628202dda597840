//! Workers that really run: this test binary is the workers' program, and one of its tests does their work. Tools
//! of these tests misbehave in every way that a tool could.

mod endings;
mod kept;
mod turns;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use cap_std::fs::Dir;
use orion_domain::{Access, CallId, ErrorCode, Places, RiskRaise, ToolError};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{FileCall, Workers, serve};
use crate::call::{FileContext, Installation, Memory, ObservationMode, Outcome};
use crate::process::WorkerProgram;
use crate::roots::{GrantedFolder, Roots};
use crate::sandbox::{Reach, confine};
use crate::tools::testing::{Device, GuardResult, judged};
use crate::tools::{Executor, Run};
use crate::trash::Trash;

/// Set in the environment of a worker.
const MARKER: &str = "ORION_TEST_WORKER";

/// The value for a worker that can be confined no further.
const CROWDED: &str = "crowded";

/// Does nothing in an ordinary run of the tests.
#[test]
fn does_the_work_of_a_worker() {
    if let Some(how) = std::env::var_os(MARKER) {
        if how == CROWDED {
            let dir = Dir::open_ambient_dir("/", cap_std::ambient_authority()).unwrap();
            let access = [Access::Read, Access::Write].into();
            let all = [GrantedFolder { dir: Arc::new(dir), access }];
            // As many confinements as the kernel stacks.
            while confine(&all, &[], Reach::Change).is_ok() {}
        }
        let _ = serve::main();
        std::process::exit(0);
    }
}

/// Returns the program of workers that run the tools of this test binary.
pub(crate) fn program() -> WorkerProgram {
    WorkerProgram::of_this_test("workers::tests::does_the_work_of_a_worker", MARKER)
}

/// Returns the workers of this test process.
pub(crate) fn workers() -> &'static Workers {
    static WORKERS: LazyLock<Workers> = LazyLock::new(|| Workers::of(program()));
    &WORKERS
}

/// The parts of a device that several threads may use.
#[derive(Clone, Copy)]
struct Place<'a> {
    roots: &'a Roots,
    trash: &'a Trash,
    places: &'a Places,
    installation: &'a Installation,
}

impl<'a> Place<'a> {
    const fn of(device: &'a Device) -> Self {
        let Device { roots, trash, places, installation, .. } = device;
        Self { roots, trash, places, installation }
    }
}

/// One call of a device, in a worker.
struct Trial<'a> {
    place: Place<'a>,
    tool: &'a str,
    arguments: Value,
    time: Duration,
    cancelled: &'a AtomicBool,
    memory: &'a Memory,
}

impl<'a> Trial<'a> {
    fn of(device: &'a Device, tool: &'a str, arguments: Value) -> Self {
        Self::at(Place::of(device), tool, arguments)
    }

    fn at(place: Place<'a>, tool: &'a str, arguments: Value) -> Self {
        static NEVER: AtomicBool = AtomicBool::new(false);
        let time = Duration::from_secs(60);
        Self { place, tool, arguments, time, cancelled: &NEVER, memory: &NO_MEMORY }
    }

    fn within(self, time: Duration) -> Self {
        Self { time, ..self }
    }

    fn until(self, cancelled: &'a AtomicBool) -> Self {
        Self { cancelled, ..self }
    }

    fn with(self, memory: &'a Memory) -> Self {
        Self { memory, ..self }
    }

    /// Runs the call as a change, with its id.
    fn changes(self) -> (CallId, Result<Outcome<Value>, ToolError>) {
        let call = CallId::new(Uuid::now_v7());
        (call, self.run(workers(), call, true))
    }

    fn reads(self) -> Result<Outcome<Value>, ToolError> {
        self.run(workers(), CallId::new(Uuid::now_v7()), false)
    }

    fn run(
        self,
        by: &Workers,
        call: CallId,
        has_effects: bool,
    ) -> Result<Outcome<Value>, ToolError> {
        let Self { place, tool, arguments, time, cancelled, memory } = self;
        let Place { roots, trash, places, installation } = place;
        let known = if tool == "test_write_then_spin" { "write_file" } else { tool };
        let judged = match orion_catalog::find(known) {
            Some(_) => judged(trash, places, known, &arguments),
            None => GuardResult::default(),
        };
        by.run(FileCall {
            call,
            tool,
            arguments,
            dry_run: false,
            has_effects,
            reach: Some(if has_effects { Reach::Change } else { Reach::Read }),
            roots,
            touches: &judged.touches,
            seeing: &ObservationMode::Nothing,
            undo: judged.undo,
            verdict: None,
            approved_raises: RiskRaise::ALL.to_vec(),
            trash,
            places,
            device_id: "kiosk",
            installation,
            memory,
            deadline: Instant::now() + time,
            cancelled,
            progress: &|_, _, _| {},
        })
        .map(Outcome::decoded)
    }
}

static NO_MEMORY: LazyLock<Memory> = LazyLock::new(Memory::default);

type Test = fn(Value, &FileContext<'_>) -> Result<Outcome, ToolError>;

const fn tool(name: &'static str, run: Test) -> Executor {
    Executor { name, run: Run::File(run) }
}

fn done() -> Result<Outcome, ToolError> {
    Outcome::new("Done.", json!({})).encoded("test")
}

/// Tools that misbehave. Each stands for a fault that a tool or a library could have.
static TOOLS: &[Executor] = &[
    tool("test_look", |_, _| match std::fs::read_dir("/") {
        Ok(_) => Err(ToolError::new(ErrorCode::PermissionDenied, "It is free.")),
        Err(_) => done(),
    }),
    tool("test_panic", |_, _| panic!("/secret/path")),
    tool("test_abort", |_, _| std::process::abort()),
    tool("test_spin", |_, _| {
        loop {
            std::hint::spin_loop();
        }
    }),
    tool("test_hog", |_, _| {
        let mut all = Vec::new();
        loop {
            all.push(vec![1_u8; 8 << 20]);
            std::thread::sleep(Duration::from_millis(1));
        }
    }),
    tool("test_swallow", |_, _| {
        // More than the limit at once.
        let all = vec![1_u8; 4 << 30];
        Outcome::new(format!("{}", all.len()), json!({})).encoded("test")
    }),
    tool("test_wait", |arguments, context| {
        let until = Instant::now() + Duration::from_millis(arguments["ms"].as_u64().unwrap());
        while Instant::now() < until {
            context.check()?;
            std::thread::sleep(Duration::from_millis(1));
        }
        Outcome::new("Done.", json!({"pid": std::process::id()})).encoded("test")
    }),
    tool("test_report", |_, context| {
        for number in 0..10_000 {
            (context.progress)(number, Some(10_000), "file");
        }
        done()
    }),
    tool("test_shout", |_, _| Outcome::new("Done.", json!("x".repeat(32 << 20))).encoded("test")),
    tool("test_forbidden", |_, _| {
        // Whatever a worker does not need, whether Landlock is there or not.
        let refused = [
            std::net::UdpSocket::bind("127.0.0.1:0").is_err(),
            std::os::unix::net::UnixStream::pair().is_err(),
            rustix::process::kill_process(
                rustix::process::getppid().unwrap(),
                rustix::process::Signal::USR1,
            )
            .is_err(),
        ];
        Outcome::new("Done.", json!(refused)).encoded("test")
    }),
    tool("test_write_then_spin", |arguments, context| {
        let write = crate::tools::find("write_file").unwrap();
        let Run::File(write) = write.run else { unreachable!() };
        write(arguments, context)?;
        loop {
            std::hint::spin_loop();
        }
    }),
    tool("test_hold", |arguments, context| {
        let path = context.path(arguments["path"].as_str().unwrap())?;
        let _held = crate::changes::lock_paths(context, &[&path])?;
        let began = std::time::SystemTime::now();
        std::thread::sleep(Duration::from_millis(arguments["ms"].as_u64().unwrap()));
        let ns = |at: std::time::SystemTime| {
            let since = at.duration_since(std::time::UNIX_EPOCH).unwrap();
            u64::try_from(since.as_nanos()).unwrap()
        };
        let data = json!([ns(began), ns(std::time::SystemTime::now())]);
        Outcome::new("Done.", data).encoded("test")
    }),
    tool("test_memory", |arguments, context| {
        crate::call::reserve_memory(context, arguments["bytes"].as_u64().unwrap())?;
        done()
    }),
    tool("test_room", |arguments, context| {
        use crate::trash::Reservation;
        let bytes = arguments["bytes"].as_u64().unwrap();
        let made = context.trash.reserve(context.call, bytes, 0) == Reservation::Made;
        Outcome::new("Done.", json!(made)).encoded("test")
    }),
];

/// Returns a tool of these tests.
pub(super) fn find(name: &str) -> Option<&'static Executor> {
    TOOLS.iter().find(|executor| executor.name == name)
}
