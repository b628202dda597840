-- Which devices may use a token: its platforms and networks, JSON. An empty list is no restriction.
ALTER TABLE invites ADD COLUMN scope_json TEXT NOT NULL DEFAULT '{"platforms":[],"networks":[]}';
