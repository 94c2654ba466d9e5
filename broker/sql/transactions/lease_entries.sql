-- Read the entries that a unit of work holds, and whether their messages ask for a
-- confirmation of delivery.
--
-- Locks    none.
-- Index    broker_claim_pkey, broker_message_pkey
-- Returns  for each entry, in the order of the gets, the id of its message, and whether the
--          report options in its descriptor have one of MQRO_COD's bits.
SELECT entry.id, EXISTS (
    SELECT FROM broker_message AS message
    WHERE message.id = entry.id AND CASE jsonb_typeof(message.descriptor->'report')
        WHEN 'number' THEN (message.descriptor->'report')::numeric::bigint & 14336 <> 0
        ELSE false END)
FROM broker_claim AS claim, unnest(claim.ids) WITH ORDINALITY AS entry (id, place)
WHERE claim.uow = %(uow)s::bigint
ORDER BY claim.claim_id, entry.place;
