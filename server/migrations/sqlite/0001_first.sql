-- Times are Unix milliseconds; ids are text; digests are 32 bytes; columns named `*_json` and
-- `history` hold JSON text. Booleans are 0 and 1.

CREATE TABLE audit (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    call_id TEXT NOT NULL,
    body TEXT NOT NULL,
    prev_hash BLOB NOT NULL,
    hash BLOB NOT NULL
) STRICT;
CREATE INDEX audit_call ON audit (call_id) WHERE call_id <> '';

-- One row: where the chain ends. Without it, nothing would miss rows that were cut off the end before they
-- were signed. Every commit with entries moves it, from where they were linked to.
CREATE TABLE audit_head (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL
) STRICT;
INSERT INTO audit_head (id, seq, hash) VALUES (1, 0, zeroblob(32));

-- Signed checkpoints over the audit's rows; `note` is the text that was signed.
CREATE TABLE audit_checkpoints (
    size INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    note TEXT NOT NULL
) STRICT;

-- One row: how far the tree over the audit's rows was extended and signed.
CREATE TABLE audit_tree (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    size INTEGER NOT NULL,
    hash BLOB NOT NULL,
    peaks BLOB NOT NULL
) STRICT;

-- Accounts that are disabled stay: the audit names them.
CREATE TABLE users (
    name TEXT PRIMARY KEY,
    role TEXT NOT NULL,
    password_hash TEXT,
    created_at INTEGER NOT NULL,
    disabled_at INTEGER
) STRICT;

-- A row is a session (`scopes` is 'session') or an API token (`scopes` lists what it is good for,
-- `name` is what its person calls it). `seq` orders tokens of the same millisecond.
CREATE TABLE tokens (
    seq INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    user_name TEXT NOT NULL REFERENCES users (name),
    scopes TEXT NOT NULL,
    name TEXT NOT NULL DEFAULT '',
    created_by TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    last_used_at INTEGER
) STRICT;
CREATE INDEX tokens_user ON tokens (user_name);
CREATE UNIQUE INDEX tokens_name ON tokens (user_name, name) WHERE scopes <> 'session';

-- The names that people gave to a tool with some of its arguments.
CREATE TABLE aliases (
    user_name TEXT NOT NULL REFERENCES users (name),
    name TEXT NOT NULL,
    tool TEXT NOT NULL,
    -- A JSON object.
    arguments TEXT NOT NULL,
    set_at INTEGER NOT NULL,
    PRIMARY KEY (user_name, name)
) STRICT;

