//! An application that runs until its test ends it: a copy of the shell, which waits at a FIFO.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::Device;
use crate::apps::Apps;

/// A running application, which ends on drop.
pub(crate) struct Running(pub(crate) u32);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = kill_process(self.pid(), Signal::KILL);
    }
}

impl Running {
    fn pid(&self) -> Pid {
        Pid::from_raw(self.0.try_into().unwrap()).unwrap()
    }

    /// Returns whether the application runs, or has not been reaped.
    pub(crate) fn runs(&self) -> bool {
        std::path::Path::new(&format!("/proc/{}", self.0)).exists()
    }

    /// Waits until the application has ended and the agent has reaped it.
    pub(crate) fn wait_for_end(&self) {
        let until = Instant::now() + Duration::from_secs(60);
        while self.runs() {
            assert!(Instant::now() < until, "process {} is still there", self.0);
            std::thread::yield_now();
        }
    }
}

impl Device {
    /// Binds each name to a copy of the shell in a file of its own.
    pub(crate) fn bind_shells(&mut self, apps: &[(&str, &str)]) {
        let copy = |(name, file): &(&str, &str)| -> (String, PathBuf) {
            let path = self.at("outside").join(file);
            std::fs::copy(std::fs::canonicalize("/bin/sh").unwrap(), &path).unwrap();
            ((*name).to_owned(), path)
        };
        let explicit: BTreeMap<_, _> = apps.iter().map(copy).collect();
        let (apps, bad) = Apps::discover([], &explicit);
        assert_eq!(bad, []);
        self.apps = apps;
    }

    /// Opens an application, which runs these commands first and then waits without end.
    pub(crate) fn open_waiting(&self, app: &str, commands: &str) -> Running {
        let (ready, wait) = (self.text("files/ready"), self.text("files/wait"));
        drop(std::fs::remove_file(&ready));
        let _ = mknodat(CWD, &wait, FileType::Fifo, Mode::from(0o600), 0);
        let script = format!("{commands}\n: > '{ready}'\nwhile :; do read line < '{wait}'; done\n");
        // A shell may read its script again, so each has its own.
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!("script-4711-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        self.put(&format!("files/{name}"), script);
        let opened = self.data("open_app", json!({"app": app, "args": [name]}));
        let running = Running(opened["pid"].as_u64().unwrap().try_into().unwrap());
        let until = Instant::now() + Duration::from_secs(60);
        while !std::path::Path::new(&ready).exists() {
            assert!(Instant::now() < until, "the application does not run");
            std::thread::yield_now();
        }
        running
    }
}
