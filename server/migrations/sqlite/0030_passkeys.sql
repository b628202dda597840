-- The passkeys with which people sign approvals: public keys alone.
CREATE TABLE passkeys (
    -- The id of the credential, base64url.
    id TEXT PRIMARY KEY,
    user_name TEXT NOT NULL,
    name TEXT NOT NULL,
    -- The number of the algorithm in the COSE registry.
    algorithm INTEGER NOT NULL,
    public_key BLOB NOT NULL,
    -- The name of the page to which the passkey is bound.
    relying_party TEXT NOT NULL,
    -- How often it signed. 0 where it does not count.
    sign_count INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER
) STRICT;
CREATE INDEX passkeys_person ON passkeys (user_name, created_at, id);

-- Whether each approver must sign, and with which passkey a vote was signed.
ALTER TABLE approvals ADD COLUMN passkey_required INTEGER NOT NULL DEFAULT 0;
ALTER TABLE votes ADD COLUMN passkey_id TEXT;
