-- The authorities whose certificates count or have counted; `retired_at` is when one no longer did.
CREATE TABLE authorities (
    fingerprint TEXT PRIMARY KEY,
    trusted_at INTEGER NOT NULL,
    retired_at INTEGER
) STRICT;

-- Which authority signed a certificate, '' for those of before there could be two, and when a device
-- first connected with it.
ALTER TABLE certificates ADD COLUMN authority TEXT NOT NULL DEFAULT '';
ALTER TABLE certificates ADD COLUMN shown_at INTEGER;

CREATE INDEX devices_invite ON devices (invite_id);
