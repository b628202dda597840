-- Why a device waits for an admin although its token approves devices.
ALTER TABLE devices ADD COLUMN pending_reason TEXT;
