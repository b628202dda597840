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

-- One row: where the chain ends.
CREATE TABLE audit_head (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL
) STRICT;
INSERT INTO audit_head (id, seq, hash) VALUES (1, 0, zeroblob(32));
CREATE TRIGGER audit_grows AFTER INSERT ON audit BEGIN
    UPDATE audit_head SET seq = new.seq, hash = new.hash;
END;

CREATE TABLE users (
    name TEXT PRIMARY KEY,
    role TEXT NOT NULL,
    password_hash TEXT,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE tokens (
    hash BLOB PRIMARY KEY,
    user_name TEXT NOT NULL REFERENCES users (name),
    scopes TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX tokens_user ON tokens (user_name);

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
    ticket_hash BLOB,
    invite_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_seen_at INTEGER
) STRICT;
-- A name is free again once its device's identity has ended.
CREATE UNIQUE INDEX devices_name ON devices (name) WHERE state NOT IN ('rejected', 'revoked');
-- All that ever bore a name, and those that wait for an admin.
CREATE INDEX devices_ever_named ON devices (name, created_at);
CREATE INDEX devices_pending ON devices (name, created_at) WHERE state = 'pending';
CREATE INDEX devices_key ON devices (public_key_fingerprint);

CREATE TABLE certificates (
    serial TEXT PRIMARY KEY,
    device_id TEXT NOT NULL REFERENCES devices (id),
    issued_at INTEGER NOT NULL,
    not_after INTEGER NOT NULL
) STRICT;
CREATE INDEX certificates_device ON certificates (device_id, serial);
CREATE INDEX certificates_end ON certificates (not_after);

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

CREATE TABLE calls (
    id TEXT PRIMARY KEY,
    user_name TEXT NOT NULL,
    role TEXT NOT NULL,
    conversation_id TEXT,
    device_id TEXT,
    device_name TEXT,
    tool TEXT NOT NULL,
    arguments BLOB NOT NULL,
    arguments_digest BLOB NOT NULL,
    dry_run INTEGER NOT NULL,
    recovered INTEGER NOT NULL,
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
    deadline_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    approval_id TEXT,
    code TEXT,
    result BLOB,
    result_digest BLOB,
    duration_us INTEGER,
    closed_at INTEGER
) STRICT;
CREATE UNIQUE INDEX calls_idempotency ON calls (user_name, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE INDEX calls_open ON calls (device_id, id) WHERE closed_at IS NULL;
-- For lists of calls: one device's, which also say whose they are, and one person's.
CREATE INDEX calls_of_device ON calls (device_id, id, user_name, dry_run);
CREATE INDEX calls_of_person ON calls (user_name, id, dry_run);
CREATE INDEX calls_made ON calls (id) WHERE dry_run = 0;

CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    call_id TEXT NOT NULL REFERENCES calls (id),
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
    approver_role TEXT NOT NULL,
    preview BLOB,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    decided_by TEXT,
    decided_at INTEGER,
    reason TEXT,
    consumed_at INTEGER
) STRICT;
CREATE INDEX approvals_open ON approvals (expires_at) WHERE state = 'open';
CREATE INDEX approvals_call ON approvals (call_id);
