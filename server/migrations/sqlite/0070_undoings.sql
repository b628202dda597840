-- The undoings and redoings of a call, by that call.
CREATE INDEX calls_undoing ON calls (json_extract(undo_json, '$.first'), id) WHERE undo_json IS NOT NULL;
