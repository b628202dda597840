//! What commands print: verdicts on the audit log, and the contents of backups.

use std::path::Path;

use orion_server::backup::Manifest;
use orion_server::store::AuditVerdict;

/// Prints a text as it is.
#[expect(clippy::print_stdout, reason = "this is what the command was asked for")]
pub(super) fn print(text: &str) {
    print!("{text}");
}

/// Returns the verdict on an audit log, one line.
pub(super) fn verdict(found: &AuditVerdict) -> String {
    match found {
        AuditVerdict::Whole { rows, head, checkpoints } => {
            let head = head.hash.to_string();
            let head = head.get(..12).unwrap_or(&head);
            let plural = |count: bool| if count { "" } else { "s" };
            format!(
                "Audit log intact: {rows} entr{}, {checkpoints} signed checkpoint{}, head {head}\n",
                if *rows == 1 { "y" } else { "ies" },
                plural(*checkpoints == 1)
            )
        }
        AuditVerdict::Broken { rows, broken } => {
            format!("Audit log broken: {broken} ({rows} entries before it are intact)\n")
        }
    }
}

/// Returns a folder with what its backup holds.
pub(super) fn contents(folder: &Path, Manifest { head, files, .. }: &Manifest) -> String {
    format!("{} ({} files, {} audit entries)", folder.display(), files.len(), head.seq)
}
