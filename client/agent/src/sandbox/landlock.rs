//! Landlock: access rights on folders, set by their open handles, so that no path is looked up again
//! between the check and the rule.

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;

use cap_std::fs::Dir;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus,
    PathBeneath, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
    make_bitflags,
};
use orion_domain::Access;

use super::{Network, Reach, Rights, Unconfined};
use crate::roots::GrantedFolder;

/// Older versions cannot move a file from one folder to another, so they count as no Landlock.
const NEEDED: ABI = ABI::V2;
/// Every right up to this version is restricted, if the kernel supports it.
const KNOWN: ABI = ABI::V9;

const READ: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | ReadDir});
/// What tools do to files, folders and links. Tools never execute a file, and never make a device, FIFO or
/// socket. Every folder has the same set: the kernel refuses a move that would gain rights.
const CHANGE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{
    ReadFile | ReadDir | WriteFile | Truncate | RemoveDir | RemoveFile | MakeDir | MakeReg | MakeSym
        | Refer
});

const DELETE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{RemoveDir | RemoveFile});
const CONNECT: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | WriteFile | ResolveUnix});

/// Confines the calling thread and the threads that it starts.
pub(super) fn confine(
    granted: &[GrantedFolder],
    own: &[&Dir],
    reach: Reach,
) -> Result<(), Unconfined> {
    let granted = granted.iter().filter_map(|GrantedFolder { dir, access }| {
        let changes = access.contains(&Access::Write) || access.contains(&Access::Delete);
        let rights = match reach {
            Reach::Read if !access.contains(&Access::Read) => return None,
            Reach::Change if changes => CHANGE,
            Reach::Read | Reach::Preview | Reach::Change => READ,
        };
        Some((dir.as_fd(), rights))
    });
    let rights = match reach {
        Reach::Read => None,
        Reach::Preview => Some(READ),
        Reach::Change => Some(CHANGE),
    };
    let own = own.iter().filter_map(|dir| Some((dir.as_fd(), rights?)));
    restrict(granted.chain(own), AccessNet::from_all(KNOWN)).map(drop)
}

/// Confines the calling process before it becomes a program, with all that the program starts.
pub(crate) fn confine_program<'a>(
    rules: impl IntoIterator<Item = (BorrowedFd<'a>, Rights)>,
    network: Network,
) -> Result<(), Unconfined> {
    let rules = rules.into_iter().map(|(handle, rights)| {
        let rights = match rights {
            Rights::List => AccessFs::ReadDir.into(),
            Rights::Read => READ,
            Rights::Execute => READ | AccessFs::Execute,
            Rights::Write => CHANGE & !DELETE,
            Rights::WriteAndExecute => (CHANGE & !DELETE) | AccessFs::Execute,
            Rights::Change => CHANGE,
            Rights::ChangeAndExecute => CHANGE | AccessFs::Execute,
            Rights::Connect => CONNECT,
            Rights::Device => make_bitflags!(AccessFs::{ReadFile | WriteFile | IoctlDev}),
        };
        // The kernel takes no rights on folders for a file.
        let is_folder = rustix::fs::fstat(handle)
            .is_ok_and(|it| rustix::fs::FileType::from_raw_mode(it.st_mode).is_dir());
        (handle, if is_folder { rights } else { rights & AccessFs::from_file(KNOWN) })
    });
    let refused = match network {
        Network::Nothing | Network::Services => AccessNet::from_all(KNOWN),
        Network::Hosts => AccessNet::BindTcp.into(),
    };
    restrict(rules, refused).map(drop)
}

fn restrict<'a>(
    rules: impl IntoIterator<Item = (BorrowedFd<'a>, BitFlags<AccessFs>)>,
    refused: BitFlags<AccessNet>,
) -> Result<RestrictionStatus, Unconfined> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(refused)?
        .scope(Scope::from_all(KNOWN))?
        .create()?;
    for (dir, rights) in rules {
        ruleset = ruleset.add_rule(PathBeneath::new(dir, rights))?;
    }
    let status = ruleset.restrict_self()?;
    match status.ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(status),
        RulesetStatus::NotEnforced => Err(Unconfined::Missing),
    }
}

/// Returns the version of Landlock, if it really confines a thread of this process.
pub(super) fn probe() -> Option<i32> {
    let probing = || {
        let status = match restrict([], AccessNet::from_all(KNOWN)) {
            Ok(status) => status,
            Err(error) => {
                tracing::debug!(%error, "Landlock is not there");
                return None;
            }
        };
        // A real test: without a rule, no folder can be opened.
        let refused = File::open("/").is_err_and(|it| it.kind() == ErrorKind::PermissionDenied);
        match status.landlock {
            LandlockStatus::Available { effective_abi, kernel_abi } if refused => {
                Some(kernel_abi.unwrap_or(effective_abi as i32))
            }
            LandlockStatus::Available { .. }
            | LandlockStatus::NotEnabled
            | LandlockStatus::NotImplemented => None,
        }
    };
    thread::Builder::new().name("landlock".to_owned()).spawn(probing).ok()?.join().ok()?
}
