-- Delete entries past their retention from the discard bin.
--
-- Order    the entry that is due for longest first.
-- Locks    the entries of the bin; entries locked by another transaction are skipped.
-- Index    broker_discarded_due
-- Returns  the message ids of the deleted entries.
DELETE FROM broker_discarded
WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM broker_discarded
    WHERE keep_until <= coalesce(%(now)s::timestamptz, statement_timestamp())
    ORDER BY keep_until
    LIMIT %(limit)s::bigint
    FOR UPDATE SKIP LOCKED
))
RETURNING message_id;
