//! The system calls that no program gets: those that reach other processes, the kernel's settings, sockets and
//! namespaces. Everything that files need stays allowed, as Landlock judges files by what they are.

use std::collections::BTreeMap;

use libc::{c_int, c_long};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

use super::launch::Launch;
use crate::sandbox::{Metadata, Network};

/// The processor's second set of call numbers on x86-64, which reaches the same calls.
#[cfg(target_arch = "x86_64")]
const X32: c_long = 0x4000_0000;
/// Numbers of calls that have others in that set: ptrace, kexec_load, process_vm_readv, process_vm_writev.
#[cfg(target_arch = "x86_64")]
const X32_ONLY: &[c_long] = &[521, 528, 539, 540];

/// Calls that are refused whatever their arguments.
const REFUSED: &[c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    SYS_OPEN_TREE_ATTR,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    // Files by handle or on behalf of the kernel, past Landlock's paths.
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_fanotify_init,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_acct,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    // Memory that outlives a process, and that nobody counts.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    // Keys.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // The kernel.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

/// Further calls that a worker does not get.
const REFUSED_TO_WORKERS: &[c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
];

/// Calls that change mode, owner, times or attributes of a file by its path, which Landlock does not govern.
const METADATA: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    libc::SYS_fchmodat,
    SYS_FCHMODAT2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    libc::SYS_fchownat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    SYS_SETXATTRAT,
    SYS_REMOVEXATTRAT,
    SYS_FILE_SETATTR,
];
/// Numbers that are the same on every architecture that Orion runs on.
const SYS_FCHMODAT2: c_long = 452;
const SYS_SETXATTRAT: c_long = 463;
const SYS_REMOVEXATTRAT: c_long = 466;
const SYS_OPEN_TREE_ATTR: c_long = 467;
const SYS_FILE_SETATTR: c_long = 469;

/// The same for an open file, which may have been opened only to read it.
const METADATA_OF_OPEN: &[c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchown,
    libc::SYS_fsetxattr,
    libc::SYS_fremovexattr,
    libc::SYS_utimensat,
];
/// Requests of `ioctl` that change the attributes of an open file.
const ATTRIBUTES: &[u64] = &[0x4008_6602, 0x401c_5820];

/// Flags of `clone` that make a namespace.
const NAMESPACES: &[c_int] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Requests of `ioctl` that type into a terminal.
const TYPING: &[u64] = &[0x5412, 0x541c];

type Rules = BTreeMap<c_long, Vec<SeccompRule>>;

/// Refuses the calls of this process and of all that it starts, for good.
pub(super) fn apply(launch: &Launch) -> Result<(), seccompiler::Error> {
    let mut rules = refused_to_all()?;
    match launch.metadata {
        Metadata::Anything => {}
        Metadata::OfOpenFiles => {
            rules.extend(METADATA.iter().map(|call| (*call, Vec::new())));
            // With a path; without one, the file is open.
            only_where(&mut rules, libc::SYS_utimensat, &[(1, SeccompCmpOp::Ne, 0)])?;
        }
        Metadata::Nothing => {
            let calls = METADATA.iter().chain(METADATA_OF_OPEN);
            rules.extend(calls.map(|call| (*call, Vec::new())));
            for &request in ATTRIBUTES {
                only_where(&mut rules, libc::SYS_ioctl, &[(1, SeccompCmpOp::Eq, request)])?;
            }
        }
    }
    for &flag in NAMESPACES {
        let flag = u64::from(flag.unsigned_abs());
        only_where(&mut rules, libc::SYS_clone, &[(0, SeccompCmpOp::MaskedEq(flag), flag)])?;
    }
    match launch.network {
        Network::Nothing => drop(rules.insert(libc::SYS_socket, Vec::new())),
        Network::Hosts => {
            let domains = [libc::AF_INET, libc::AF_INET6];
            let others = domains.map(|it| (0, SeccompCmpOp::Ne, u64::from(it.unsigned_abs())));
            only_where(&mut rules, libc::SYS_socket, &others)?;
        }
        Network::Services => {
            let unix = u64::from(libc::AF_UNIX.unsigned_abs());
            only_where(&mut rules, libc::SYS_socket, &[(0, SeccompCmpOp::Ne, unix)])?;
            let stream = u64::from(libc::SOCK_STREAM.unsigned_abs());
            // The kind without its flags.
            for kind in (0..16).filter(|kind| *kind != stream) {
                let other = [(1, SeccompCmpOp::MaskedEq(0xf), kind)];
                only_where(&mut rules, libc::SYS_socket, &other)?;
            }
        }
    }
    // A pair of datagram sockets can send to any socket file.
    let datagram = u64::from(libc::SOCK_DGRAM.unsigned_abs());
    let kind = SeccompCmpOp::MaskedEq(0xf);
    only_where(&mut rules, libc::SYS_socketpair, &[(1, kind, datagram)])?;
    install_for_good(rules)
}

