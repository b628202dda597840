-- Requests for access that a device's grants deny, and what admins granted of them. A granted one counts
-- until `granted_until`.
CREATE TABLE access_requests (
    id TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    requester TEXT NOT NULL,
    -- The denied call.
    call_id TEXT NOT NULL REFERENCES calls (id),
    device_id TEXT NOT NULL,
    device_name TEXT NOT NULL,
    grant_json TEXT NOT NULL,
    -- Of the device and the grant, whatever its end: what an admin is shown.
    digest BLOB NOT NULL,
    reason TEXT NOT NULL,
    -- For how long access is wanted.
    seconds INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    -- Until when an open request can be answered.
    expires_at INTEGER NOT NULL,
    decided_by TEXT,
    decided_at INTEGER,
    decision_reason TEXT,
    granted_until INTEGER,
    -- When something ends by itself: the request, or what was granted.
    due_at INTEGER GENERATED ALWAYS AS (COALESCE(granted_until, expires_at)) VIRTUAL
) STRICT;
CREATE INDEX access_requests_open ON access_requests (requester, expires_at) WHERE state = 'open';
CREATE INDEX access_requests_granted ON access_requests (device_id, granted_until) WHERE state = 'granted';
CREATE INDEX access_requests_current ON access_requests (id) WHERE state IN ('open', 'granted');
CREATE INDEX access_requests_person ON access_requests (requester, id);
CREATE INDEX access_requests_due ON access_requests (due_at) WHERE state IN ('open', 'granted');

-- Whether the approver's client showed the whole card. NULL where it does not say.
ALTER TABLE votes ADD COLUMN details_shown INTEGER;
-- How often a person approved lately, and everybody's habits.
CREATE INDEX votes_person ON votes (user_name, at);
CREATE INDEX votes_at ON votes (at);
