-- What a device found beside what its policy names, as it said when it acknowledged the version: JSON.
ALTER TABLE devices ADD COLUMN policy_findings_json TEXT NOT NULL DEFAULT '[]';
