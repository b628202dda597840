-- Every version of the policy file that ever held; the last one holds.
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

-- Devices that are not held strictly for a while. A row goes when its time is over.
CREATE TABLE device_modes (
    device_id TEXT PRIMARY KEY REFERENCES devices (id),
    until INTEGER NOT NULL,
    set_by TEXT NOT NULL,
    set_at INTEGER NOT NULL,
    reason TEXT NOT NULL
) STRICT;
