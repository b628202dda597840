//! Runs one example as a person does, and says what is wrong with it.

use std::fmt::Write as _;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use orion_tests::Terminal;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use super::disk::{Disk, changes, look, missing, open_secrets, unexpected};
use super::ground::Ground;
use super::sheet::{Rule, Sheet, with_id};

/// The timeout of an example, and of each of its preparations.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How long what was started in the background may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Functions for the preparations of all worlds.
const FUNCTIONS: &str = r#"
call() { orion call "$@" -o json 2>/dev/null || true; }
ended() { call "$@" | jq -er .meta.call_id; }
approver() {
  ( for _ in $(seq 200); do
      id=$(orion approvals list -o json | jq -er '.[0].approval_id') && orion approvals approve "$id" && break
      sleep 0.1
    done ) >/dev/null 2>&1 </dev/null &
}
enrol() {
  name=$1; shift
  orion devices invite --name "$name" "$@" -o json | jq -er .token |
    orion-agent enroll - --no-wait --state-dir "$SCRATCH/$name"
}
"#;

/// How an example ended.
struct Ended {
    code: i32,
    shown: String,
}

/// Runs an example, and returns what is wrong with it.
pub(super) async fn run(ground: &Ground, sheet: &Sheet, example: &str) -> Result<(), String> {
    let rule = sheet.rule(example).cloned().unwrap_or_default();
    ground.reset(sheet);
    let id = match rule.before.as_str() {
        "" => String::new(),
        before => prepare(ground, sheet, before).await?,
    };
    let line = line_of(ground, &rule, example, &id);
    let before = look(&ground.watched());
    let ended = attempt(ground, &rule, &line).await?;
    let after = settled(ground, &rule, &before).await;

    let mut faults = Vec::new();
    if ended.code != rule.exit {
        faults.push(format!("exit {} instead of {}", ended.code, rule.exit));
    }
    let says = rule.says.iter().map(|text| ground.fill(text));
    let unsaid = says.filter(|text| !ended.shown.contains(text));
    faults.extend(unsaid.map(|text| format!("does not say: {text}")));
    let changes = changes(&before, &after);
    faults.extend(unexpected(&changes, &rule.leaves));
    faults.extend(missing(&changes, &rule.leaves));
    faults.extend(open_secrets(&before, &after));
    if !rule.after.is_empty() {
        prepare(ground, sheet, &format!("ID='{id}'\n{}", rule.after)).await?;
    }
    if faults.is_empty() {
        return Ok(());
    }
    let mut fault = faults.join("\n");
    if line != example {
        write!(fault, "\nit ran as: {line}").unwrap();
    }
    Err(format!("{fault}\n{}", ended.shown))
}

/// Returns what is on disk once all is there that the rule names, or does not come: what was started in the
/// background may still be under way.
async fn settled(ground: &Ground, rule: &Rule, before: &Disk) -> Disk {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let after = look(&ground.watched());
        let is_there = missing(&changes(before, &after), &rule.leaves).is_empty();
        if is_there || Instant::now() > deadline {
            return after;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Returns the line that is run for an example.
fn line_of(ground: &Ground, rule: &Rule, example: &str, id: &str) -> String {
    let mut line = example.to_owned();
    for (from, to) in &rule.with {
        line = line.replace(from, &ground.fill(to).replace("$ID", id));
    }
    if id.is_empty() { line } else { with_id(&line, id) }
}

/// Runs shell lines that prepare an example, and returns the last line that they print.
async fn prepare(ground: &Ground, sheet: &Sheet, lines: &str) -> Result<String, String> {
    let script = format!("set -e\n{FUNCTIONS}{}\n{lines}", sheet.functions);
    let mut command = shell(ground, &script);
    let ended = command.stdin(Stdio::null()).output();
    let ended = tokio::time::timeout(TIMEOUT, ended).await;
    let ended = ended.map_err(|_| format!("the preparation does not end: {lines}"))?.unwrap();
    let (stdout, stderr) =
        (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    if !ended.status.success() {
        return Err(format!("the preparation fails: {lines}\n{stdout}{stderr}"));
    }
    Ok(stdout.lines().last().unwrap_or_default().to_owned())
}

#[expect(clippy::disallowed_methods, reason = "tests are about processes")]
fn shell(ground: &Ground, script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("umask 022\ntrap : INT\n{script}")]);
    surround(ground, &mut command);
    command
}

fn surround(ground: &Ground, command: &mut Command) {
    command
        .env_clear()
        .env("PATH", ground.path())
        .env("NO_COLOR", "1")
        .envs(&ground.variables)
        .current_dir(ground.work())
        .kill_on_drop(true);
}

async fn attempt(ground: &Ground, rule: &Rule, line: &str) -> Result<Ended, String> {
    if !rule.typed.is_empty() {
        return at_terminal(ground, rule, line).await;
    }
    let mut command = shell(ground, line);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().unwrap();
    let group = Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()).unwrap();
    let mut input = child.stdin.take().unwrap();
    // A program may end without reading everything; its exit code decides.
    let _ = input.write_all(rule.stdin.as_bytes()).await;
    // What runs until it is ended would take the end of its input for that.
    let input = rule.until.is_some().then_some(input);
    let ended = tokio::time::timeout(TIMEOUT, follow(&mut child, rule, group)).await;
    drop(input);
    let Ok((status, shown)) = ended else {
        let _ = kill_process_group(group, Signal::KILL);
        return Err(format!("it does not end, or does not say {:?}", rule.until));
    };
    if test_kill_process_group(group).is_ok() {
        let _ = kill_process_group(group, Signal::KILL);
        return Err(format!("it left processes behind\n{shown}"));
    }
    let code = status.code().ok_or_else(|| format!("it ended with {status}\n{shown}"))?;
    Ok(Ended { code, shown })
}

