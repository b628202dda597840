//! A large file up, down and across with `orion cp`, while the link of the device is cut ten times on each way. The
//! digests are the same, and no process grows. `make test-transfer` does it with two gigabytes.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use orion_domain::{Digest, Hasher};
use orion_tests::{Cut, Device, Launch, Process, Proxy, World, program};

use super::bytes;

/// The size of the file in MiB.
const SIZE: &str = "ORION_TEST_TRANSFER_MIB";
/// How often the link is cut on each way, in the long form. A device waits longer after each loss.
const CUTS: u64 = 10;
/// How often it is cut in the short form.
const FEW_CUTS: u64 = 2;
/// The most that a process may grow, in bytes.
const MAX_GROWTH: u64 = 48 * 1024 * 1024;
/// The most memory of the command, in bytes.
const MAX_COMMAND: u64 = 64 * 1024 * 1024;
/// The longest time of one way.
const TIMEOUT: Duration = Duration::from_mins(30);

fn digest(path: &Path) -> Digest {
    let (mut file, mut hasher) = (std::fs::File::open(path).unwrap(), Hasher::default());
    let mut buffer = vec![0; 1024 * 1024];
    loop {
        match file.read(&mut buffer).unwrap() {
            0 => return hasher.finish(),
            read => hasher.update(&buffer[..read]),
        }
    }
}

/// Runs `orion cp`, and cuts the link whenever another part of the file has passed.
#[expect(clippy::print_stdout, reason = "the figures are of interest")]
async fn copy(world: &World, (from, to): (&str, &str), proxy: &Proxy, size: u64) -> u64 {
    let context = world.folder().join("context.toml");
    let words = [OsStr::new("cp"), OsStr::new(from), OsStr::new(to)];
    let environment = [("ORION_CONTEXT", context.as_os_str())];
    let launch = Launch { arguments: &words, environment: &environment, ..Launch::default() };
    let log = world.folder().join("copy.log");
    let command = Process::start(&program("orion"), &log, &launch);
    let (began, before) = (Instant::now(), proxy.moved().0 + proxy.moved().1);
    let most = if std::env::var_os(SIZE).is_some() { CUTS } else { FEW_CUTS };
    let (mut cuts, mut peak) = (0, 0);
    while command.is_running() {
        assert!(began.elapsed() < TIMEOUT, "{}", command.log());
        let passed = proxy.moved().0 + proxy.moved().1 - before;
        if cuts < most && passed > (cuts + 1) * size / (most + 2) {
            cuts += 1;
            proxy.cut(Cut::Reset);
        }
        if command.is_running() {
            peak = peak.max(std::panic::catch_unwind(|| command.usage().peak).unwrap_or(0));
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(command.exit_code().await, 0, "{}", command.log());
    let rate = size as f64 / 1024.0 / 1024.0 / began.elapsed().as_secs_f64();
    println!("{from} to {to}: {cuts} cuts, {rate:.0} MiB/s, the command's peak {} MiB", peak >> 20);
    assert_eq!(cuts, most, "{from} to {to}");
    assert!(peak < MAX_COMMAND, "the command took {peak} bytes");
    peak
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_file_goes_up_down_and_across_over_links_that_are_cut_and_nobody_grows() {
    let mib: u64 = std::env::var(SIZE).map_or(32, |text| text.parse().unwrap());
    let size = mib * 1024 * 1024;
    let world = World::new().await;
    let proxy = world.proxy().await;
    let kiosk = world.device("kiosk").via_proxy(&proxy).start().await;
    let server: Device = world.device("server-1").start().await;
    let here = world.folder().join("large.bin");
    let mut file = std::fs::File::create(&here).unwrap();
    let piece = bytes(1024 * 1024);
    for number in 0..mib {
        file.write_all(&number.to_le_bytes()).unwrap();
        file.write_all(&piece[8..]).unwrap();
    }
    drop(file);
    let expected = digest(&here);
    let processes =
        [("agent", kiosk.agent()), ("agent across", server.agent()), ("backend", world.server())];
    let before: Vec<u64> = processes.iter().map(|(_, process)| process.usage().resident).collect();

    copy(&world, ("large.bin", "kiosk:large.bin"), &proxy, size).await;
    assert_eq!(digest(&kiosk.files().join("large.bin")), expected, "up");
    std::fs::remove_file(&here).unwrap();
    copy(&world, ("kiosk:large.bin", "large.bin"), &proxy, size).await;
    assert_eq!(digest(&here), expected, "down");
    std::fs::remove_file(&here).unwrap();
    copy(&world, ("kiosk:large.bin", "server-1:large.bin"), &proxy, size).await;
    assert_eq!(digest(&server.files().join("large.bin")), expected, "across");

    for ((name, process), before) in processes.iter().zip(before) {
        let peak = process.usage().peak;
        println!("{name}: {} MiB before, {} MiB at most", before >> 20, peak >> 20);
        assert!(peak < before + MAX_GROWTH, "{name}: {peak} after {before}");
    }
}
