-- What a step was shown with and earlier steps change, with the first that does: JSON.
ALTER TABLE plan_steps ADD COLUMN earlier_json TEXT NOT NULL DEFAULT 'null';
