//! Programs that run others, read, write and connect by their options, in the sandbox alone: no grammar and no
//! list stands before them, and each does what it likes. Nothing outside is read, written or reached.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use orion_commands::{CommandLine, Judgement, judge};

use super::{Program, Rights, none_left, running};

/// What stands in the file outside.
const SECRET: &str = "the-secret-outside";
/// What the arguments of processes that are left behind would hold.
const MARK: &str = "73001";

/// Attempts: the program and its arguments. `SECRET` stands for the file outside, `NEW` for a path outside that
/// does not exist, `PORT` for a port on this machine that listens.
const ATTEMPTS: &[&[&str]] = &[
    &["sh", "-c", "cat SECRET; echo x > NEW; cp SECRET copy; ln SECRET hard; mv SECRET moved"],
    &["sh", "-c", "exec 3< SECRET; cat <&3"],
    &["sh", "-c", "cd ../out && cat secret; cat /proc/self/cwd/../out/secret"],
    &["sh", "-c", "ln -s SECRET link; cat link; cat /proc/self/root/SECRET"],
    &["sh", "-c", "(setsid sleep 73001 &) ; nohup sleep 73001 & exit 0"],
    &["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/PORT; echo hello >&3"],
    &["bash", "-c", "cat < SECRET; echo $(<SECRET); mapfile -t a < SECRET; echo ${a[0]}"],
    &["bash", "-c", "trap '' TERM HUP INT; (exec -a 73001 sleep 1000 &) "],
    &["dash", "-c", "cat SECRET"],
    &["env", "cat", "SECRET"],
    &["nice", "cat", "SECRET"],
    &["timeout", "5", "cat", "SECRET"],
    &["stdbuf", "-o0", "cat", "SECRET"],
    &["setsid", "sleep", "73001"],
    &["nohup", "sh", "-c", "sleep 73001 &"],
    &["xargs", "-a", "SECRET", "echo"],
    &["find", "SECRET", "-exec", "cat", "{}", ";"],
    &["find", ".", "-maxdepth", "0", "-fprintf", "NEW", "x"],
    &["find", ".", "-maxdepth", "0", "-exec", "sh", "-c", "cat SECRET > NEW", ";"],
    &["awk", "BEGIN { while ((getline line < \"SECRET\") > 0) print line }"],
    &["awk", "BEGIN { print \"x\" > \"NEW\" }"],
    &["awk", "BEGIN { system(\"cat SECRET\") }"],
    &["sed", "-n", "r SECRET", "own"],
    &["sed", "w NEW", "own"],
    &["sed", "1e cat SECRET", "own"],
    &["perl", "-e", "open F, '<', 'SECRET'; print <F>; open G, '>', 'NEW'; print G 'x'"],
    &["perl", "-MIO::Socket::INET", "-e", "IO::Socket::INET->new('127.0.0.1:PORT') or die"],
    &["perl", "-e", "fork or do { setpgrp; exec 'sleep', '73001' }"],
    &["python3", "-c", "print(open('SECRET').read())"],
    &["python3", "-c", "open('NEW', 'w').write('x')"],
    &["python3", "-c", "import socket; socket.create_connection(('127.0.0.1', PORT)).send(b'x')"],
    &[
        "python3",
        "-c",
        "import os; os.fork() or (os.setsid(), os.fork() or os.execvp('sleep', ['sleep', '73001']))",
    ],
    &["python3", "-c", "import os; print(os.open('../out', os.O_PATH)); os.chmod('SECRET', 0o777)"],
    &["python3", "-c", "import ctypes; print(ctypes.CDLL(None).open(b'SECRET', 0))"],
    &["node", "-e", "console.log(require('fs').readFileSync('SECRET', 'utf8'))"],
    &["node", "-e", "require('net').connect(PORT, '127.0.0.1').write('x')"],
    &["dd", "if=SECRET"],
    &["dd", "if=own", "of=NEW"],
    &["cp", "SECRET", "copy"],
    &["cp", "own", "NEW"],
    &["mv", "SECRET", "moved"],
    &["ln", "-s", "SECRET", "linked"],
    &["install", "own", "NEW"],
    &["tee", "NEW"],
    &["touch", "NEW"],
    &["mkdir", "NEW"],
    &["rm", "-f", "SECRET"],
    &["truncate", "-s", "0", "SECRET"],
    &["chmod", "777", "SECRET"],
    &["cat", "SECRET"],
    &["tac", "SECRET"],
    &["head", "SECRET"],
    &["tail", "SECRET"],
    &["nl", "SECRET"],
    &["od", "-c", "SECRET"],
    &["base64", "SECRET"],
    &["cut", "-c1-", "SECRET"],
    &["sort", "SECRET"],
    &["sort", "-o", "NEW", "own"],
    &["sort", "--compress-program=sh", "-S1", "SECRET"],
    &["uniq", "SECRET", "NEW"],
    &["comm", "SECRET", "own"],
    &["diff", "SECRET", "own"],
    &["cmp", "-b", "SECRET", "own"],
    &["paste", "SECRET"],
    &["join", "SECRET", "own"],
    &["fold", "SECRET"],
    &["fmt", "SECRET"],
    &["expand", "SECRET"],
    &["pr", "SECRET"],
    &["split", "own", "NEW"],
    &["csplit", "SECRET", "1"],
    &["shuf", "-e", "x", "-o", "NEW"],
    &["grep", "", "SECRET"],
    &["grep", "-f", "SECRET", "own"],
    &["sha256sum", "-c", "SECRET"],
    &["wc", "--files0-from=SECRET"],
    &["du", "--files0-from=SECRET"],
    &["date", "-f", "SECRET"],
    &["file", "-f", "SECRET"],
    &["strings", "SECRET"],
    &["tar", "-cf", "NEW", "own"],
    &["tar", "-cf", "/dev/null", "own", "--checkpoint=1", "--checkpoint-action=exec=cat SECRET"],
    &["tar", "-xf", "SECRET", "--to-command=cat"],
    &["zip", "-q", "own.zip", "own", "-T", "-TT", "cat SECRET"],
    &["gzip", "-c", "SECRET"],
    &["bzip2", "-c", "SECRET"],
    &["xz", "-c", "SECRET"],
    &["git", "-c", "core.pager=cat SECRET", "-c", "pager.version=true", "version"],
    &["git", "-c", "alias.x=!cat SECRET", "x"],
    &["git", "diff", "--no-index", "SECRET", "own"],
    &["git", "init", "NEW"],
    &["make", "-s", "--eval=x:\n\tcat SECRET > NEW", "x"],
    &["cc", "-x", "c", "-E", "-include", "SECRET", "/dev/null"],
    &["ld", "-o", "NEW", "own"],
    &["openssl", "enc", "-in", "SECRET"],
    &["openssl", "s_client", "-connect", "127.0.0.1:PORT"],
    &["curl", "-s", "http://127.0.0.1:PORT/"],
    &["curl", "-s", "file://SECRET"],
    &["wget", "-qO-", "http://127.0.0.1:PORT/"],
    &["ssh", "-o", "ProxyCommand=cat SECRET >&2", "x"],
    &["scp", "-S", "sh", "own", "x:"],
    &["nc", "127.0.0.1", "PORT"],
    &["busybox", "cat", "SECRET"],
    &["ldd", "SECRET"],
    &["script", "-qc", "cat SECRET", "/dev/null"],
    &["flock", "own", "cat", "SECRET"],
    &["ionice", "cat", "SECRET"],
    &["unshare", "-r", "cat", "SECRET"],
    &["chroot", "/", "cat", "SECRET"],
    &["nsenter", "-t", "1", "cat", "SECRET"],
    &["su", "-c", "cat SECRET"],
    &["systemd-run", "cat", "SECRET"],
    &["crontab", "SECRET"],
    &["vim", "-es", "+:r SECRET", "+%p", "+q!"],
    &["ed", "SECRET"],
    &["less", "SECRET"],
    &["more", "SECRET"],
    &["man", "-P", "cat SECRET", "ls"],
    &["jq", "-R", ".", "SECRET"],
    &["sqlite3", ":memory:", ".shell cat SECRET"],
    &["gdb", "-batch", "-ex", "shell cat SECRET"],
    &["strace", "cat", "SECRET"],
    &["ip", "-force", "-batch", "SECRET"],
    &["php", "-r", "readfile('SECRET');"],
    &["ruby", "-e", "puts File.read('SECRET')"],
    &["lua", "-e", "print(io.open('SECRET'):read('a'))"],
];

