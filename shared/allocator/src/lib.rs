//! The allocator of the backend and the agent. It returns freed memory to the operating system; the system's
//! own allocator keeps much of what each thread freed.

use std::ffi::{c_int, c_long};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Freed memory returns to the operating system after so many milliseconds; 1,000 unless set. Its number in
/// `mimalloc.h`; the test below fails where that changes.
const PURGE_DELAY: c_int = 15;

#[expect(unsafe_code, reason = "the library's Rust side has no name for it")]
// SAFETY: the signature is that of `mimalloc.h`.
unsafe extern "C" {
    fn mi_option_set(option: c_int, value: c_long);
}

/// Returns memory to the operating system as soon as it is freed. To be called first in `main`, before there
/// are other threads.
///
/// For a process that starts a thread for each piece of work: what one thread freed is not free for the next
/// until it was returned, so that short work in a row would take many times the memory of one piece.
pub fn purge_at_once() {
    #[expect(unsafe_code, reason = "the library has no safe function for it")]
    // SAFETY: writes one number of the library's options, which no other thread reads yet.
    unsafe {
        mi_option_set(PURGE_DELAY, 0);
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::thread;

    const MIB: usize = 1024 * 1024;

    fn resident_bytes() -> usize {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
    }

    /// Runs a thread that takes 64 MiB and ends. By how much the process has grown since.
    fn grown_after_a_thread() -> usize {
        let before = resident_bytes();
        let work = || {
            let taken: Vec<Vec<u8>> = (0..64).map(|_| black_box(vec![1; MIB])).collect();
            assert!(resident_bytes() > 48 * MIB, "{}", taken.len());
        };
        thread::spawn(work).join().unwrap();
        resident_bytes().saturating_sub(before)
    }

    #[test]
    fn what_a_thread_freed_is_returned_at_once() {
        assert!(grown_after_a_thread() > 32 * MIB, "it is returned at once without being asked");
        super::purge_at_once();
        grown_after_a_thread();
        let grown = grown_after_a_thread();
        assert!(grown < 8 * MIB, "{} MiB are kept", grown / MIB);
    }
}
