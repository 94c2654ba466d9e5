-- Freeze the dead letters that an operation resubmits: those that match, lie on their
-- queue now, and have a queue to go back to.
--
-- Order    the order of arrival on the dead letter queue.
-- Locks    none.
-- Index    none: it reads every dead letter.
-- Returns  how many.
WITH planned AS (
    INSERT INTO broker_operationitem (operation_id, queue_id, message_id, target)
    SELECT %(operation_id)s::bigint, dead.queue_id, dead.message_id, dead.origin_queue
    FROM broker_dead_letter AS dead
    JOIN broker_queue AS origin ON origin.name = dead.origin_queue
    WHERE dead.fingerprint = coalesce(%(fingerprint)s::text, dead.fingerprint)
      AND dead.origin_queue = coalesce(%(origin_queue)s::text, dead.origin_queue)
      AND dead.cause = coalesce(%(cause)s::text, dead.cause)
      AND dead.queue_id = coalesce(%(queue_id)s::integer, dead.queue_id)
      AND (%(within)s::integer[] IS NULL OR dead.queue_id = ANY (%(within)s::integer[]))
      AND (%(message_id)s::bigint IS NULL OR dead.message_id = %(message_id)s::bigint)
      AND EXISTS (
          SELECT FROM broker_ready AS ready
          WHERE ready.queue_id = dead.queue_id
            AND ready.priority = ANY (ARRAY[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]::smallint[])
            AND ready.pos = ANY (ARRAY[
                dead.message_id, dead.message_id - 4611686018427387904]))
    ORDER BY dead.message_id
    RETURNING id
)
SELECT count(*) FROM planned;
