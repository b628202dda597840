-- Several calls that are shown together, approved as one and run in order.
CREATE TABLE plans (
    id TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    requester TEXT NOT NULL,
    role TEXT NOT NULL,
    hash BLOB NOT NULL,
    keep_going INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    decided_by TEXT,
    decided_at INTEGER,
    reason TEXT,
    -- Who asked for it to stop while it runs.
    stopped_by TEXT,
    ended_at INTEGER,
    -- Counts up with every change, for those who follow it.
    revision INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE INDEX plans_state ON plans (state, expires_at);
CREATE INDEX plans_requester ON plans (requester, id);

-- A step's call is on record from the moment on at which it is asked about or run.
CREATE TABLE plan_steps (
    plan_id TEXT NOT NULL REFERENCES plans (id),
    number INTEGER NOT NULL,
    call_id TEXT NOT NULL UNIQUE,
    device_id TEXT NOT NULL,
    device_name TEXT NOT NULL,
    tool TEXT NOT NULL,
    arguments BLOB NOT NULL,
    risk TEXT NOT NULL,
    touches_json TEXT NOT NULL,
    decision TEXT NOT NULL,
    rule TEXT NOT NULL,
    policy_version TEXT NOT NULL,
    preview BLOB,
    observed_json TEXT NOT NULL,
    -- The earlier step that changes what this one touches.
    after_number INTEGER,
    state TEXT NOT NULL,
    code TEXT,
    message TEXT NOT NULL DEFAULT '',
    began_at INTEGER,
    ended_at INTEGER,
    PRIMARY KEY (plan_id, number)
) STRICT;

-- The plan that a call or a question belongs to.
ALTER TABLE calls ADD COLUMN plan_id TEXT;
ALTER TABLE approvals ADD COLUMN plan_id TEXT;
CREATE INDEX approvals_plan ON approvals (plan_id, id) WHERE plan_id IS NOT NULL;
