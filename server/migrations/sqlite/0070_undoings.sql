-- The calls that took a call back, by that call.
CREATE INDEX calls_undoing ON calls (json_extract(undo_json, '$.call'), id) WHERE undo_json IS NOT NULL;
