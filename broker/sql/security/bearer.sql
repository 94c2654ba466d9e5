-- Find the valid credential with a secret, by its digest, and its user.
--
-- Locks    none.
-- Index    none: there are few credentials.
-- Returns  the fields of broker.security.credentials.CREDENTIAL, then those of user_of; no
--          row if the secret is unknown, revoked or expired, or its user is not active.
SELECT credential.id, credential.name, credential.user_id, credential.patterns,
    credential.may_get, credential.may_browse, credential.may_put,
    credential.expires_at, credential.last_used_at,
    account.id, account.is_superuser, account.username, account.is_active
FROM broker_credential AS credential
JOIN auth_user AS account ON account.id = credential.user_id
WHERE credential.secret_sha256 = %(digest)b::bytea
    AND credential.revoked_at IS NULL
    AND (credential.expires_at IS NULL OR credential.expires_at
        > coalesce(%(now)s::timestamptz, statement_timestamp()))
    AND account.is_active;
