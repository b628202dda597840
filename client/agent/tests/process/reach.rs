//! What a program reaches: its folders with their rights, and nothing else.

use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::Path;

use orion_agent::sandbox::{Metadata, Network};

use super::probes::probe;
use super::{Program, Rights, out, system};

/// Returns whether a program succeeded.
fn does(program: Program) -> bool {
    program.run().unwrap().exit_code == Some(0)
}

#[test]
fn a_program_reads_changes_and_executes_only_where_it_may() {
    let folder = tempfile::tempdir().unwrap();
    let (inside, outside) = (folder.path().join("in"), folder.path().join("out"));
    for dir in [&inside, &outside] {
        std::fs::create_dir(dir).unwrap();
        std::fs::write(dir.join("file"), "text\n").unwrap();
        std::fs::copy(system("true"), dir.join("program")).unwrap();
    }
    std::os::unix::fs::symlink(outside.join("file"), inside.join("link")).unwrap();
    let cat = |path: &Path| Program::new(&system("cat"), &[path.to_str().unwrap()]);
    let touch = |path: &Path| {
        Program::new(&system("sh"), &["-c", "echo x >> \"$0\"", path.to_str().unwrap()])
    };
    let execute = |path: &Path| Program::new(&system("env"), &[path.to_str().unwrap()]);
    for (rights, reads, changes, executes) in [
        (Rights::Read, true, false, false),
        (Rights::Execute, true, false, true),
        (Rights::Change, true, true, false),
        (Rights::ChangeAndExecute, true, true, true),
    ] {
        let with = |program: Program| program.with(&inside, rights);
        assert_eq!(does(with(cat(&inside.join("file")))), reads, "{rights:?}");
        assert_eq!(does(with(touch(&inside.join("file")))), changes, "{rights:?}");
        assert_eq!(does(with(touch(&inside.join("new")))), changes, "{rights:?}");
        assert_eq!(does(with(execute(&inside.join("program")))), executes, "{rights:?}");
        for path in [outside.join("file"), inside.join("link"), inside.join("../out/file")] {
            assert!(!does(with(cat(&path))), "{rights:?} {}", path.display());
            assert!(!does(with(touch(&path))), "{rights:?} {}", path.display());
        }
        assert!(!does(with(execute(&outside.join("program")))), "{rights:?}");
        drop(std::fs::remove_file(inside.join("new")));
    }
    assert!(!does(cat(Path::new("/etc/shadow"))) && !does(cat(Path::new("/etc/passwd"))));
    assert_eq!(std::fs::read_to_string(outside.join("file")).unwrap(), "text\n");
}

#[test]
fn a_folder_is_the_one_that_was_checked_and_not_what_has_its_name_now() {
    let folder = tempfile::tempdir().unwrap();
    let (granted, other) = (folder.path().join("granted"), folder.path().join("other"));
    for dir in [&granted, &other] {
        std::fs::create_dir(dir).unwrap();
        std::fs::write(dir.join("file"), dir.file_name().unwrap().as_encoded_bytes()).unwrap();
    }
    let held =
        Program::new(&system("cat"), &["file"]).with(&granted, Rights::Read).inside(&granted);
    let mut held = held;
    held.handles.push(super::handle(&granted));
    std::fs::rename(&granted, folder.path().join("moved")).unwrap();
    std::fs::rename(&other, &granted).unwrap();
    let handles: Vec<_> = held.handles.iter().map(std::os::fd::AsFd::as_fd).collect();
    let ended = super::launcher().run(&held.launch, &handles, &mut |_| {}, &|| true).unwrap();
    assert_eq!(ended.stdout.text(), "granted", "{ended:?}");
}

#[test]
fn a_program_opens_no_socket_unless_it_may_and_then_none_on_this_machine_by_a_file() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let output = out(probe("open_sockets", &address));
    for refused in ["tcp", "udp", "listen", "datagrams"] {
        assert!(output.contains(&format!("{refused}: PermissionDenied")), "{output}");
    }
    assert!(output.contains("pair: done"), "{output}");
    let mut networked = probe("open_sockets", &address);
    networked.launch.network = Network::Hosts;
    let output = out(networked);
    assert!(output.contains("tcp: done") && output.contains("udp: done"), "{output}");
    assert!(output.contains("listen: PermissionDenied"), "{output}");

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let _listener = UnixListener::bind(&path).unwrap();
    for network in [Network::Nothing, Network::Hosts] {
        let mut program =
            probe("open_socket_files", path.to_str().unwrap()).with(folder.path(), Rights::Change);
        program.launch.network = network;
        let output = out(program);
        assert_eq!(output.matches("PermissionDenied").count(), 3, "{output}");
    }

    // A tool that asks a manager of services connects to its socket file and to nothing else.
    let mut asking =
        probe("open_socket_files", path.to_str().unwrap()).with(&path, Rights::Connect);
    asking.launch.network = Network::Services;
    let output = out(asking);
    assert!(output.contains("connect: done"), "{output}");
    assert_eq!(output.matches("PermissionDenied").count(), 2, "{output}");
    let mut asking = probe("open_sockets", &address);
    asking.launch.network = Network::Services;
    let output = out(asking);
    for refused in ["tcp", "udp", "listen", "datagrams"] {
        assert!(output.contains(&format!("{refused}: PermissionDenied")), "{output}");
    }
}

#[test]
fn mode_and_owner_of_a_file_change_only_for_a_program_that_may() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let output = out(probe("change_metadata", file.to_str().unwrap()));
    assert_eq!(output.matches("PermissionDenied").count(), 3, "{output}");
    let mut builder = probe("change_metadata", file.to_str().unwrap());
    builder.launch.metadata = Metadata::Anything;
    let output = out(builder.with(folder.path(), Rights::Change));
    assert_eq!(output.matches(": done").count(), 3, "{output}");
}

#[test]
fn a_program_reaches_no_other_process() {
    let agent = std::process::id().to_string();
    let output = out(probe("signal_a_process", &agent).with(Path::new("/proc"), Rights::Read));
    assert_eq!(output.matches("PermissionDenied").count(), 4, "{output}");
}

#[test]
fn a_program_has_no_privileges_and_cannot_get_any() {
    let status = Program::new(&system("cat"), &["/proc/self/status"]);
    let output = out(status.with(Path::new("/proc"), Rights::Read));
    let value = |name: &str| {
        let line = output.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_else(|| panic!("{name}: {output}")).trim().to_owned()
    };
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(u64::from_str_radix(&value(set), 16).unwrap(), 0, "{set}");
    }
    assert_eq!((value("NoNewPrivs").as_str(), value("Seccomp").as_str()), ("1", "2"));
}
