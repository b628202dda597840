-- Calls wait for devices that are away, and what is not known of a call is asked when its device is back.
ALTER TABLE calls ADD COLUMN queued_until INTEGER;

-- When what waits is over: by its own time, or by that of the yes that it has.
CREATE INDEX calls_queue_end ON calls (COALESCE(queued_until, deadline_at)) WHERE state = 'queued';
CREATE INDEX calls_queued_approved ON calls (approval_id)
    WHERE state = 'queued' AND approval_id IS NOT NULL;
CREATE INDEX calls_queued ON calls (device_id, id) WHERE state = 'queued';
CREATE INDEX calls_unsettled ON calls (device_id, id) WHERE state IN ('dispatched', 'running', 'unknown');
CREATE INDEX calls_open_or_unknown ON calls (id) WHERE closed_at IS NULL OR state = 'unknown';
