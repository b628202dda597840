//! Asks Windows for the access list of a file or folder, and sets it.

use std::fs;
use std::io;
use std::path::Path;

use windows_permissions::constants::{SeObjectType, SecurityInformation};
use windows_permissions::utilities::current_process_sid;
use windows_permissions::wrappers::{
    ConvertSecurityDescriptorToStringSecurityDescriptor, GetNamedSecurityInfo, SetNamedSecurityInfo,
};
use windows_permissions::{LocalBox, SecurityDescriptor};

use super::list::{Fault, Others, fault};

/// The account of the system's service, `NT SERVICE\orion-agent`. Windows makes its number of the service's name: the
/// SHA-1 of `ORION-AGENT` in UTF-16.
const SERVICE: &str = "S-1-5-80-1761751519-951927031-3751142988-2361467655-3633095795";

/// Returns what is wrong with the owner or the access list of a file or folder.
pub(crate) fn fault_at(path: &Path, others: Others) -> Option<Fault> {
    let judged = || {
        let found = GetNamedSecurityInfo(path, SeObjectType::SE_FILE_OBJECT, parts())?;
        let mut trusted = vec![own_account()?];
        if others == Others::Nothing {
            // It writes the state. The owner's file it only reads.
            trusted.push(SERVICE.to_owned());
        }
        io::Result::Ok(fault(&text_of(&found)?, &trusted, others))
    };
    judged().unwrap_or(Some(Fault::NoList))
}

/// Makes a folder, and those above it that are missing, for this account, the system and administrators alone. One that is
/// there already is not changed.
pub(crate) fn create_private(folder: &Path) -> io::Result<()> {
    let is_missing = |it: &&Path| !it.as_os_str().is_empty() && !it.exists();
    // What is made in the outermost one has its access list from the beginning.
    let outermost = folder.ancestors().take_while(is_missing).last();
    if let Some(outermost) = outermost {
        if let Some(above) = outermost.parent().filter(|it| !it.as_os_str().is_empty()) {
            fs::create_dir_all(above)?;
        }
        fs::create_dir(outermost)?;
        make_private(outermost)?;
    }
    fs::create_dir_all(folder)
}

/// Lets this account, the system and administrators alone use a file, or a folder and what will be in it.
pub(crate) fn make_private(path: &Path) -> io::Result<()> {
    set(path, "FA", &own_account()?)
}

/// Lets the account of the system's service use a folder and what is in it, beside the system and administrators, to
/// whom it belongs.
pub(crate) fn give_to_service(folder: &Path) -> io::Result<()> {
    set(folder, "FA", SERVICE)?;
    give_to_administrators(folder)
}

/// Lets the account of the system's service read a file or folder, which the system and administrators change.
pub(crate) fn show_to_service(path: &Path) -> io::Result<()> {
    set(path, "FRFX", SERVICE)?;
    give_to_administrators(path)
}

/// Makes administrators the owner. The service would refuse what belongs to one of them alone.
fn give_to_administrators(path: &Path) -> io::Result<()> {
    let wanted: LocalBox<SecurityDescriptor> = "O:BA".parse()?;
    let (what, owner) = (SecurityInformation::Owner, wanted.owner());
    SetNamedSecurityInfo(path, SeObjectType::SE_FILE_OBJECT, what, owner, None, None, None)
}

/// Gives a file the access list of another.
pub(crate) fn copy_list(from: &Path, to: &Path) -> io::Result<()> {
    let list = SecurityInformation::Dacl;
    let found = GetNamedSecurityInfo(from, SeObjectType::SE_FILE_OBJECT, list)?;
    apply(to, &text_of(&found)?)
}

fn set(path: &Path, rights: &str, account: &str) -> io::Result<()> {
    let passed_on = if path.is_dir() { "OICI" } else { "" };
    let entry = |rights: &str, account: &str| format!("(A;{passed_on};{rights};;;{account})");
    apply(path, &format!("D:P{}{}{}", entry("FA", "SY"), entry("FA", "BA"), entry(rights, account)))
}

/// Sets the list of this text, and lets nothing of the folder's be added to it.
fn apply(path: &Path, text: &str) -> io::Result<()> {
    let list: LocalBox<SecurityDescriptor> = text.parse()?;
    let what = SecurityInformation::Dacl | SecurityInformation::ProtectedDacl;
    SetNamedSecurityInfo(path, SeObjectType::SE_FILE_OBJECT, what, None, None, list.dacl(), None)
}

fn parts() -> SecurityInformation {
    SecurityInformation::Owner | SecurityInformation::Dacl
}

/// Returns this account as the text of a descriptor names it.
fn own_account() -> io::Result<String> {
    let number = current_process_sid()?;
    let owned: LocalBox<SecurityDescriptor> = format!("O:{}", &*number).parse()?;
    let text = text_of(&owned)?;
    Ok(text.strip_prefix("O:").unwrap_or(&text).to_owned())
}

fn text_of(descriptor: &SecurityDescriptor) -> io::Result<String> {
    let text = ConvertSecurityDescriptorToStringSecurityDescriptor(descriptor, parts())?;
    Ok(text.to_string_lossy().trim_end_matches('\0').to_owned())
}
