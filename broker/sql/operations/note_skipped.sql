-- Store in the ledger why items were skipped.
--
-- Locks    the items.
-- Index    broker_operationitem_pkey
-- Returns  the number of items.
WITH noted AS (
    UPDATE broker_operationitem AS item SET status = 'skipped', note = why.note
    FROM unnest(%(ids)b::bigint[], %(notes)b::text[]) AS why (id, note)
    WHERE item.id = why.id
    RETURNING 1
)
SELECT count(*) FROM noted;