/// Reads what a program says up to its end. Interrupts it once it says what its rule waits for.
async fn follow(child: &mut Child, rule: &Rule, group: Pid) -> (ExitStatus, String) {
    let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (mut said, mut noted) = (Vec::new(), Vec::new());
    let (mut saying, mut noting) = (true, true);
    let mut until = rule.until.as_deref();
    while saying || noting {
        tokio::select! {
            more = piece(&mut stdout, &mut said), if saying => saying = more,
            more = piece(&mut stderr, &mut noted), if noting => noting = more,
        }
        let shown = text(&said) + &text(&noted);
        if until.is_some_and(|until| shown.contains(until)) {
            until = None;
            let _ = kill_process_group(group, Signal::INT);
        }
    }
    let status = child.wait().await.unwrap();
    (status, text(&said) + &text(&noted))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Reads what comes next. Returns whether more may come.
async fn piece(from: &mut (impl AsyncRead + Unpin), into: &mut Vec<u8>) -> bool {
    from.read_buf(into).await.is_ok_and(|read| read > 0)
}

/// Runs a line at a terminal with a person who types.
#[expect(clippy::disallowed_methods, reason = "tests are about processes")]
async fn at_terminal(ground: &Ground, rule: &Rule, line: &str) -> Result<Ended, String> {
    let script = ground.scratch().join("line.sh");
    std::fs::write(&script, format!("stty cols 80 rows 24\numask 022\n{line}\n")).unwrap();
    let run = format!("sh '{}'", script.display());
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &run, "/dev/null"]);
    surround(ground, &mut command);
    command.env("TERM", "xterm").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut terminal = Terminal::new(command.spawn().unwrap());
    let mut shown = String::new();
    for (awaited, typed) in &rule.typed {
        shown += &terminal.sees(awaited).await;
        match typed.as_str() {
            "^C" => terminal.interrupt().await,
            "" => {}
            "^D" => terminal.types("\u{4}").await,
            typed => match typed.strip_prefix('@') {
                Some(file) => {
                    let typed = std::fs::read_to_string(ground.scratch().join(file)).unwrap();
                    terminal.line(typed.trim()).await;
                }
                None => terminal.line(typed).await,
            },
        }
    }
    let code = terminal.ended().await;
    shown += &terminal.rest();
    Ok(Ended { code, shown })
}

/// Rules for lines that a shell runs by itself.
const PLAIN: &str = r#"
commands = []
[[rule]]
example = "touch named"
leaves = ["+ ~/work/named"]
[[rule]]
example = "echo 0199b2c4-7f3e"
before = "echo one; echo two"
says = ["two"]
[[rule]]
example = "echo said"
says = ["unsaid"]
[[rule]]
example = "exit 3"
exit = 3
[[rule]]
example = "(umask 077; echo orion_1 > kept)"
leaves = ["+ ~/work/kept (private)"]
[[rule]]
example = "echo orion_1 > open"
leaves = ["+ ~/work/open"]
[[rule]]
example = "sh -c 'echo ready; exec sleep 60'"
until = "ready"
exit = 130
[[rule]]
example = "printf name?;"
typed = [["name?", "ann"]]
says = ["hello ann"]
"#;

#[tokio::test]
async fn what_is_not_as_its_rule_says_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let ground = Ground::new(folder.path());
    let sheet: Sheet = toml::from_str(PLAIN).unwrap();
    let cases = [
        ("true", ""),
        ("touch named", ""),
        ("echo 0199b2c4-7f3e", ""),
        ("exit 3", ""),
        ("(umask 077; echo orion_1 > kept)", ""),
        ("sh -c 'echo ready; exec sleep 60'", ""),
        ("printf name?; read -r it; echo hello $it", ""),
        ("false", "exit 1 instead of 0"),
        ("touch other", "left and not in the rule: + ~/work/other"),
        ("touch ~/other", "left and not in the rule: + ~/other"),
        ("mktemp", "left and not in the rule: + tmp:"),
        ("touch named.not", "left and not in the rule: + ~/work/named.not"),
        ("echo said", "does not say: unsaid"),
        ("echo orion_1 > open", "others may read the secret in ~/work/open"),
        ("sleep 60 >/dev/null 2>&1 &", "it left processes behind"),
    ];
    for (example, expected) in cases {
        let fault = run(&ground, &sheet, example).await.err().unwrap_or_default();
        assert!(
            fault.contains(expected) && fault.is_empty() == expected.is_empty(),
            "{example}: {fault}"
        );
    }
}