/// Refuses to a worker, for good, what a program does not get either, and besides: programs, processes, sockets,
/// and signals to others. The socket to the agent is there already.
pub(super) fn apply_to_worker() -> Result<(), seccompiler::Error> {
    let mut rules = refused_to_all()?;
    rules.extend(REFUSED_TO_WORKERS.iter().map(|call| (*call, Vec::new())));
    // Threads are made, processes are not.
    let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
    only_where(&mut rules, libc::SYS_clone, &[(0, SeccompCmpOp::MaskedEq(thread), 0)])?;
    let own = u64::from(std::process::id());
    for call in [libc::SYS_kill, libc::SYS_tgkill] {
        only_where(&mut rules, call, &[(0, SeccompCmpOp::Ne, own)])?;
    }
    // Memory that is shared counts in no limit of the worker.
    let shared = (libc::MAP_SHARED | libc::MAP_ANONYMOUS).unsigned_abs().into();
    only_where(&mut rules, libc::SYS_mmap, &[(3, SeccompCmpOp::MaskedEq(shared), shared)])?;
    // A socket can send signals to its owner.
    for command in [libc::F_SETOWN, F_SETSIG, F_SETOWN_EX] {
        let command = u64::from(command.unsigned_abs());
        only_where(&mut rules, libc::SYS_fcntl, &[(1, SeccompCmpOp::Eq, command)])?;
    }
    // It ends with the agent.
    let death = u64::from(libc::PR_SET_PDEATHSIG.unsigned_abs());
    only_where(&mut rules, libc::SYS_prctl, &[(0, SeccompCmpOp::Eq, death)])?;
    install_for_good(rules)
}

/// Returns what neither programs nor workers get.
fn refused_to_all() -> Result<Rules, seccompiler::Error> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    for &request in TYPING {
        only_where(&mut rules, libc::SYS_ioctl, &[(1, SeccompCmpOp::Eq, request)])?;
    }
    // The limits of another process.
    only_where(&mut rules, libc::SYS_prlimit64, &[(0, SeccompCmpOp::Ne, 0)])?;
    Ok(rules)
}

/// Installs the rules, and what is missing for programs and workers alike.
fn install_for_good(rules: Rules) -> Result<(), seccompiler::Error> {
    install(rules, libc::EPERM)?;
    // Processes and threads are then made by `clone`, whose flags can be seen. Without memory files, what is
    // counted is used.
    let missing = [libc::SYS_clone3, libc::SYS_memfd_create, libc::SYS_memfd_secret];
    install(missing.into_iter().map(|call| (call, Vec::new())).collect(), libc::ENOSYS)
}

/// Chooses the signal of a file's owner. The crate `libc` does not name it for every system.
const F_SETSIG: c_int = 10;
/// Chooses a file's owner.
const F_SETOWN_EX: c_int = 15;

/// Adds a rule that refuses a call where all conditions on its arguments hold.
fn only_where(
    rules: &mut Rules,
    call: c_long,
    conditions: &[(u8, SeccompCmpOp, u64)],
) -> Result<(), seccompiler::Error> {
    let conditions = conditions.iter().map(|(argument, operator, value)| {
        SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, operator.clone(), *value)
    });
    let rule = SeccompRule::new(conditions.collect::<Result<_, _>>()?)?;
    rules.entry(call).or_default().push(rule);
    Ok(())
}

fn install(rules: Rules, errno: c_int) -> Result<(), seccompiler::Error> {
    #[cfg(target_arch = "x86_64")]
    let rules = {
        let mut rules = rules;
        let twins: Rules = rules.iter().map(|(call, rule)| (call | X32, rule.clone())).collect();
        if rules.contains_key(&libc::SYS_ptrace) {
            rules.extend(X32_ONLY.iter().map(|call| (call | X32, Vec::new())));
        }
        rules.extend(twins);
        rules
    };
    let architecture = std::env::consts::ARCH.try_into()?;
    let refused = SeccompAction::Errno(errno.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, architecture)?;
    apply_filter(&BpfProgram::try_from(filter)?)
}
