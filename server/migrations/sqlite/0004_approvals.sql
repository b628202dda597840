-- What a question needs beside one yes, and what its card shows. A question on which the yes of a
-- standing answer holds names it in `standing_id`.
ALTER TABLE approvals ADD COLUMN approver_count INTEGER NOT NULL DEFAULT 1;
ALTER TABLE approvals ADD COLUMN not_requester INTEGER NOT NULL DEFAULT 0;
ALTER TABLE approvals ADD COLUMN second_if_any INTEGER NOT NULL DEFAULT 0;
ALTER TABLE approvals ADD COLUMN reason_required INTEGER NOT NULL DEFAULT 0;
ALTER TABLE approvals ADD COLUMN may_stand INTEGER NOT NULL DEFAULT 0;
ALTER TABLE approvals ADD COLUMN conversation_id TEXT;
ALTER TABLE approvals ADD COLUMN card_json TEXT NOT NULL DEFAULT '{}';
ALTER TABLE approvals ADD COLUMN standing_id TEXT;
-- What the preview observed of each path, which must still be so when the call runs.
ALTER TABLE approvals ADD COLUMN observed_json TEXT NOT NULL DEFAULT '[]';
-- Who wrote the arguments, where an approver changed the call that was asked for.
ALTER TABLE approvals ADD COLUMN written_by TEXT;

CREATE TABLE votes (
    approval_id TEXT NOT NULL REFERENCES approvals (id),
    user_name TEXT NOT NULL,
    role TEXT NOT NULL,
    yes INTEGER NOT NULL,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (approval_id, user_name)
) STRICT;

-- A yes for one person's calls of one tool on one device from one chat; named by the approval that
-- it was given to.
CREATE TABLE standing_answers (
    id TEXT PRIMARY KEY REFERENCES approvals (id),
    requester TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    device_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    -- What asked: the same policy, by the same line.
    policy_version TEXT NOT NULL,
    rule TEXT NOT NULL,
    given_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX standing_answers_chat ON standing_answers (conversation_id, device_id, tool, created_at);

-- Rules that people made of an answer; named by the approval that it was given to.
CREATE TABLE standing_rules (
    id TEXT PRIMARY KEY,
    device_id TEXT NOT NULL,
    device_name TEXT NOT NULL,
    rule_json TEXT NOT NULL,
    made_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    revoked_at INTEGER,
    revoked_by TEXT
) STRICT;
CREATE INDEX standing_rules_end ON standing_rules (expires_at) WHERE revoked_at IS NULL;
CREATE INDEX standing_rules_device ON standing_rules (device_id, expires_at) WHERE revoked_at IS NULL;

-- Where content that strangers may have written came into a chat; the newest fifty of each
-- kind, and the newest of each device.
CREATE TABLE content_labels (
    seq INTEGER PRIMARY KEY,
    conversation_id TEXT NOT NULL REFERENCES conversations (id),
    call_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    device TEXT NOT NULL,
    place TEXT NOT NULL,
    -- Whether only the device itself speaks there.
    is_own INTEGER NOT NULL,
    -- Digests of the calls that stand in it, JSON: it is searched once, when it comes.
    calls TEXT NOT NULL DEFAULT '[]',
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX content_labels_chat ON content_labels (conversation_id, seq);

-- Whether such content was in the chat, and whether the call stood in it.
ALTER TABLE calls ADD COLUMN tainted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE calls ADD COLUMN quoted INTEGER NOT NULL DEFAULT 0;
-- When it was first sent to its device; none for what never was.
ALTER TABLE calls ADD COLUMN admitted_at INTEGER;
UPDATE calls SET admitted_at = created_at
    WHERE state NOT IN ('received', 'denied', 'awaiting_approval');
CREATE INDEX calls_counted ON calls (user_name, device_id, admitted_at);
