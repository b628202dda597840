-- Who withdrew a token, and when. Its uses are zero from then on.
ALTER TABLE invites ADD COLUMN revoked_at INTEGER;
ALTER TABLE invites ADD COLUMN revoked_by TEXT;
-- The tokens that devices can still use, those that end first before others.
CREATE INDEX invites_open ON invites (expires_at, id) WHERE uses_left > 0;
