-- Add to the counts of a link, if this process still owns it (fence by epoch).
--
-- Locks    the row of the link, until this transaction ends: no other process can take
--          the link over before.
-- Index    broker_linkstatus_pkey
-- Returns  the database's time; no row if another process owns the link.
UPDATE broker_linkstatus
SET received = received + %(received)s::bigint,
    duplicates = duplicates + %(duplicates)s::bigint,
    looped = looped + %(looped)s::bigint,
    expired = expired + %(expired)s::bigint,
    transformed = transformed + %(transformed)s::bigint,
    not_transferred = not_transferred + %(not_transferred)s::bigint,
    branched = branched + %(branched)s::bigint,
    sent = sent + %(sent)s::bigint,
    dead = dead + %(dead)s::bigint,
    last_transfer_at = CASE WHEN %(sent)s::bigint > 0
        THEN %(now)s::timestamptz ELSE last_transfer_at END
WHERE link_id = %(link_id)s::bigint AND epoch = %(epoch)s::bigint
RETURNING statement_timestamp();