#[test]
fn with_the_sandbox_alone_no_program_reads_writes_or_reaches_what_is_outside() {
    let folder = tempfile::tempdir().unwrap();
    let (inside, outside) = (folder.path().join("in"), folder.path().join("out"));
    for dir in [&inside, &outside] {
        std::fs::create_dir(dir).unwrap();
    }
    let secret = outside.join("secret");
    std::fs::write(&secret, format!("{SECRET}\n")).unwrap();
    std::fs::write(inside.join("own"), "own\n").unwrap();
    let before = tree(&outside);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let connected = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connected);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            drop(stream);
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    // The same attempts would be seen: with the folder granted, its content is read and changed.
    let granted = |arguments: &[&str]| {
        let program = Program::new(&super::system("sh"), arguments);
        program.with(&outside, Rights::Change).run().unwrap().stdout.text()
    };
    let text = format!("cat {0}; echo x > {0}.new", secret.display());
    assert!(granted(&["-c", &text]).contains(SECRET));
    assert_ne!(tree(&outside), before);
    std::fs::remove_file(outside.join("secret.new")).unwrap();
    let (mut tried, mut programs) = (0, Vec::new());
    for attempt in ATTEMPTS {
        let Some((name, arguments)) = attempt.split_first() else { continue };
        let Ok(program) = which::which(name) else { continue };
        let new = outside.join("new");
        let arguments: Vec<String> = arguments
            .iter()
            .map(|it| it.replace("SECRET", secret.to_str().unwrap()))
            .map(|it| it.replace("NEW", new.to_str().unwrap()).replace("PORT", &port))
            .collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let ended = Program::new(&program, &arguments)
            .with(&inside, Rights::ChangeAndExecute)
            .with(Path::new("/proc"), Rights::Read)
            .inside(&inside)
            .bounded(|it| it.time_ms = 3_000)
            .run();
        let said = ended.map(|it| it.stdout.text() + &it.stderr.text()).unwrap_or_default();
        assert!(!said.contains(SECRET), "{attempt:?}: {said}");
        assert_eq!(tree(&outside), before, "{attempt:?}");
        for entry in std::fs::read_dir(&inside).unwrap().flatten() {
            let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
            let is_link = entry.file_type().unwrap().is_symlink();
            assert!(is_link || !text.contains(SECRET), "{attempt:?}: {:?}", entry.file_name());
        }
        assert_eq!(running(MARK), 0, "{attempt:?}");
        tried += 1;
        if !programs.contains(name) {
            programs.push(name);
        }
    }
    assert_eq!(connected.load(Ordering::SeqCst), 0);
    println!("{tried} attempts of {} with {} programs", ATTEMPTS.len(), programs.len());
    assert!(programs.len() >= 40, "too few programs are installed to tell: {programs:?}");
    none_left(MARK, std::time::Duration::ZERO);
}

