-- Return the entries of one queue that are due to the head of their lanes.
WITH due AS (
    DELETE FROM lane_delayed WHERE ctid = ANY (ARRAY(
        SELECT one.ctid FROM lane_delayed AS one
        WHERE one.queue_id = (SELECT id FROM broker_queue WHERE name = %(queue)s::text)
          AND one.due_at <= statement_timestamp()
        ORDER BY one.due_at, one.id LIMIT %(limit)s::bigint FOR UPDATE SKIP LOCKED))
    RETURNING *
),
returned AS (
    INSERT INTO lane_entry SELECT queue_id, priority, xid, id, stored_under, backout_count,
        delivery_count FROM due
),
journal AS (
    INSERT INTO lane_event (at, queue_id, n, kind, came_from, went_to, ids)
    SELECT statement_timestamp(), queue_id, count(*), 6, 3, 1, array_agg(id)
    FROM due GROUP BY queue_id
)
SELECT count(*) FROM due;
