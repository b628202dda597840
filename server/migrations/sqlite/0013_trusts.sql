-- The authorities that a device trusts, as it said when it last connected: the fingerprints of their
-- certificates, hexadecimal, with spaces between. Nothing where it never said so.
ALTER TABLE devices ADD COLUMN trusts TEXT;
