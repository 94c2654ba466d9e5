-- Group the newest dead letters that are on some queues now, and died since a time.
--
-- Each letter is looked up by its whole key, the usual priority first: with less than the
-- key, the planner reads all of a table without statistics for each letter.
-- Order    the largest group first.
-- Locks    none: it only reads.
-- Index    broker_dead_letter_pkey, broker_ready_pkey
-- Returns  the fields of broker.monitoring.dead_letters.Growing.
SELECT fingerprint, pattern, origin_queue, queue_id, count(*), min(died_at), max(died_at)
FROM (
    SELECT * FROM broker_dead_letter ORDER BY message_id DESC LIMIT %(scan)s::bigint
) AS dead
WHERE died_at > coalesce(%(now)s::timestamptz, statement_timestamp()) - %(span)s::interval
  AND queue_id = ANY (%(within)b::integer[])
  AND (SELECT is_there
      FROM unnest(ARRAY[4, 0, 1, 2, 3, 5, 6, 7, 8, 9]::smallint[]) AS lane (priority),
          unnest(ARRAY[
              dead.message_id, dead.message_id - 4611686018427387904]) AS place (pos),
          LATERAL (
              SELECT true AS is_there FROM broker_ready
              WHERE queue_id = dead.queue_id AND priority = lane.priority
                AND pos = place.pos LIMIT 1) AS ready
      LIMIT 1)
GROUP BY 1, 2, 3, 4
ORDER BY 5 DESC, 1, 3, 4
LIMIT %(limit)s::bigint;
