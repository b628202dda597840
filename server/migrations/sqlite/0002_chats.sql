-- Whether a language model has taken part. Of the chats before this version nobody knows.
ALTER TABLE conversations ADD COLUMN has_language_model INTEGER NOT NULL DEFAULT 1;

-- When its newest message was written.
ALTER TABLE conversations ADD COLUMN last_at INTEGER NOT NULL DEFAULT 0;
UPDATE conversations SET last_at = COALESCE(
    (SELECT MAX(at) FROM messages WHERE conversation_id = conversations.id), created_at);
CREATE INDEX conversations_person ON conversations (user_name, last_at);

-- The turn that the message belongs to.
ALTER TABLE messages ADD COLUMN turn_id TEXT;

-- The turn of the chat that the call was made in: one message of a person, with all that followed from it.
ALTER TABLE calls ADD COLUMN turn_id TEXT;
-- Why untrusted content in the chat raises the call, as far as the call alone does not show it: JSON.
ALTER TABLE calls ADD COLUMN content_raises TEXT;
CREATE INDEX calls_turn ON calls (turn_id, id) WHERE turn_id IS NOT NULL;