/// Returns the names, content and modes of what is in a folder.
fn tree(folder: &Path) -> Vec<(std::ffi::OsString, Vec<u8>, u32)> {
    use std::os::unix::fs::PermissionsExt as _;
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let mut tree: Vec<_> = entries
        .map(|entry| {
            let content = std::fs::read(entry.path()).unwrap_or_default();
            (entry.file_name(), content, entry.metadata().unwrap().permissions().mode())
        })
        .collect();
    tree.sort();
    tree
}

/// Values that a shell would interpret, besides those of the corpus.
const VALUES: &[&str] = &[
    "", " ", "$HOME", "${HOME}", "$(id)", "`id`", "; id", "&& id", "| id", "> x", "< x", "*", "?",
    "[a]", "~", "{a,b}", "!", "#", "\\", "\"", "'", "%s", "%n", "-n", "--help", "\\x41", "a=b",
    "\u{e9}", "a\nb", "a\tb",
];

#[test]
fn a_value_reaches_its_program_byte_for_byte_or_is_refused() {
    let folder = std::env::var("ORION_CORPORA").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpora").to_owned()
    });
    let corpus = std::fs::read(format!("{folder}/commands/injection.txt")).unwrap_or_default();
    let corpus = String::from_utf8_lossy(&corpus).into_owned();
    let (mut same, mut refused) = (0, 0);
    for value in VALUES.iter().copied().chain(corpus.lines()) {
        let argv = ["printf", "%s", value].map(ToOwned::to_owned).to_vec();
        let judged = CommandLine::from_argv(argv).map(|line| judge(&line));
        match judged {
            Err(_) | Ok(Judgement::Refused(_)) => refused += 1,
            Ok(Judgement::Known(known)) => {
                let arguments: Vec<&str> = known.arguments.iter().map(String::as_str).collect();
                let ended = Program::new(&super::system("printf"), &arguments).run().unwrap();
                assert_eq!(ended.stdout.text(), value, "{value:?}");
                same += 1;
            }
            Ok(Judgement::NoGrammar(_)) => panic!("printf has a grammar"),
        }
    }
    println!("{same} values arrived as they were, {refused} were refused");
    assert!(same >= VALUES.len() - 2, "{same}");
}
