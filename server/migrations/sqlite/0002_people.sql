-- Accounts that are disabled stay on record: the audit names them.
ALTER TABLE users ADD COLUMN disabled_at INTEGER;

-- A row is a session (`scopes` is 'session') or an API token (`scopes` lists what it is good for,
-- `name` says what its person calls it).
ALTER TABLE tokens ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN created_by TEXT;
ALTER TABLE tokens ADD COLUMN last_used_at INTEGER;
CREATE UNIQUE INDEX tokens_name ON tokens (user_name, name) WHERE scopes <> 'session';
