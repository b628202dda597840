-- Calls wait for devices that are away, and what is not known of a call is asked when its device is back.
ALTER TABLE calls ADD COLUMN queued_until INTEGER;

CREATE INDEX calls_queued ON calls (device_id, id) WHERE state = 'queued';
CREATE INDEX calls_unsettled ON calls (device_id, id) WHERE state IN ('dispatched', 'running', 'unknown');
CREATE INDEX calls_open_or_unknown ON calls (id) WHERE closed_at IS NULL OR state = 'unknown';
