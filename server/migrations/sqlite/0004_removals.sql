-- Accounts that were deleted stay, disabled: the audit log names them, and nobody is given their names again.
ALTER TABLE users ADD COLUMN deleted_at INTEGER;
-- Devices that are not listed any more. Their identity has ended; calls and the audit log name them.
ALTER TABLE devices ADD COLUMN removed_at INTEGER;
