-- Take the next entries of one queue, whose lock is held, into a unit of work.
--
-- Order    as in the broker's get.sql. Of new messages those come that were put by
--          transactions below the oldest open one: no more can appear before them.
-- Index    lane_cursor_pkey, lane_entry_pkey, lane_message_lane
WITH unit AS MATERIALIZED (
    SELECT work.id FROM broker_unit_of_work AS work WHERE work.id = in_uow FOR UPDATE
),
found AS MATERIALIZED (
    SELECT item.* FROM
        unnest('{9,8,7,6,5,4,3,2,1,0}'::smallint[]) WITH ORDINALITY AS lane (priority, n),
    LATERAL (
        (SELECT entry.row, entry.stored_under, entry.backout_count, entry.delivery_count,
            message.*
        FROM (
            SELECT ctid AS row, * FROM lane_entry AS back
            WHERE back.queue_id = lane_of AND back.priority = lane.priority
            ORDER BY back.xid, back.id LIMIT most FOR UPDATE SKIP LOCKED
        ) AS entry,
        LATERAL (
            SELECT * FROM lane_message AS one
            WHERE one.queue_id = entry.stored_under AND one.priority = entry.priority
              AND one.xid = entry.xid AND one.id = entry.id
              AND (one.expires_at IS NULL OR one.expires_at > statement_timestamp()) OFFSET 0
        ) AS message)
        UNION ALL
        (SELECT NULL, lane_of, 0, 0, one.* FROM lane_message AS one
        WHERE one.queue_id = lane_of AND one.priority = lane.priority
          AND (one.xid, one.id) > (place.xids[n], place.ids[n])
          AND one.xid >= least_xid AND one.xid < place.settled
          AND (one.expires_at IS NULL OR one.expires_at > statement_timestamp())
        ORDER BY one.xid, one.id LIMIT most)
    ) AS item
    WHERE CASE WHEN in_uow IS NULL
        THEN EXISTS (SELECT FROM broker_owner AS one WHERE one.id = owner)
        ELSE EXISTS (SELECT FROM unit) END
    LIMIT most
),
emptied AS (
    DELETE FROM lane_entry
    WHERE ctid = ANY (ARRAY(SELECT row FROM found WHERE row IS NOT NULL))
),
lasts AS (
    -- Rows of ``found`` are read in their order.
    SELECT priority, max(xid) AS xid, (array_agg(id))[count(*)] AS id
    FROM found WHERE row IS NULL GROUP BY priority
),
moved AS (
    UPDATE lane_cursor AS lane SET epoch = epoch + 1,
        xids = ARRAY(SELECT coalesce(lasts.xid, place.xids[n])
            FROM generate_series(1, 10) AS n LEFT JOIN lasts ON priority = 10 - n ORDER BY n),
        ids = ARRAY(SELECT coalesce(lasts.id, place.ids[n])
            FROM generate_series(1, 10) AS n LEFT JOIN lasts ON priority = 10 - n ORDER BY n)
    WHERE lane.ctid = place.row AND EXISTS (SELECT FROM lasts)
),
opened AS (
    INSERT INTO broker_unit_of_work (id, owner_id, started_at, deadline)
    SELECT nextval('broker_unit_of_work_id_seq'), owner, statement_timestamp(),
        statement_timestamp() + timeout
    WHERE in_uow IS NULL AND EXISTS (SELECT FROM found)
    RETURNING id
),
work AS MATERIALIZED (SELECT id FROM opened UNION ALL SELECT id FROM unit),
claimed AS (
    INSERT INTO lane_claim (uow, claim_id, queue_id, claimed_at, ids, xids, priorities,
        stored_under, backout_counts, delivery_counts)
    SELECT (SELECT id FROM work), first_claim + part::integer * 2 + (row IS NULL)::integer,
        lane_of, statement_timestamp(), array_agg(id), array_agg(xid), array_agg(priority),
        array_agg(stored_under) FILTER (WHERE row IS NOT NULL),
        array_agg(backout_count) FILTER (WHERE row IS NOT NULL),
        array_agg(delivery_count + 1) FILTER (WHERE row IS NOT NULL)
    FROM (SELECT *, (row_number() OVER () - 1) / 200 AS part FROM found) AS numbered
    GROUP BY part, row IS NULL
    RETURNING uow, ids, claimed_at
),
journal AS (
    INSERT INTO lane_event (at, uow, queue_id, n, kind, came_from, went_to, actor, ids)
    SELECT claimed_at, uow, lane_of, cardinality(ids), 2, 1, 2, actor, ids FROM claimed
)
SELECT (SELECT id FROM work), lane_of, id, backout_count, delivery_count + 1, priority,
    address, body, content_type, properties, message_id, correlation_id, reply_to, subject,
    group_id, producer, put_at, expires_at, xid, durable, descriptor, headers, envelope
FROM found
