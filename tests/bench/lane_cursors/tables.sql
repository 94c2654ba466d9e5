-- Tables of the other storage: messages are delivered from their own table by a cursor for
-- each lane. Queues, addresses, owners and units of work are the broker's own.

-- Partitioned by the transaction that put the message, because the cursor goes by it.
CREATE TABLE lane_message (
    xid bigint NOT NULL,
    queue_id integer NOT NULL,  -- 0: on no lane; it came delayed
    LIKE broker_message INCLUDING CONSTRAINTS
) PARTITION BY RANGE (xid);
CREATE INDEX lane_message_lane ON lane_message (queue_id, priority, xid, id);
CREATE INDEX lane_message_id ON lane_message USING brin (id);

-- The position after which a get continues in each lane, priority 9 first: the transaction
-- and id of the last message that was taken. One row a queue. A get finds it by the
-- highest epoch, so it does not read the dead rows that a held snapshot keeps.
CREATE TABLE lane_cursor (
    queue_id integer NOT NULL,
    epoch bigint NOT NULL,
    xids bigint[] NOT NULL,
    ids bigint[] NOT NULL,
    PRIMARY KEY (queue_id, epoch)
) WITH (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);

-- Entries that do not come by the cursor: what was backed out, and what fell due.
CREATE TABLE lane_entry (
    queue_id integer NOT NULL,
    priority smallint NOT NULL,
    xid bigint NOT NULL,
    id bigint NOT NULL,
    stored_under integer NOT NULL,
    backout_count integer NOT NULL,
    delivery_count integer NOT NULL,
    PRIMARY KEY (queue_id, priority, xid, id)
) WITH (autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0);

CREATE TABLE lane_delayed (LIKE lane_entry, due_at timestamptz NOT NULL);
CREATE INDEX lane_delayed_due ON lane_delayed (queue_id, due_at, id);

-- New entries have no counts: their arrays are NULL.
CREATE TABLE lane_claim (
    uow bigint NOT NULL,
    claim_id integer NOT NULL,
    queue_id integer NOT NULL,
    claimed_at timestamptz NOT NULL,
    ids bigint[] NOT NULL,
    xids bigint[] NOT NULL,
    priorities smallint[] NOT NULL,
    stored_under integer[],
    backout_counts integer[],
    delivery_counts integer[],
    PRIMARY KEY (uow, claim_id)
) WITH (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);

CREATE TABLE lane_event (LIKE broker_event INCLUDING ALL) PARTITION BY RANGE (at);
CREATE TABLE lane_event_now PARTITION OF lane_event
    FOR VALUES FROM (current_date - 1) TO (current_date + 2);
CREATE TABLE lane_event_default PARTITION OF lane_event DEFAULT;

INSERT INTO lane_cursor
SELECT id, 0, array_fill(pg_current_xact_id()::text::bigint, '{10}'),
    array_fill(0::bigint, '{10}') FROM broker_queue;
-- Else the planner expects one row of a queue, reads all its dead ones, and sorts.
ALTER TABLE lane_cursor ALTER COLUMN queue_id SET (n_distinct = 1);
ANALYZE lane_cursor;

-- Two statements: the second must see the cursor of whoever held the lock before.
CREATE FUNCTION lane_get(
    queue text, most bigint, in_uow bigint, owner integer, first_claim integer,
    timeout interval, actor text
) RETURNS TABLE (
    uow bigint, queue_id integer, id bigint, backout_count integer, delivery_count integer,
    priority smallint, address text, body bytea, content_type text, properties jsonb,
    message_id text, correlation_id text, reply_to text, subject text, group_id text,
    producer text, put_at timestamptz, expires_at timestamptz, xid bigint, durable boolean,
    descriptor jsonb, headers bytea, envelope bytea
) LANGUAGE plpgsql AS $get$
#variable_conflict use_column
DECLARE
    lane_of integer;
    place record;  -- of the cursor
    least_xid bigint;
BEGIN
    SELECT one.id INTO lane_of
    FROM (SELECT id FROM broker_queue WHERE name = queue AND NOT paused) AS one,
        set_config('synchronous_commit', 'off', true),
        pg_advisory_xact_lock(19524, one.id::integer);
    SELECT lane.ctid AS row, xids, ids,
        pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS settled INTO place
    FROM lane_cursor AS lane WHERE lane.queue_id = lane_of ORDER BY epoch DESC LIMIT 1;
    least_xid := (SELECT min(one) FROM unnest(place.xids) AS one);
    RETURN QUERY {get};
END
$get$;
