-- Tasks: calls that are made at times to come. The id is that of the call that made the task.
CREATE TABLE schedules (
    id TEXT PRIMARY KEY,
    user_name TEXT NOT NULL,
    -- The role of that person then: no call of the task is made with a higher one.
    role TEXT NOT NULL,
    name TEXT NOT NULL,
    -- When the call is made, as the person wrote it.
    times TEXT NOT NULL,
    timezone TEXT NOT NULL,
    tool TEXT NOT NULL,
    device TEXT,
    arguments TEXT NOT NULL,
    -- Whether strangers may have written the task.
    tainted INTEGER NOT NULL,
    -- The API token that made the task, which ends with it. NULL for a task of a signed-in person.
    token_hash BLOB,
    created_at INTEGER NOT NULL,
    -- The next time. NULL where there is none.
    next_at INTEGER,
    -- The last time, and the id of the call that it makes.
    last_at INTEGER,
    last_call_id TEXT,
    -- When it made its last call or was cancelled, and by whom. NULL while it is active.
    ended_at INTEGER,
    ended_by TEXT
) STRICT;
CREATE INDEX schedules_due ON schedules (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX schedules_person ON schedules (user_name, id);
CREATE UNIQUE INDEX schedules_name ON schedules (user_name, name) WHERE ended_at IS NULL;

-- Calls that a person makes in order by one name.
CREATE TABLE macros (
    user_name TEXT NOT NULL,
    name TEXT NOT NULL,
    -- The calls and the names of the parameters, JSON.
    steps TEXT NOT NULL,
    parameters TEXT NOT NULL,
    -- Whether strangers may have written the calls.
    tainted INTEGER NOT NULL,
    saved_at INTEGER NOT NULL,
    PRIMARY KEY (user_name, name)
) STRICT;
