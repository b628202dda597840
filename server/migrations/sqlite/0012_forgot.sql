-- Until when what a device remembers is not what happened: its state was put back to an older one, or copied.
ALTER TABLE devices ADD COLUMN forgot_at INTEGER;

-- SHA-256 of the session or token that a call was made with: what waits is not made once that is good no longer.
ALTER TABLE calls ADD COLUMN token_hash BLOB;

-- How many calls of one person wait.
CREATE INDEX calls_queued_of_person ON calls (user_name) WHERE state = 'queued';
