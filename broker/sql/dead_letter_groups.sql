-- Group the dead letters that lie on a queue now, by what there is to mend.
--
-- Order    the largest group first.
-- Locks    none: looking changes nothing.
-- Index    none: it reads every dead letter.
-- Returns  the fields of broker.triage.Group.
SELECT dead.fingerprint, dead.pattern, dead.cause, dead.origin_queue, dead.queue_id,
    count(*), min(dead.died_at), max(dead.died_at), max(dead.resubmit_count),
    max(dead.message_id),
    coalesce(array_agg(DISTINCT dead.reason) FILTER (WHERE dead.reason > 0), '{}')
FROM broker_dead_letter AS dead
WHERE EXISTS (
    SELECT FROM broker_ready AS ready
    WHERE ready.queue_id = dead.queue_id
      AND ready.priority = ANY (ARRAY[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]::smallint[])
      AND ready.pos = ANY (ARRAY[
          dead.message_id, dead.message_id - 4611686018427387904]))
GROUP BY 1, 2, 3, 4, 5
ORDER BY 6 DESC, 1, 4, 3, 5;
