//! The names of what Orion keeps in a state directory: those who write it and the removal of a device use them.

/// The file that is locked while an agent uses the directory.
pub(crate) const LOCK: &str = "lock";
/// The number of connections that were made.
pub(crate) const GENERATION: &str = "generation";
pub(crate) const KEY: &str = "key.pem";
pub(crate) const CERTIFICATE: &str = "certificate.pem";
pub(crate) const AUTHORITIES: &str = "authorities.pem";
pub(crate) const IDENTITY: &str = "identity.toml";
/// An enrolment that was begun.
pub(crate) const PENDING: &str = "pending.toml";
/// What the agent last wrote about its connection.
pub(crate) const STATUS: &str = "status.json";
pub(crate) const STATUS_NEW: &str = ".status.json.tmp";
/// The policy that the backend last sent.
pub(crate) const POLICY: &str = "policy.json";
/// The calls that were accepted, and their results. An agent has it from its first start on.
pub(crate) const JOURNAL: &str = "journal.log";
/// The journal while it is rewritten. It has the name of the journal with another ending.
pub(crate) const JOURNAL_NEW: &str = "journal.new";
/// The device's own audit.
pub(crate) const AUDIT: &str = "audit.jsonl";
pub(crate) const AUDIT_OLDER: &str = "audit.1.jsonl";
pub(crate) const AUDIT_NEW: &str = "audit.jsonl.new";
/// An audit that was damaged, or of the device that was here before, without the end of its name: `-2.jsonl`.
pub(crate) const AUDIT_DAMAGED: &str = "audit.damaged";
pub(crate) const AUDIT_BEFORE: &str = "audit.before";
/// What the owner answered.
pub(crate) const ANSWERS: &str = "consent.jsonl";
pub(crate) const ANSWERS_OLDER: &str = "consent.1.jsonl";
pub(crate) const PAUSE: &str = "paused.json";
/// The file that a watcher touches, and what the agent does while it is touched.
pub(crate) const WATCHED: &str = "watched";
pub(crate) const ACTIVITY: &str = "activity.json";
pub(crate) const ACTIVITY_NEW: &str = ".activity.json.tmp";
/// The file that ends an agent in the background, which only Windows needs.
pub(crate) const STOP: &str = "stop";

/// The folder of what calls deleted or changed.
pub(crate) const TRASH: &str = "trash";
/// The folder of the temporary files of programs.
pub(crate) const SCRATCH: &str = "scratch";
/// The folder of the questions to the owner.
pub(crate) const QUESTIONS: &str = "consent";
/// The folder of installed artifacts, and in it the one of a download.
pub(crate) const ARTIFACTS: &str = "artifacts";
pub(crate) const DOWNLOAD: &str = ".download";
