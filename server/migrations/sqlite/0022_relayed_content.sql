-- The content itself, where it is no result of a call: what a client of the API reported.
ALTER TABLE content_labels ADD COLUMN content TEXT;

-- Until now such content counted while its message was among the newest of its chat.
INSERT INTO content_labels (conversation_id, call_id, tool, device, place, is_own, at, content)
SELECT conversation_id, '00000000-0000-0000-0000-000000000000', 'earlier messages', 'the API''s client',
    '', 0, at, json_extract(content_json, '$.content')
FROM messages WHERE role = 'assistant' AND content_json LIKE '%"relayed":true%' ORDER BY seq;
