//! Archives as hostile as they come, made by hand.

use std::io::{Seek as _, SeekFrom, Write as _};

use cap_std::ambient_authority;
use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, Header};

use super::*;
use crate::tools::testing::Device;

/// An archive under construction.
struct Made(Builder<GzEncoder<Vec<u8>>>);

impl Made {
    fn new() -> Self {
        Self(Builder::new(GzEncoder::new(Vec::new(), Compression::best())))
    }

    /// Adds an entry by what its header says, whether or not that makes sense.
    fn entry(mut self, kind: EntryType, name: &str, content: &[u8]) -> Self {
        let mut header = Header::new_ustar();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o4755);
        header.set_size(content.len() as u64);
        header.set_cksum();
        self.0.append(&header, content).unwrap();
        self
    }

    fn file(self, name: &str, content: &[u8]) -> Self {
        self.entry(EntryType::Regular, name, content)
    }

    fn bytes(self) -> Vec<u8> {
        self.0.into_inner().unwrap().finish().unwrap()
    }
}

/// Unpacks an archive, and returns what came of it with what is in the folder then.
fn unpacked(device: &Device, bytes: &[u8]) -> (Result<Unpacked, ToolError>, Vec<String>) {
    let path = device.at("unpacked");
    drop(std::fs::remove_dir_all(&path));
    std::fs::create_dir(&path).unwrap();
    let into = Dir::open_ambient_dir(&path, ambient_authority()).unwrap();
    let mut file = std::fs::File::options()
        .create(true)
        .truncate(true)
        .read(true)
        .write(true)
        .open(device.at("archive"))
        .unwrap();
    file.write_all(bytes).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    let size = bytes.len() as u64;
    let done = device.with_context(|context| unpack(&file, size, &into, context));
    let mut names: Vec<_> = std::fs::read_dir(&path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    (done, names)
}

#[test]
fn files_and_folders_are_unpacked_with_names_of_any_form_and_without_special_rights() {
    let device = Device::new();
    let long = format!("folder/{}", "x".repeat(120));
    let pax = format!("{} path={long}\n", long.len() + 10);
    let bytes = Made::new()
        .entry(EntryType::XGlobalHeader, "pax_global_header", b"19 comment=release\n")
        .entry(EntryType::Directory, "./folder/", b"")
        .file("./folder/script", b"#!/bin/sh\n")
        .entry(EntryType::XHeader, "PaxHeader", pax.as_bytes())
        .file("short", b"long")
        .entry(EntryType::GNULongName, "././@LongLink", b"folder/gnu\0")
        .file("short", b"gnu")
        .bytes();
    let (done, names) = unpacked(&device, &bytes);
    assert_eq!(done, Ok(Unpacked { files: 3, bytes: 17 }));
    assert_eq!(names, ["folder"]);
    let at = |name: &str| device.at("unpacked").join(name);
    assert_eq!(std::fs::read(at(&long)).unwrap(), b"long");
    assert_eq!(std::fs::read(at("folder/gnu")).unwrap(), b"gnu");
    let mode = std::fs::metadata(at("folder/script")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755);
}

#[test]
fn nothing_leads_out_of_the_folder() {
    let device = Device::new();
    let pax = b"23 path=../outside/x.y\n".as_slice();
    let bad = [
        Made::new().file("../outside/x", b"x"),
        Made::new().file("/tmp/orion-x", b"x"),
        Made::new().file("a/../../outside/x", b"x"),
        Made::new().entry(EntryType::Symlink, "link", b""),
        Made::new().entry(EntryType::Link, "link", b""),
        Made::new().entry(EntryType::Char, "device", b""),
        Made::new().entry(EntryType::Block, "device", b""),
        Made::new().entry(EntryType::Fifo, "pipe", b""),
        Made::new().entry(EntryType::GNUSparse, "sparse", b""),
        Made::new().entry(EntryType::XHeader, "x", pax).file("a", b"x"),
        Made::new().entry(EntryType::XHeader, "x", b"15 linkpath=/x\n").file("a", b"x"),
        Made::new().entry(EntryType::XHeader, "x", b"10 size=9\n").file("a", b"x"),
        Made::new().entry(EntryType::GNULongName, "x", b"../a\0").file("a", b"x"),
        Made::new().entry(EntryType::GNULongLink, "x", b"/a\0").file("a", b"x"),
        Made::new().file("a\nb", b"x"),
        Made::new().file("a\\..\\b", b"x"),
        Made::new().file("folder/", b"x"),
        Made::new().file("a", b"1").file("a", b"2"),
        Made::new().file("a", b"1").file("a/b", b"2"),
        Made::new().file("a", b"1").file("./a", b"2"),
    ];
    for (number, made) in bad.into_iter().enumerate() {
        let (done, names) = unpacked(&device, &made.bytes());
        let error = done.unwrap_err();
        assert_eq!(error.code, ErrorCode::ExecutionFailed, "{number}: {error:?}");
        assert!(names.iter().all(|name| name == "a"), "{number}: {names:?}");
    }
    assert!(!device.at("outside/x").exists() && !device.at("outside/x.y").exists());
}

#[test]
fn what_is_too_large_or_damaged_is_refused() {
    let device = Device::new();
    let code = |bytes: &[u8]| unpacked(&device, bytes).0.unwrap_err().code;
    let bomb = Made::new().file("zeros", &vec![0; 64 * 1024 * 1024]).bytes();
    assert_eq!(code(&bomb), ErrorCode::ResourceExhausted, "{} bytes", bomb.len());
    let mut many = Made::new();
    for number in 0..=MAX_ENTRIES {
        many = many.file(&number.to_string(), b"");
    }
    assert_eq!(code(&many.bytes()), ErrorCode::ResourceExhausted);
    let wordy = vec![b'x'; 100 * 1024];
    let wordy = Made::new().entry(EntryType::GNULongName, "x", &wordy).file("a", b"x").bytes();
    assert_eq!(code(&wordy), ErrorCode::ExecutionFailed);
    let good = Made::new().file("a", &rand_bytes(100_000)).bytes();
    for cut in [0, 1, 10, 600, good.len() / 2] {
        assert_eq!(code(&good[..cut]), ErrorCode::ExecutionFailed, "{cut}");
    }
    assert_eq!(code(b"not an archive at all"), ErrorCode::ExecutionFailed);
    device.cancelled.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(code(&good), ErrorCode::Cancelled);
}

/// Returns bytes that do not compress, the same each time.
fn rand_bytes(count: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state.to_be_bytes()[0]
    };
    (0..count).map(|_| next()).collect()
}
