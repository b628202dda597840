-- Previews that the backend made for itself, so that people see what a call would do: nobody asked for them.
ALTER TABLE calls ADD COLUMN is_own_preview INTEGER NOT NULL DEFAULT 0;