-- What people keep for later chats. The id is that of the call that wrote it. A memory is untrusted where
-- strangers may have written its text.
CREATE TABLE memories (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    user_name TEXT NOT NULL REFERENCES users (name),
    text TEXT NOT NULL,
    -- JSON, a list of texts.
    tags TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    untrusted INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX memories_person ON memories (user_name, seq);

-- The words of the memories; each row has the number of its memory.
CREATE VIRTUAL TABLE memories_words USING fts5 (text, tags, tokenize = 'porter unicode61 remove_diacritics 2');

-- What calls on the backend have changed, stored with the change, until the end of the call is stored.
CREATE TABLE local_effects (
    call_id TEXT PRIMARY KEY,
    -- The message and the data of the result, JSON.
    outcome TEXT NOT NULL
) STRICT;

CREATE TABLE invites (
    id TEXT PRIMARY KEY,
    secret_hash BLOB NOT NULL,
    device_name TEXT,
    uses_left INTEGER NOT NULL CHECK (uses_left >= 0),
    preapproved INTEGER NOT NULL,
    grants_json TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;

CREATE TABLE devices (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    os TEXT NOT NULL,
    hostname TEXT NOT NULL,
    agent_version TEXT,
    public_key_fingerprint TEXT NOT NULL,
    fingerprint_words TEXT NOT NULL,
    certificate_request TEXT NOT NULL,
    certificate_serial TEXT,
    certificate_not_after INTEGER,
    generation INTEGER NOT NULL,
    facts_json TEXT,
    ceiling_json TEXT,
    grants_json TEXT NOT NULL,
    policy_version TEXT,
    acknowledged_version TEXT,
    -- How the device differs from what its policy names, as it reported with the version that it
    -- acknowledged: JSON.
    policy_findings_json TEXT NOT NULL DEFAULT '[]',
    -- The fingerprints of the authorities that the device trusts, as it reported when it last connected:
    -- hexadecimal, separated by spaces. None where it never did.
    trusts TEXT,
    ticket_hash BLOB,
    invite_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_seen_at INTEGER,
    -- Until when what a device remembers is not what happened: its state was put back to an older one, or
    -- copied.
    forgot_at INTEGER
) STRICT;
-- A name is free again once its device's identity has ended.
CREATE UNIQUE INDEX devices_name ON devices (name) WHERE state NOT IN ('rejected', 'revoked');
-- All that ever had a name, and those that wait for an admin.
CREATE INDEX devices_ever_named ON devices (name, created_at);
CREATE INDEX devices_pending ON devices (name, created_at) WHERE state = 'pending';
CREATE INDEX devices_key ON devices (public_key_fingerprint);
CREATE INDEX devices_invite ON devices (invite_id);

-- Devices in the mode `dangerous`. A row is deleted when its time is over.
CREATE TABLE device_modes (
    device_id TEXT PRIMARY KEY REFERENCES devices (id),
    until INTEGER NOT NULL,
    set_by TEXT NOT NULL,
    set_at INTEGER NOT NULL,
    reason TEXT NOT NULL
) STRICT;

-- Where each device's own chain was last seen to end, and what did not match where something did not.
CREATE TABLE device_chains (
    device_id TEXT PRIMARY KEY REFERENCES devices (id),
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL,
    at INTEGER NOT NULL,
    problem TEXT NOT NULL DEFAULT '',
    problem_at INTEGER
) STRICT;

-- `authority` signed the certificate; `shown_at` is when its device first connected with it.
CREATE TABLE certificates (
    serial TEXT PRIMARY KEY,
    device_id TEXT NOT NULL REFERENCES devices (id),
    authority TEXT NOT NULL DEFAULT '',
    issued_at INTEGER NOT NULL,
    not_after INTEGER NOT NULL,
    shown_at INTEGER
) STRICT;
CREATE INDEX certificates_device ON certificates (device_id, serial);
CREATE INDEX certificates_end ON certificates (not_after);

-- The authorities that are or were trusted.
CREATE TABLE authorities (
    fingerprint TEXT PRIMARY KEY,
    trusted_at INTEGER NOT NULL,
    retired_at INTEGER
) STRICT;

-- Every version of the policy file; the last one is active.
CREATE TABLE policies (
    version INTEGER PRIMARY KEY,
    text TEXT NOT NULL,
    sha256 BLOB NOT NULL,
    applied_by TEXT NOT NULL,
    applied_at INTEGER NOT NULL,
    note TEXT NOT NULL,
    -- The version whose text this is again, where it was rolled back to.
    restores INTEGER
) STRICT;

CREATE TABLE conversations (
    id TEXT PRIMARY KEY,
    user_name TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE messages (
    seq INTEGER PRIMARY KEY,
    conversation_id TEXT NOT NULL REFERENCES conversations (id),
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'tool')),
    content_json TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX messages_conversation ON messages (conversation_id, seq);

-- Where untrusted content came into a chat; the newest fifty of each kind, and the newest of each device.
CREATE TABLE content_labels (
    seq INTEGER PRIMARY KEY,
    conversation_id TEXT NOT NULL REFERENCES conversations (id),
    call_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    device TEXT NOT NULL,
    place TEXT NOT NULL,
    -- Whether the device's own agent wrote it.
    is_own INTEGER NOT NULL,
    -- Digests of the calls that occur in it, JSON: it is searched once, when it comes.
    calls TEXT NOT NULL DEFAULT '[]',
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX content_labels_chat ON content_labels (conversation_id, seq);

CREATE TABLE calls (
    id TEXT PRIMARY KEY,
    user_name TEXT NOT NULL,
    role TEXT NOT NULL,
    -- SHA-256 of the session or token that the call was made with.
    token_hash BLOB,
    conversation_id TEXT,
    plan_id TEXT,
    device_id TEXT,
    device_name TEXT,
    tool TEXT NOT NULL,
    -- With digests in the places of secrets. The secrets are JSON, and gone when the call has ended.
    arguments BLOB NOT NULL,
    secrets TEXT,
    arguments_digest BLOB NOT NULL,
    dry_run INTEGER NOT NULL,
    -- Whether the backend made it for itself, as the preview of another call.
    is_own_preview INTEGER NOT NULL DEFAULT 0,
    recovered INTEGER NOT NULL,
    -- Whether untrusted content was in the chat, and whether the call occurs in it.
    tainted INTEGER NOT NULL DEFAULT 0,
    quoted INTEGER NOT NULL DEFAULT 0,
    touches_json TEXT NOT NULL,
    decision TEXT NOT NULL,
    rule TEXT NOT NULL,
    policy_version TEXT NOT NULL,
    risk TEXT,
    undo_json TEXT,
    has_effects INTEGER NOT NULL,
    state TEXT NOT NULL,
    history TEXT NOT NULL,
    idempotency_key TEXT,
    approval_id TEXT,
    deadline_at INTEGER NOT NULL,
    -- Until when it may wait for a device that is not connected.
    queued_until INTEGER,
    created_at INTEGER NOT NULL,
    -- When it was first sent to its device.
    admitted_at INTEGER,
    -- When a person first asked to cancel it.
    cancel_requested_at INTEGER,
    code TEXT,
    result BLOB,
    result_digest BLOB,
    duration_us INTEGER,
    closed_at INTEGER,
    -- Whether its device itself does not know the outcome: that report is final.
    device_reported_unknown INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX calls_idempotency ON calls (user_name, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
-- Calls that have no known end: few.
CREATE INDEX calls_current ON calls (device_id, id) WHERE closed_at IS NULL OR state = 'unknown';
-- For lists of calls: one device's, which also say whose they are, and one person's.
CREATE INDEX calls_of_device ON calls (device_id, id, user_name, dry_run);
CREATE INDEX calls_of_person ON calls (user_name, id, dry_run);
-- For rules with a limit.
CREATE INDEX calls_counted ON calls (user_name, device_id, admitted_at)
    WHERE admitted_at IS NOT NULL AND NOT dry_run;
-- When a queued call's time is over: by its own time, or by that of its approval.
CREATE INDEX calls_queue_end ON calls (COALESCE(queued_until, deadline_at)) WHERE state = 'queued';
CREATE INDEX calls_queued_approved ON calls (approval_id)
    WHERE state = 'queued' AND approval_id IS NOT NULL;
-- How many calls are queued for a device and of a person, and the next ones.
CREATE INDEX calls_queued ON calls (device_id, id) WHERE state = 'queued';
CREATE INDEX calls_queued_of_person ON calls (user_name) WHERE state = 'queued';

-- What an approval request needs beside one approval, and what its card shows. A request to which a standing
-- approval applies names it in `standing_id`.
CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    call_id TEXT NOT NULL REFERENCES calls (id),
    plan_id TEXT,
    state TEXT NOT NULL,
    binding BLOB NOT NULL,
    tool TEXT NOT NULL,
    device_id TEXT NOT NULL,
    device_name TEXT NOT NULL,
    arguments BLOB NOT NULL,
    risk TEXT NOT NULL,
    touches_json TEXT NOT NULL,
    rule TEXT NOT NULL,
    requester TEXT NOT NULL,
    -- Who wrote the arguments, where an approver changed the original call.
    written_by TEXT,
    conversation_id TEXT,
    approver_role TEXT NOT NULL,
    approver_count INTEGER NOT NULL DEFAULT 1,
    not_requester INTEGER NOT NULL DEFAULT 0,
    second_if_any INTEGER NOT NULL DEFAULT 0,
    reason_required INTEGER NOT NULL DEFAULT 0,
    may_stand INTEGER NOT NULL DEFAULT 0,
    standing_id TEXT,
    card_json TEXT NOT NULL DEFAULT '{}',
    preview BLOB,
    -- What the preview observed of each path, which must still be so when the call runs.
    observed_json TEXT NOT NULL DEFAULT '[]',
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    decided_by TEXT,
    decided_at INTEGER,
    reason TEXT,
    consumed_at INTEGER
) STRICT;
CREATE INDEX approvals_open ON approvals (expires_at) WHERE state = 'open';
CREATE INDEX approvals_call ON approvals (call_id);
CREATE INDEX approvals_plan ON approvals (plan_id, id) WHERE plan_id IS NOT NULL;

CREATE TABLE votes (
    approval_id TEXT NOT NULL REFERENCES approvals (id),
    user_name TEXT NOT NULL,
    role TEXT NOT NULL,
    yes INTEGER NOT NULL,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (approval_id, user_name)
) STRICT;

-- Approvals of one person's calls of one tool on one device from one chat; each has the id of the request
-- that it was given to.
CREATE TABLE standing_answers (
    id TEXT PRIMARY KEY REFERENCES approvals (id),
    requester TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    device_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    -- What asked: the same policy, by the same line.
    policy_version TEXT NOT NULL,
    rule TEXT NOT NULL,
    given_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX standing_answers_chat ON standing_answers (conversation_id, device_id, tool, created_at);

-- Rules that people made of an approval; each has the id of the request that it was given to.
CREATE TABLE standing_rules (
    id TEXT PRIMARY KEY,
    device_id TEXT NOT NULL,
    device_name TEXT NOT NULL,
    rule_json TEXT NOT NULL,
    made_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    revoked_at INTEGER,
    revoked_by TEXT
) STRICT;
CREATE INDEX standing_rules_end ON standing_rules (expires_at) WHERE revoked_at IS NULL;
CREATE INDEX standing_rules_device ON standing_rules (device_id, expires_at) WHERE revoked_at IS NULL;

-- Several calls that are shown together, approved as one and run in order.
CREATE TABLE plans (
    id TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    requester TEXT NOT NULL,
    role TEXT NOT NULL,
    hash BLOB NOT NULL,
    keep_going INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    decided_by TEXT,
    decided_at INTEGER,
    reason TEXT,
    -- Who asked for it to stop while it runs.
    stopped_by TEXT,
    ended_at INTEGER,
    -- Increases with every change, for those who follow it.
    revision INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE INDEX plans_state ON plans (state, expires_at);
CREATE INDEX plans_requester ON plans (requester, id);

-- A step's call is stored once it needs approval or runs.
CREATE TABLE plan_steps (
    plan_id TEXT NOT NULL REFERENCES plans (id),
    number INTEGER NOT NULL,
    call_id TEXT NOT NULL UNIQUE,
    device_id TEXT NOT NULL,
    device_name TEXT NOT NULL,
    tool TEXT NOT NULL,
    arguments BLOB NOT NULL,
    risk TEXT NOT NULL,
    touches_json TEXT NOT NULL,
    decision TEXT NOT NULL,
    rule TEXT NOT NULL,
    policy_version TEXT NOT NULL,
    preview BLOB,
    observed_json TEXT NOT NULL,
    -- What a step was shown with and earlier steps change, with the first that does: JSON.
    earlier_json TEXT NOT NULL DEFAULT 'null',
    -- The earlier step that changes what this one touches.
    after_number INTEGER,
    state TEXT NOT NULL,
    code TEXT,
    message TEXT NOT NULL DEFAULT '',
    began_at INTEGER,
    ended_at INTEGER,
    PRIMARY KEY (plan_id, number)
) STRICT;

-- Which calls are stopped: while a row covers a call, the call does not run.
CREATE TABLE stops (
    -- Whose calls. Empty for everybody's.
    user_name TEXT NOT NULL,
    -- On which device. Empty for every device and the backend.
    device_id TEXT NOT NULL,
    device_name TEXT NOT NULL,
    stopped_by TEXT NOT NULL,
    stopped_at INTEGER NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (user_name, device_id)
) STRICT;

-- The tools that devices define. A definition is unusable until an admin has approved exactly it.
CREATE TABLE custom_tools (
    device_id TEXT NOT NULL REFERENCES devices (id),
    name TEXT NOT NULL,
    -- Canonical JSON, and its SHA-256.
    definition BLOB NOT NULL,
    digest BLOB NOT NULL,
    state TEXT NOT NULL,
    -- The risk that an admin gave it; empty until then.
    risk TEXT NOT NULL DEFAULT '',
    -- Whether the device has it now.
    is_announced INTEGER NOT NULL,
    announced_at INTEGER NOT NULL,
    decided_by TEXT NOT NULL DEFAULT '',
    decided_at INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (device_id, name)
) STRICT;
