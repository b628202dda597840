-- The model and the assistant that a chat goes on with. None where nobody chose one.
ALTER TABLE conversations ADD COLUMN model TEXT;
ALTER TABLE conversations ADD COLUMN assistant TEXT;

-- What each turn of a chat used of a model. Of a request under way the row holds the estimated input.
CREATE TABLE turns (
    id TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL REFERENCES conversations (id),
    user_name TEXT NOT NULL,
    -- The model that answered last.
    model TEXT NOT NULL,
    at INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    is_estimated INTEGER NOT NULL,
    -- In billionths of the currency.
    cost_nanos INTEGER NOT NULL
) STRICT;
CREATE INDEX turns_chat ON turns (conversation_id, at);
CREATE INDEX turns_person ON turns (user_name, at);
CREATE INDEX turns_day ON turns (at);
