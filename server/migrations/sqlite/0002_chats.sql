-- Whether a language model has taken part. Of the chats before this version nobody knows.
ALTER TABLE conversations ADD COLUMN has_language_model INTEGER NOT NULL DEFAULT 1;

-- The turn of the chat that the call was made in: one message of a person, with all that followed from it.
ALTER TABLE calls ADD COLUMN turn_id TEXT;
-- Why untrusted content in the chat raises the call, as far as the call alone does not show it: JSON.
ALTER TABLE calls ADD COLUMN content_raises TEXT;
CREATE INDEX calls_turn ON calls (turn_id, id) WHERE turn_id IS NOT NULL;
-- For the list of a person's chats.
CREATE INDEX conversations_person ON conversations (user_name, id);
