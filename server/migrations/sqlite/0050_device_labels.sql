-- The labels that are stored with devices, and those that a token gives to the devices which use it: JSON.
ALTER TABLE invites ADD COLUMN labels_json TEXT NOT NULL DEFAULT '{}';
ALTER TABLE devices ADD COLUMN labels_json TEXT NOT NULL DEFAULT '{}';
-- The tokens with labels, by their end.
CREATE INDEX invites_labelled ON invites (expires_at) WHERE labels_json <> '{}';
