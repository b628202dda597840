-- Signed checkpoints over the audit's rows; `note` is the text that was signed.
CREATE TABLE audit_checkpoints (
    size INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    note TEXT NOT NULL
) STRICT;

-- One row: how far the tree over the audit's rows was grown and signed.
CREATE TABLE audit_tree (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    size INTEGER NOT NULL,
    hash BLOB NOT NULL,
    peaks BLOB NOT NULL
) STRICT;

-- Where each device's own chain was last seen to end, and what did not fit where something did not.
CREATE TABLE device_chains (
    device_id TEXT PRIMARY KEY REFERENCES devices (id),
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL,
    at INTEGER NOT NULL,
    problem TEXT NOT NULL DEFAULT '',
    problem_at INTEGER
) STRICT;
