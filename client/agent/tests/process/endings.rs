//! Programs that do not end by themselves: each is gone soon after its time, with all that it started.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use orion_agent::process::Ending;

use super::{Program, none_left, running, system};

/// How long after its deadline a program may still be there.
const SOON: Duration = Duration::from_secs(2);
const TIME_MS: u64 = 400;

/// Runs a script that does not end by itself, and returns how it ended.
fn ended_in_time(script: &str, mark: &str) -> super::Ended {
    let began = Instant::now();
    let ended = Program::shell(script).bounded(|it| it.time_ms = TIME_MS).run().unwrap();
    let took = began.elapsed();
    assert!(took < Duration::from_millis(TIME_MS) + SOON, "{script}: {took:?}");
    assert_eq!(running(mark), 0, "{script}");
    ended
}

#[test]
fn at_its_deadline_a_program_is_gone_with_all_that_it_started() {
    for (script, mark) in [
        ("exec sleep 71001", "71001"),
        ("sleep 71002 & sleep 71002 & wait", "71002"),
        ("trap '' TERM; sleep 71003; sleep 71003", "71003"),
        ("setsid sleep 71004 & setsid setsid sleep 71004 & sleep 71004", "71004"),
        (
            "(trap '' TERM HUP; setsid sh -c 'trap \"\" TERM; sleep 71005; sleep 71005' &) & sleep 71005",
            "71005",
        ),
        ("sleep 71006 & kill -STOP $!; kill -STOP $$", "71006"),
    ] {
        let ended = ended_in_time(script, mark);
        assert_eq!(ended.ending, Ending::Deadline, "{script}: {ended:?}");
    }
}

#[test]
fn what_a_program_leaves_behind_is_ended_with_it() {
    let began = Instant::now();
    let ended = Program::shell("setsid sleep 71011 & (sleep 71011 &) ; echo done").run().unwrap();
    assert_eq!((ended.ending, ended.exit_code), (Ending::Itself, Some(0)));
    assert_eq!(ended.stdout.text(), "done\n");
    assert_eq!(running("71011"), 0);
    assert!(began.elapsed() < SOON);
}

#[test]
fn a_fork_bomb_is_gone_as_soon_as_it_has_more_processes_than_it_may() {
    for script in
        ["f() { sleep 71021 & f | f & }; f; wait", "f() { setsid sleep 71022 & f & f & }; f; wait"]
    {
        let began = Instant::now();
        let ended = Program::shell(script).bounded(|it| it.time_ms = 5_000).run().unwrap();
        let found = matches!(ended.ending, Ending::Processes | Ending::Itself);
        assert!(found, "{script}: {ended:?}");
        assert!(began.elapsed() < Duration::from_secs(5), "{script}: {:?}", began.elapsed());
        none_left("7102", SOON);
    }
}

#[test]
fn a_program_that_takes_too_much_memory_is_gone() {
    // It waits for the end of a line that never comes.
    let hog = Program::new(&system("tail"), &["/dev/zero"])
        .with(std::path::Path::new("/dev/zero"), super::Rights::Device)
        .bounded(|it| (it.memory, it.time_ms) = (64 * 1024 * 1024, 20_000));
    let ended = hog.run().unwrap();
    let by_itself = ended.ending == Ending::Itself && ended.exit_code == Some(1);
    assert!(ended.ending == Ending::Memory || by_itself, "{ended:?}");

    // Many processes that each take little.
    let script = "for i in 1 2 3 4 5 6 7 8 9 10; do sh -c 'x=$(head -c 12000000 /dev/zero | tr \"\\0\" a); sleep 71031' & done; wait";
    let many = Program::shell(script)
        .with(std::path::Path::new("/dev/zero"), super::Rights::Device)
        .bounded(|it| (it.memory, it.time_ms) = (64 * 1024 * 1024, 20_000));
    let ended = many.run().unwrap();
    assert_eq!(ended.ending, Ending::Memory, "{ended:?}");
    none_left("71031", SOON);
}

#[test]
fn of_output_without_end_the_beginning_and_the_end_are_kept() {
    let began = Instant::now();
    let yes = Program::new(&system("yes"), &["71041"]).bounded(|it| it.time_ms = 1_000);
    let ended = yes.run().unwrap();
    assert_eq!(ended.ending, Ending::Deadline);
    assert!(ended.stdout.left_out() > 10_000_000, "{}", ended.stdout.left_out());
    assert!(ended.stdout.text().len() < 300 * 1024);
    assert!(began.elapsed() < Duration::from_secs(3));
    none_left("71041", SOON);
}

#[test]
fn a_cancelled_program_is_asked_to_end_and_then_ended() {
    for (script, mark) in [
        ("trap 'echo bye; exit 4' TERM; sleep 71051 & wait", "71051"),
        ("trap '' TERM; sleep 71052; sleep 71052", "71052"),
    ] {
        let goes_on = AtomicBool::new(true);
        let began = Instant::now();
        let ended = std::thread::scope(|scope| {
            scope.spawn(|| {
                while running(mark) < 2 {
                    std::thread::sleep(Duration::from_millis(5));
                }
                goes_on.store(false, Ordering::Relaxed);
            });
            Program::shell(script).run_while(&|| goes_on.load(Ordering::Relaxed)).unwrap()
        });
        assert_eq!(ended.ending, Ending::Cancelled, "{script}");
        assert!(began.elapsed() < Duration::from_secs(5), "{script}");
        assert_eq!(running(mark), 0, "{script}");
        if mark == "71051" {
            assert_eq!((ended.exit_code, ended.stdout.text().as_str()), (Some(4), "bye\n"));
        }
    }
}

#[test]
fn a_program_is_gone_when_the_agent_is_killed() {
    let mut agent = super::probes::start("start_a_sleeper");
    while running("71061") < 3 {
        std::thread::sleep(Duration::from_millis(5));
        assert!(agent.try_wait().unwrap().is_none(), "the agent ended before it was killed");
    }
    agent.kill().unwrap();
    agent.wait().unwrap();
    none_left("71061", SOON);
}
