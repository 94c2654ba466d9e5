-- Find the source message of a message that a link transferred within this broker. One
-- transaction has the events of both; the event of the source names the copy.
--
-- Locks    none.
-- Index    broker_event_ids, broker_event_xid
-- Returns  the source message; no row if it is not in this broker.
SELECT source.ids[(
    SELECT place FROM jsonb_array_elements_text(source.detail -> 'copies')
        WITH ORDINALITY AS named (copy, place)
    WHERE copy = (%(message_id)s::bigint)::text LIMIT 1)]
FROM broker_event AS source
WHERE source.kind = 19
  AND source.xid = (
    SELECT xid FROM broker_event
    WHERE ids[1] <= %(message_id)s::bigint
      AND ids[cardinality(ids)] >= %(message_id)s::bigint
      AND ids @> ARRAY[%(message_id)s::bigint] AND kind = 19
    ORDER BY at, seq LIMIT 1)
  AND source.detail -> 'copies' @> to_jsonb(%(message_id)s::bigint);
